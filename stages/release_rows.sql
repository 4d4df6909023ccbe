with items as (
    select item_id, target_id, 'extraction' as kind, dialogue_id, null::varchar as memory_id from extraction_items
    union all
    select item_id, target_id, 'update', dialogue_id, memory_id from update_items
    union all
    select item_id, target_id, 'retrieval', null, memory_id from retrieval_items
    union all
    select item_id, target_id, ability, dialogue_id, memory_id from utilization_items
)
select
    track || '-' || sha256(track || '|' || item_id)[:12] as benchmark_id,
    track,
    targets.split,
    item_id,
    target_id,
    items.kind,
    targets.dialogue_id,
    items.memory_id,
    targets.user_id,
    group_id
from items
join tracks using (kind)
join targets using (target_id)
join splits on splits.user_id = targets.user_id
order by track, targets.split, benchmark_id
