-- Lengths are decided on `conversations`; only what is kept is joined with its text.
with measured as (
    select *, if($measure = 'messages', messages, rounds) as length
    from conversations
    qualify row_number() over (partition by dialogue_id order by shard, row) = 1
),
judged as (
    select *, if($unit = 'dialogue', length, sum(length) over (partition by user_id)) as turns
    from measured
),
decided as (
    select
        conversations.*,
        case
            when judged.source_row is null then 'repeated_row'
            when turns < $minimum then 'too_few_turns'
            when turns > $maximum then 'too_many_turns'
        end as drop_reason,
        if(drop_reason is not null and turns is not null, turns::varchar || ' ' || $measure, null) as drop_detail
    from conversations
    left join judged using (source_row)
),
bodies as (
    select shard, row, conversation
    from source_rows
)
select
    dialogue_id,
    user_id,
    conversation_hash,
    language,
    ended_at,
    messages,
    rounds,
    case when drop_reason is null then list_transform(
        conversation,
        -- Control characters other than tab and line breaks are no part of what was said.
        lambda m: struct_pack(role := m.role, "text" := regexp_replace(m.content, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]', '', 'g'))
    ) end as turns,
    source_row,
    drop_reason,
    drop_detail
from decided
left join bodies on drop_reason is null and bodies.shard = decided.shard and bodies.row = decided.row
order by dialogue_id, source_row
