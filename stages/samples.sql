with chosen as (
    select
        dialogue_id,
        any_value(sample_rank) as rank,
        any_value(drawn_for) as drawn_for,
        count(*)::integer as memories,
        count(*) filter (type = 'indirect')::integer as implicit_memories
    from sample_memories
    group by dialogue_id
),
extracted as (
    select distinct dialogue_id
    from memories
)
select
    chosen.rank,
    dialogue_id,
    user_id,
    language,
    chosen.drawn_for,
    chosen.memories,
    chosen.implicit_memories,
    case
        when chosen.dialogue_id is not null then null
        when duplicate_dialogues.member_id is not null then 'near_duplicate_dialogue'
        when extracted.dialogue_id is null then 'no_memory'
        else 'no_memory_selected'
    end as drop_reason,
    if(drop_reason = 'near_duplicate_dialogue', duplicate_dialogues.kept_id, null) as drop_detail
from dialogues
left join chosen using (dialogue_id)
left join extracted using (dialogue_id)
left join duplicate_dialogues on member_id = dialogue_id
order by rank, dialogue_id
