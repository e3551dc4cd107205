-- Adds a verdict to the answer to a request, and announces it. Returns whether it is kept, not if the request was erased or its answer is
-- forgotten; whether its client wants it by webhook; and whether it was announced, which Redis may not allow; each as 1 or 0.
--@include kept-bytes
--@key answers
--@key thread            of the request
--@arg protocol
--@arg verdict           JSON
--@arg transcript        JSON
--@arg channel
--@arg request
--@arg member            of the thread
local opened, gone, hook, ends, protocols, reserved =
  unpack(redis.call('HMGET', answers, 'opened', 'erased', 'hook', 'until', 'protocols', 'reserved'))
if gone then return { 0, 0, 1 } end
-- A case may take longer than its answer can be read: a webhook hears of it all the same.
local is_hooked = (hook or redis.call('HEXISTS', thread, 'hook') == 1) and 1 or 0
if not opened then return { 0, is_hooked, 1 } end
local account = account_of(thread, member)
local part, left = answer_part(member), redis.call('PTTL', answers)
redis.call('HSET', answers, 'verdict:' .. protocol, verdict, 'transcript:' .. protocol, transcript)
-- What is not there yet has its room.
local size = 0
for _, asked in ipairs(cjson.decode(protocols or '[]')) do
  local said = redis.call('HSTRLEN', answers, 'verdict:' .. asked) + redis.call('HSTRLEN', answers, 'transcript:' .. asked)
  size = size + (said > 0 and said or tonumber(reserved or '0'))
end
set_kept(account, part, size)
end_kept(account, part, ends - left, left)
local announced = redis.pcall('PUBLISH', channel, request)
return { 1, is_hooked, type(announced) == 'number' and 1 or 0 }
