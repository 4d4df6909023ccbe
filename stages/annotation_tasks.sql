select
    'a' || sha256(dialogue_id || '|' || string_agg(memory_id, '|' order by memory_id))[:16] as task_id,
    any_value(samples.rank) as rank,
    dialogue_id,
    any_value(samples.user_id) as user_id,
    list(memory_id order by memory_id) as memory_ids
from samples
join sample_memories using (dialogue_id)
group by dialogue_id
order by rank
