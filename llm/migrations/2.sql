-- An attempt is a row from before it is sent; `pending` until it has ended. Money is counted in billionths of a US dollar:
-- `nano_usd` is what an attempt cost, `held_nano_usd` what it may cost at the most while nobody knows.
alter table calls rename to old_calls;
drop index known;
create table calls (
    call integer primary key,
    key text not null,
    model text not null,
    prompt text not null,
    subject text not null,
    way text not null,
    status text not null,
    detail text,
    answer text,
    prompt_tokens integer,
    cached_tokens integer,
    completion_tokens integer,
    reasoning_tokens integer,
    nano_usd integer,
    held_nano_usd integer not null default 0,
    process text,
    batch text,
    started_at text not null,
    ended_at text,
    seconds real
);
insert into calls
    select rowid, key, model, prompt, subject, 'live', status, null, answer, prompt_tokens, null, completion_tokens, null,
        null, 0, null, null, ended_at, ended_at, seconds
    from old_calls;
drop table old_calls;
create index known on calls (key) where answer is not null;
create index pending on calls (process) where status = 'pending';
create index batched on calls (batch) where status = 'pending';
create table spending (one integer primary key check (one = 1), nano_usd integer not null, held_nano_usd integer not null);
insert into spending values (1, 0, 0);
create trigger begun after insert on calls begin
    update spending
    set nano_usd = nano_usd + coalesce(new.nano_usd, 0), held_nano_usd = held_nano_usd + new.held_nano_usd;
end;
create trigger ended after update of nano_usd, held_nano_usd on calls begin
    update spending
    set nano_usd = nano_usd + coalesce(new.nano_usd, 0) - coalesce(old.nano_usd, 0),
        held_nano_usd = held_nano_usd + new.held_nano_usd - old.held_nano_usd;
end;
-- Batches: each is written down before it is handed in, so that nobody hands it in twice.
create table batches (
    batch text primary key,
    model text not null,
    job text,
    status text not null,
    started_at text not null
);
