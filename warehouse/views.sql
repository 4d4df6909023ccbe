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

-- Users by how much they look like an address that many people share, the most suspicious first: what to choose the
-- knobs address_conversations, address_countries and address_languages by. Repeated rows count once, as they do there.
create or replace view shared_addresses as
select
    user_id,
    count(*) as conversations,
    count(distinct country) as countries,
    count(distinct language) as languages,
    min(ended_at) as first_seen,
    max(ended_at) as last_seen
from conversations
where user_known and source_row not in (
    select item from dropped where stage = 'dialogues' and reason = 'repeated_row' and item is not null
)
group by user_id
-- Many conversations may be those of one busy person, and two countries those of a traveller.
order by count(*) * greatest(count(distinct country), 1) * greatest(count(distinct language), 1) desc, user_id;

-- Why items were dropped.
create or replace view drop_reasons as
select stage, reason, count(*) as items, any_value(detail) as example
from dropped
left join builds on builds.name = stage
group by all
order by any_value(position), items desc, reason;

-- What became of each memory in the selection: the rank of its sample and why that was drawn, or why it is left out.
create or replace view selection as
select
    memories.memory_id,
    memories.dialogue_id,
    memories.user_id,
    memories.label,
    memories.type,
    sample_rank,
    drawn_for,
    reason,
    detail,
    -- What a user said of himself, no near-duplicate: left out only where there was no room for it.
    sample_rank is not null or reason in ('other_dialogue_of_user', 'label_cap', 'sample_limit') as is_eligible
from memories
left join sample_memories using (memory_id)
left join dropped on stage = 'sample_memories' and item = memories.memory_id
order by sample_rank, dialogue_id, memory_id;

-- Memories of each label before and after the selection, between the floor and the cap that it was made with.
create or replace view label_counts as
with knobs as (
    select part, try_cast(value as bigint) as number
    from made_of
    where name = 'sample_memories' and kind = 'knob'
)
select
    label,
    count(*) as extracted,
    count(*) filter (is_eligible) as eligible,
    count(sample_rank) as selected,
    count(distinct if(sample_rank is null, null, dialogue_id)) as samples,
    coalesce(
        (select number from knobs where part = 'label_caps.' || label),
        (select number from knobs where part = 'label_cap')
    ) as cap,
    coalesce(
        (select number from knobs where part = 'label_floors.' || label),
        (select if(label = 'UNMAPPED', 0, number) from knobs where part = 'label_floor')
    ) as floor,
    count(*) filter (memory_id in (select memory_id from gold_memories)) as gold
from selection
group by label
order by extracted desc, label;

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
