-- Adds a verdict to the answer to a request. Returns 0, with nothing done, if the request was erased or its answer is forgotten.
--@include time
--@key answers
--@key hooked
--@arg member
--@arg protocol
--@arg verdict           JSON
--@arg transcript        JSON
local opened, gone, hook = unpack(redis.call('HMGET', answers, 'opened', 'erased', 'hook'))
if not opened or gone then return 0 end
local is_new = redis.call('HSET', answers, 'verdict:' .. protocol, verdict, 'transcript:' .. protocol, transcript) > 0
if is_new and hook then redis.call('ZADD', hooked, redis_now(), protocol .. ' ' .. member) end
return 1
