-- Rows that repeat one another have one hash, user and time, unknown times being one. The row that stays is chosen by
-- what it holds; where it stands decides only between rows that hold the same.
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
