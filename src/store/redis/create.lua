-- Creates a new incarnation, which has the effects of everything before these offsets. Returns 0, and creates none, if the
-- server was started anew since it was suspended: what was written meanwhile may be gone; 2 if another has suspended it since.
--@include server-run
--@key incarnation
--@arg fresh_id
--@arg schema            number of the form of data that have none yet
--@arg suspended_run     the server's run when it was suspended; empty if that does not matter
--@arg recovery          the name under which the caller suspended it; empty if that does not matter
--@arg durable[].partition       TOPIC/PARTITION
--@arg durable[].offset          the next one to consume
if recovery ~= '' and redis.call('HGET', incarnation, 'recovery') ~= recovery then return 2 end
if suspended_run ~= '' and run_of(incarnation) ~= suspended_run then return 0 end
local since = redis.call('HGET', incarnation, 'since')
-- Whoever waits for the recovery may be of a version that can't read a later form.
schema = redis.call('HGET', incarnation, 'schema') or schema
redis.call('DEL', incarnation)
redis.call('HSET', incarnation, 'id', fresh_id, 'schema', schema, 'watermark', 0)
run_of(incarnation)
if since then redis.call('HSET', incarnation, 'since', since) end
for _, position in ipairs(durable) do
  redis.call('HSET', incarnation, 'at:' .. position.partition, position.offset)
end
return 1
