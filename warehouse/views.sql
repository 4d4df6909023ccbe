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
