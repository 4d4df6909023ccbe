with judged as (
    select
        memories.*,
        case
            when context <> 'self' then 'context_' || context
            when evidence_way in ('assistant', 'not_found') then 'no_words_of_user'
            when duplicate_memories.member_id is not null then 'near_duplicate_memory'
        end as reason,
        duplicate_memories.kept_id as like_memory
    from memories
    left join duplicate_memories on member_id = memory_id
),
dialogue_order as (
    select
        dialogue_id,
        user_id,
        count(*) filter (type = 'indirect') as implicit,
        row_number() over (
            partition by user_id order by implicit desc, count(*) desc, sha256(dialogue_id)
        ) as of_user
    from judged
    where reason is null
    group by dialogue_id, user_id
),
sample_order as (
    select dialogue_id, row_number() over (order by implicit = 0, sha256('sample|' || dialogue_id)) as place
    from dialogue_order
    where of_user <= $dialogues_per_user
),
capped as (
    select
        memory_id,
        place,
        row_number() over (partition by label order by place, confidence desc, memory_id) as of_label
    from judged
    join sample_order using (dialogue_id)
    where reason is null
),
ranked as (
    select memory_id, dense_rank() over (order by place) as rank
    from capped
    where of_label <= $label_cap
)
select
    memory_id,
    dialogue_id,
    user_id,
    ranked.rank::integer as sample_rank,
    label,
    type,
    case
        when reason is not null then reason
        when capped.memory_id is null then 'other_dialogue_of_user'
        when ranked.memory_id is null then 'label_cap'
        when ranked.rank > $limit then 'sample_limit'
    end as drop_reason,
    case drop_reason when 'near_duplicate_memory' then like_memory when 'label_cap' then label end as drop_detail
from judged
left join capped using (memory_id)
left join ranked using (memory_id)
order by sample_rank, memory_id
