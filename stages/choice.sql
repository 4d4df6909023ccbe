-- A verdict for each conversation, on what is known of it without its text; the first of these reasons counts.
create or replace temp table chosen as
with addresses as (
    select
        user_id,
        concat_ws(
            ', ',
            if(count(*) > $address_conversations, format('{:,} conversations', count(*)), null),
            if(count(distinct country) > $address_countries, format('{:,} countries', count(distinct country)), null),
            if(count(distinct language) > $address_languages, format('{:,} languages', count(distinct language)), null)
        ) as shared_by
    from told_apart
    where kept_row = source_row
        and user_known
        and coalesce($address_conversations, $address_countries, $address_languages) is not null
    group by user_id
    having shared_by <> ''
),
wanted as (
    select
        list_transform($languages::varchar[], lambda one: lower(one)) as languages,
        list_transform($chat_models::varchar[], lambda one: lower(one)) as chat_models,
        list_transform($countries::varchar[], lambda one: lower(one)) as countries
),
filtered as (
    select
        told_apart.*,
        (ended_at at time zone 'UTC')::date as day,
        if($measure = 'messages', messages, rounds) as length,
        case
            when kept_row <> source_row then 'repeated_row'
            when shared_by is not null then 'shared_address'
            when wanted.languages is not null and language is null then 'unknown_language'
            when not list_contains(wanted.languages, lower(language)) then 'other_language'
            when $toxic = 'drop' and toxic is null then 'unknown_toxicity'
            when $toxic = 'drop' and toxic then 'toxic'
            when $redacted = 'drop' and redacted is null then 'unknown_redaction'
            when $redacted = 'drop' and redacted then 'redacted'
            when wanted.chat_models is not null and chat_model is null then 'unknown_model'
            when not list_contains(wanted.chat_models, lower(chat_model)) then 'other_model'
            when wanted.countries is not null and country is null then 'unknown_country'
            when not list_contains(wanted.countries, lower(country)) then 'other_country'
            when coalesce($since::date, $until::date) is not null and day is null then 'no_date'
            when day < $since::date then 'too_early'
            when day > $until::date then 'too_late'
        end as filter_reason,
        case filter_reason
            when 'repeated_row' then kept_row
            when 'shared_address' then shared_by
            when 'other_language' then language
            when 'other_model' then chat_model
            when 'other_country' then country
            when 'too_early' then day::varchar
            when 'too_late' then day::varchar
        end as filter_detail
    from told_apart
    cross join wanted
    left join addresses using (user_id)
),
sums as (
    select user_id, sum(length) as turns
    from filtered
    where filter_reason is null and $unit = 'user'
    group by user_id
),
measured as (
    select filtered.*, coalesce(sums.turns, length) as turns
    from filtered
    left join sums using (user_id)
)
select
    dialogue_id,
    user_id,
    user_known,
    conversation_hash,
    source_schema,
    language,
    ended_at,
    messages,
    rounds,
    source_row,
    shard,
    row,
    case
        when filter_reason is not null then filter_reason
        when turns < $minimum then 'too_few_turns'
        when turns > $maximum then 'too_many_turns'
    end as drop_reason,
    case
        when filter_reason is not null then filter_detail
        when drop_reason is not null then format('{:,} {}', turns::bigint, $measure)
    end as drop_detail
from measured
