-- How many dialogues pass the length filter, as stages/dialogues.sql decides it.
with measured as (
    select *, if($measure = 'messages', messages, rounds) as length
    from conversations
    qualify row_number() over (partition by dialogue_id order by shard, row) = 1
),
judged as (
    select if($unit = 'dialogue', length, sum(length) over (partition by user_id)) as turns
    from measured
)
select count(*) from judged where turns between $minimum and $maximum
