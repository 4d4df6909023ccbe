-- Rows that repeat one another have one hash, user and time, unknown times being one. The row that stays is chosen by
-- what is known of it; where it stands decides only between rows of which the same is known, though they may differ
-- in their texts.
create or replace temp view told_apart as
select
    *,
    first_value(source_row) over (
        partition by conversation_hash, user_id, ended_at
        order by
            chat_model, language_detected, language, country, toxic, redacted,
            messages desc, rounds desc, source_schema, shard, row
    ) as kept_row
from conversations
