-- One row a source row. Ids come from content: the hash of a conversation repeats in WildChat, so the
-- user, the time and the model stand in the id too; the user's id cannot be found without $secret.
with read as (
    select
        *,
        coalesce(len(conversation), 0) as messages,
        case
            when problem is not null then problem
            when conversation is null then 'no_conversation'
            when len(conversation) = 0 then 'empty_conversation'
            when conversation_hash is null then 'no_conversation_hash'
            when hashed_ip is null then 'no_user'
            when list_bool_or(list_transform(conversation, lambda m: m.content is null)) then 'message_without_text'
            when list_bool_or(list_transform(conversation, lambda m: coalesce(m.role not in ('user', 'assistant'), true)))
                then 'unknown_role'
        end as drop_reason
    from source_rows
)
select
    'd' || sha256(concat_ws('|', conversation_hash, hashed_ip, epoch_us(timestamp)::varchar, model))[:16] as dialogue_id,
    'u' || sha256($secret || '|' || hashed_ip)[:16] as user_id,
    conversation_hash,
    read.model as chat_model,
    timestamp as ended_at,
    coalesce(read.language, detected.language) as language,
    read.language is null and drop_reason is null as language_detected,
    country,
    toxic,
    redacted,
    messages::integer as messages,
    len(list_filter(conversation, lambda m: m.role = 'user'))::integer as rounds,
    shard,
    row,
    source_row,
    drop_reason
from read
left join detected using (shard, row)
order by shard, row
