create table if not exists calls (
    key text not null, model text not null, prompt text not null, subject text not null, status text not null,
    answer text, prompt_tokens integer, completion_tokens integer, seconds real not null,
    ended_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
);
create index if not exists known on calls (key) where answer is not null;
