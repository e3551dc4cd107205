-- Adds a verdict to the answer to a request. Returns whether it is kept, not if the request was erased or its answer is forgotten, and
-- whether its client wants it by webhook; each as 1 or 0.
--@key answers
--@arg protocol
--@arg verdict           JSON
--@arg transcript        JSON
local opened, gone, hook = unpack(redis.call('HMGET', answers, 'opened', 'erased', 'hook'))
if not opened or gone then return { 0, 0 } end
redis.call('HSET', answers, 'verdict:' .. protocol, verdict, 'transcript:' .. protocol, transcript)
return { 1, hook and 1 or 0 }
