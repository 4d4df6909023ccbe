-- One row a source row, each made of that row alone, in the source's order. Ids come from content: the hash of a
-- conversation repeats in WildChat, so the user, the time and the model stand in the id too; the user's id cannot be
-- found without $secret. In an id each part has its place, empty where it is unknown, and no sign in a part can pass
-- for the one between parts: other parts never give the same text. A user whom the schema does not name is told by a
-- text that begins with a space, which no hashed_ip does.
with read as (
    select
        *,
        coalesce(len(conversation), 0) as messages,
        list_transform(
            [conversation_hash, hashed_ip, epoch_us(timestamp)::varchar, model],
            lambda part: replace(replace(part, '\', '\\'), '|', '\|')
        ) as parts,
        coalesce(hashed_ip, ' conversation|' || conversation_hash) as person,
        case
            when problem is not null then problem
            when conversation is null then 'no_conversation'
            when len(conversation) = 0 then 'empty_conversation'
            when conversation_hash is null then 'no_conversation_hash'
            when hashed_ip is null and source_schema <> 'wildchat_v1' then 'no_user'
            when list_bool_or(list_transform(conversation, lambda m: m.content is null)) then 'message_without_text'
            when list_bool_or(list_transform(conversation, lambda m: coalesce(m.role not in ('user', 'assistant'), true)))
                then 'unknown_role'
        end as drop_reason
    from source_rows
)
select
    'd' || sha256(concat(
        parts[1], '|', coalesce(parts[2], ' conversation|' || parts[1]), '|', parts[3], '|', parts[4]
    ))[:16] as dialogue_id,
    'u' || sha256($secret || '|' || person)[:16] as user_id,
    hashed_ip is not null as user_known,
    conversation_hash,
    model as chat_model,
    timestamp as ended_at,
    coalesce(
        language,
        case when drop_reason is null then detected_language(array_to_string(
            list_transform(list_filter(conversation, lambda m: m.role = 'user')[:8], lambda m: m.content), chr(10)
        )[:4000]) end
    ) as language,
    language is null and drop_reason is null as language_detected,
    country,
    toxic,
    redacted,
    messages::integer as messages,
    len(list_filter(conversation, lambda m: m.role = 'user'))::integer as rounds,
    source_schema,
    shard,
    row,
    source_row,
    drop_reason
from read
