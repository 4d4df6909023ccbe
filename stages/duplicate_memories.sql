select
    row_number() over (
        order by context = 'self' desc, evidence_way in ('assistant', 'not_found'), confidence desc, memory_id
    ) - 1 as position,
    memory_id as id,
    user_id,
    if($scope = 'label', label, '') as "group",
    value as text
from memories
