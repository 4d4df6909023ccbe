with judged as (
    select
        memories.*,
        cap,
        floor,
        case
            when context <> 'self' then 'context_' || context
            when evidence_way in ('assistant', 'not_found') then 'no_words_of_user'
            when duplicate_memories.member_id is not null then 'near_duplicate_memory'
            when cap = 0 then 'label_cap'
        end as reason,
        case reason
            when 'no_words_of_user' then evidence_way
            when 'near_duplicate_memory' then duplicate_memories.kept_id
            when 'label_cap' then label
        end as detail
    from memories
    join label_limits using (label)
    left join duplicate_memories on member_id = memory_id
),
rich as (
    select
        dialogue_id,
        user_id,
        count(*) filter (type = 'indirect') > 0 as has_implicit,
        sha256('sample|' || dialogue_id) as draw,
        row_number() over (
            partition by user_id
            order by count(*) filter (type = 'indirect') desc, count(*) desc, sha256(dialogue_id)
        ) as of_user
    from judged
    where reason is null
    group by dialogue_id, user_id
),
holding as (
    select
        judged.*,
        of_user,
        has_implicit,
        draw,
        dense_rank() over (partition by label, judged.user_id order by of_user) as of_user_and_label
    from judged
    join rich using (dialogue_id)
    where reason is null
),
reserved as (
    select
        dialogue_id,
        row_number() over (
            partition by label
            order by
                of_user_and_label > $dialogues_per_user, of_user > $dialogues_per_user,
                has_implicit desc, draw, confidence desc, memory_id
        ) <= floor as is_reserved
    from holding
),
offered as (
    select
        *,
        row_number() over offer > $dialogues_per_user as is_other,
        first_value(dialogue_id) over offer as first_of_user
    from rich
    join (select dialogue_id, bool_or(is_reserved) as for_floor from reserved group by dialogue_id) using (dialogue_id)
    window offer as (partition by user_id order by for_floor desc, of_user)
),
placed as (
    select *, row_number() over (order by for_floor desc, has_implicit desc, draw) as place
    from offered
    where not is_other
),
capped as (
    select
        memory_id,
        place,
        case when for_floor then 'floor' when has_implicit then 'implicit' else 'any' end as drawn_for,
        row_number() over (partition by label order by place, confidence desc, memory_id) <= cap as is_taken
    from judged
    join placed using (dialogue_id)
    where reason is null
),
ranked as (
    select memory_id, drawn_for, dense_rank() over (order by place) as rank
    from capped
    where is_taken
)
select
    memory_id,
    judged.dialogue_id,
    judged.user_id,
    ranked.rank::integer as sample_rank,
    ranked.drawn_for,
    label,
    type,
    case
        when reason is not null then reason
        when is_other then 'other_dialogue_of_user'
        when ranked.memory_id is null then 'label_cap'
        when ranked.rank > $limit then 'sample_limit'
    end as drop_reason,
    case drop_reason
        when 'other_dialogue_of_user' then first_of_user
        when 'label_cap' then label
        when 'sample_limit' then ranked.rank::varchar
        else detail
    end as drop_detail
from judged
left join offered using (dialogue_id)
left join ranked using (memory_id)
order by sample_rank, memory_id
