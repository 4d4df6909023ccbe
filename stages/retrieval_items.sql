select
    'i' || sha256('task3|' || target_id)[:16] as item_id,
    target_id,
    targets.user_id,
    targets.split,
    memory_id,
    query,
    case when leaks then 'every_query_leaks' when query is null then 'no_query' end as drop_reason,
    if(leaks, array_to_string(shared_words, ' '), null) as drop_detail,
    group_id,
    targets.label,
    value
from targets
join memories using (memory_id)
join splits on splits.user_id = targets.user_id
left join (
    select target_id, arg_max(query, attempt) as query, arg_max(leaks, attempt) as leaks,
        arg_max(shared_words, attempt) as shared_words
    from query_drafts
    group by target_id
) using (target_id)
where kind = 'retrieval'
order by item_id
