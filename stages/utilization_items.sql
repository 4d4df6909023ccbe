with last as (
    select target_id, arg_max(query_drafts, attempt) as draft
    from query_drafts
    group by target_id
)
select
    'i' || sha256('task4|' || target_id)[:16] as item_id,
    target_id,
    targets.user_id,
    split,
    kind as ability,
    targets.dialogue_id,
    memory_id,
    draft.query as query,
    draft.reference_answer as reference_answer,
    draft.rubric as rubric,
    case when draft.leaks then 'every_query_leaks' when draft.query is null then 'no_query' end as drop_reason,
    if(draft.leaks, array_to_string(draft.shared_words, ' '), null) as drop_detail
from targets
left join last using (target_id)
where kind not in ('extraction', 'update', 'retrieval')
order by item_id
