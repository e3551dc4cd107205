-- Creates a new incarnation, which has the effects of everything before these offsets.
--@include server-run
--@key incarnation
--@arg fresh_id
--@arg durable[].partition       TOPIC/PARTITION
--@arg durable[].offset          the next one to consume
local since = redis.call('HGET', incarnation, 'since')
redis.call('DEL', incarnation)
redis.call('HSET', incarnation, 'id', fresh_id, 'beat', 0)
run_of(incarnation)
if since then redis.call('HSET', incarnation, 'since', since) end
for _, position in ipairs(durable) do
  redis.call('HSET', incarnation, 'at:' .. position.partition, position.offset)
end
return 1
