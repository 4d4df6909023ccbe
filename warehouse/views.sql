-- What became of everything: items in, rows out, items dropped, table by table.
create or replace view funnel as
select
    name as "table",
    item,
    items_in,
    rows,
    dropped,
    round(seconds, 2) as seconds,
    calls,
    -- Built before a table that it reads: of an earlier build, which the last one did not reach.
    exists (
        select 1 from builds as other where list_contains(builds.reads, other.name) and other.built_at > builds.built_at
    ) as is_stale
from builds
order by position;

-- Why items were dropped.
create or replace view drop_reasons as
select stage, reason, count(*) as items, any_value(detail) as example
from dropped
left join builds on builds.name = stage
group by all
order by any_value(position), items desc, reason;

-- Memories of each label: found, chosen for samples, held for true.
create or replace view label_counts as
select
    label,
    count(*) as memories,
    count(*) filter (memory_id in (select memory_id from sample_memories)) as sampled,
    count(*) filter (memory_id in (select memory_id from gold_memories)) as gold
from memories
group by label
order by memories desc, label;

-- From a row of the release back to the line of the source that it comes from.
create or replace view trace as
select
    release_rows.benchmark_id,
    release_rows.track,
    release_rows.split,
    release_rows.item_id,
    release_rows.memory_id,
    memories.value as memory,
    memories.evidence_text,
    memories.evidence_message,
    release_rows.dialogue_id,
    conversations.conversation_hash,
    release_rows.user_id,
    conversations.shard,
    conversations.row
from release_rows
left join memories using (memory_id)
join conversations on conversations.dialogue_id = release_rows.dialogue_id
    and conversations.source_row = (
        select source_row from dialogues where dialogues.dialogue_id = release_rows.dialogue_id
    )
order by benchmark_id;

-- What each stage's calls came to, attempt by attempt, stages in the order of building.
create or replace view cost_by_stage as
select
    prompt as stage,
    count(*) as attempts,
    count(*) filter (status = 'ok') as ok,
    count(*) filter (status not in ('ok', 'pending')) as failed,
    coalesce(any_value(failures), '') as failures,
    coalesce(sum(prompt_tokens), 0)::bigint as prompt_tokens,
    coalesce(sum(cached_tokens), 0)::bigint as cached_tokens,
    coalesce(sum(completion_tokens), 0)::bigint as completion_tokens,
    coalesce(sum(reasoning_tokens), 0)::bigint as reasoning_tokens,
    round(coalesce(sum(usd), 0), 6) as usd,
    round(coalesce(sum(held_usd), 0), 6) as held_usd,
    -- Those of failed attempts included: what it takes to have an answer.
    round((coalesce(sum(prompt_tokens), 0) + coalesce(sum(completion_tokens), 0)) / nullif(ok, 0), 1) as tokens_per_ok
from calls
left join builds on builds.name = prompt
left join (
    select prompt, string_agg(attempts || ' ' || status, ', ' order by attempts desc, status) as failures
    from (select prompt, status, count(*) as attempts from calls where status not in ('ok', 'pending') group by all)
    group by prompt
) using (prompt)
group by prompt
order by any_value(position), prompt;

-- The same, model by model, the dearest first.
create or replace view cost_by_model as
select
    model,
    count(*) as attempts,
    count(*) filter (status = 'ok') as ok,
    count(*) filter (status not in ('ok', 'pending')) as failed,
    coalesce(any_value(failures), '') as failures,
    coalesce(sum(prompt_tokens), 0)::bigint as prompt_tokens,
    coalesce(sum(cached_tokens), 0)::bigint as cached_tokens,
    coalesce(sum(completion_tokens), 0)::bigint as completion_tokens,
    coalesce(sum(reasoning_tokens), 0)::bigint as reasoning_tokens,
    round(coalesce(sum(usd), 0), 6) as usd,
    round(coalesce(sum(held_usd), 0), 6) as held_usd,
    round((coalesce(sum(prompt_tokens), 0) + coalesce(sum(completion_tokens), 0)) / nullif(ok, 0), 1) as tokens_per_ok
from calls
left join (
    select model, string_agg(attempts || ' ' || status, ', ' order by attempts desc, status) as failures
    from (select model, status, count(*) as attempts from calls where status not in ('ok', 'pending') group by all)
    group by model
) using (model)
group by model
order by usd desc, attempts desc, model;

-- The calls that took longest.
create or replace view slowest_calls as
select call, model, prompt as stage, subject, status, seconds, started_at
from calls
where seconds is not null
order by seconds desc, call
limit 100;
