-- Every dialogue and memory that could be a target, with what it could be a target of.
select 'extraction' as kind, samples.dialogue_id, null::varchar as memory_id, samples.user_id, split, role, language,
    null::varchar as label, 1.0 as confidence, false as verified
from samples
join splits using (user_id)
where role in ('any', 'extraction')
union all
select kind, dialogue_id, memory_id, gold_memories.user_id, split, role, language, label, confidence, verified
from gold_memories
join splits using (user_id)
cross join (select unnest(['update', 'retrieval']) as kind)
where role in ('any', if(kind = 'update', 'memory', 'retrieval'))
union all
select ability_labels.kind, dialogue_id, memory_id, gold_memories.user_id, split, role, language, label, confidence, verified
from gold_memories
join splits using (user_id)
join ability_labels on label like replace(pattern, '_', '\_') escape '\'
where role in ('any', if(ability_labels.kind = 'PA', 'memory', 'utilization'))
    and not (ability_labels.kind = 'PF_general' and label = 'Preferences/Interaction_Preferences')
union all
select 'EI', dialogue_id, memory_id, gold_memories.user_id, split, role, language, label, confidence, verified
from gold_memories
join splits using (user_id)
where emotion is not null and language in ('English', 'Chinese') and role in ('any', 'utilization')
union all
select 'VRA', dialogue_id, memory_id, user_id, split, role, memories.language, label, confidence, false
from memories
join splits using (user_id)
left join duplicate_memories on member_id = memory_id
where context <> 'self' and member_id is null and role in ('any', 'utilization')
    and evidence_way not in ('assistant', 'not_found')
-- choose
with drawn as (
    select *, sha256('target|' || target_id) as draw, kind in ('update', 'retrieval') as one_a_user
    from target_choices
),
sure as (
    select *,
        row_number() over (partition by kind, label order by verified desc, draw) as of_label,
        row_number() over (partition by kind, user_id order by verified desc, draw) as of_user
    from drawn
    where confidence >= $minimum_confidence
),
capped as (
    select sure.target_id,
        row_number() over (
            partition by kind, if(kind = 'EI', language, '') order by verified desc, draw
        ) as of_kind,
        limits.cap
    from sure
    left join limits using (kind)
    where (label_cap is null or of_label <= label_cap) and not (one_a_user and of_user > 1)
)
select
    drawn.target_id,
    drawn.kind,
    drawn.dialogue_id,
    drawn.memory_id,
    drawn.user_id,
    drawn.split,
    drawn.label,
    case
        when sure.target_id is null then 'low_confidence'
        when one_a_user_over then 'other_target_of_user'
        when capped.target_id is null then 'label_cap'
        when capped.cap is not null and of_kind > capped.cap then 'cap'
    end as drop_reason,
    drawn.kind as drop_detail
from drawn
left join (select *, one_a_user and of_user > 1 as one_a_user_over from sure) as sure using (target_id)
left join capped using (target_id)
order by drawn.kind, drawn.draw
