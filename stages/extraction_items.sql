select
    'i' || sha256('task1|' || target_id)[:16] as item_id,
    target_id,
    targets.user_id,
    split,
    dialogue_id,
    any_value(turns) as dialogue,
    list(struct_pack(memory_id := gold_memories.memory_id, type := gold_memories.type, label := gold_memories.label, value := value,
        confidence := gold_memories.confidence, evidence_text := evidence_text) order by evidence_message, evidence_start, gold_memories.memory_id)
        as gold,
    if(count(gold_memories.memory_id) = 0, 'no_gold_memory', null) as drop_reason
from targets
join dialogues using (dialogue_id)
left join gold_memories using (dialogue_id)
where kind = 'extraction'
group by target_id, targets.user_id, split, dialogue_id
order by item_id
