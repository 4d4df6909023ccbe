with kept as (
    select user_id, count(*) as dialogues
    from dialogues
    group by user_id
)
select
    user_id,
    count(*)::integer as conversations,
    coalesce(any_value(kept.dialogues), 0)::integer as dialogues,
    sum(messages)::integer as messages,
    min(ended_at) as first_seen,
    max(ended_at) as last_seen,
    mode(language order by language) as language,
    if(any_value(kept.dialogues) is null, 'no_dialogue_kept', null) as drop_reason
from conversations
left join kept using (user_id)
group by user_id
order by user_id
