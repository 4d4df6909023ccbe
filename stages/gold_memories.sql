select
    memory_id,
    dialogue_id,
    user_id,
    language,
    memories.type,
    memories.label,
    label_suggestion,
    value,
    memories.confidence,
    evidence_text,
    evidence_message,
    evidence_start,
    evidence_end,
    emotion,
    time_scope,
    preference_attitude,
    extractor,
    verified,
    if(verdict = 'removed', 'removed_by_annotator', null) as drop_reason
from annotations
join memories using (memory_id)
order by dialogue_id, evidence_message, evidence_start, memory_id
