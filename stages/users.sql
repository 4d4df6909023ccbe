with kept as (
    select user_id, count(*) as dialogues
    from dialogues
    group by user_id
)
select
    user_id,
    any_value(user_known) as user_known,
    count(*)::integer as conversations,
    coalesce(any_value(kept.dialogues), 0)::integer as dialogues,
    sum(messages)::integer as messages,
    count(distinct country)::integer as countries,
    count(distinct language)::integer as languages,
    min(ended_at) as first_seen,
    max(ended_at) as last_seen,
    mode(language order by language) as language,
    if(any_value(kept.dialogues) is null, 'no_dialogue_kept', null) as drop_reason
from told_apart
left join kept using (user_id)
where kept_row = source_row
group by user_id
order by user_id
