-- The texts of users. Positions are given without them, so that no text is sorted.
with numbered as (
    select dialogue_id, row_number() over (order by ended_at nulls last, user_known desc, dialogue_id) - 1 as position
    from dialogues
)
select
    position,
    dialogue_id as id,
    user_id,
    '' as "group",
    array_to_string(list_transform(list_filter(turns, lambda m: m.role = 'user'), lambda m: m.text), ' ') as text
from dialogues
join numbered using (dialogue_id)
