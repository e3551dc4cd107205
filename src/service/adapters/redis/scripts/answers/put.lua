-- Adds a verdict to the answer to a request, and announces it. Returns whether it is kept, not if the request was erased or its answer is
-- forgotten; whether its client wants it by webhook; and whether it was announced, which Redis may not allow; each as 1 or 0.
--@key answers
--@arg protocol
--@arg verdict           JSON
--@arg transcript        JSON
--@arg channel
--@arg request
local opened, gone, hook = unpack(redis.call('HMGET', answers, 'opened', 'erased', 'hook'))
if not opened or gone then return { 0, 0, 1 } end
redis.call('HSET', answers, 'verdict:' .. protocol, verdict, 'transcript:' .. protocol, transcript)
local announced = redis.pcall('PUBLISH', channel, request)
return { 1, hook and 1 or 0, type(announced) == 'number' and 1 or 0 }
