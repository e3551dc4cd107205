-- Ends a case and puts its verdict into the outbox. Returns 0, with nothing done, unless the caller took the case last, its
-- fencing token is valid, and the case may go out.
--@include open-counts
--@include fencing
--@include withheld
--@key case
--@key open
--@key unworked
--@key outbox
--@key thread
--@key incarnation
--@key owners
--@arg id
--@arg epoch             the caller's
--@arg protocol
--@arg member
--@arg verdict           JSON
--@arg transcript        JSON
--@arg carry             JSON, what is left to the next revision; empty if nothing
--@arg again             1 if the thread is due once more as soon as that is published
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not holds(incarnation, incarnation_id, watermark, server_run) then return 0 end
local status, latest = unpack(redis.call('HMGET', case, 'status', 'epoch'))
if status ~= 'open' or latest ~= epoch then return 0 end
if is_withheld(case, owners) then return 0 end
local fields = { 'kind', 'verdict', 'case', id, 'member', member, 'protocol', protocol, 'verdict', verdict,
  'transcript', transcript }
-- Before it is sent a publisher looks whether that was deleted.
if redis.call('HEXISTS', case, 'shown') == 1 then
  fields[#fields + 1] = 'shown'
  fields[#fields + 1] = 1
end
local entry = redis.call('XADD', outbox, '*', unpack(fields))
redis.call('HSET', case, 'status', 'concluded', 'entry', entry)
if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
redis.call('ZREM', unworked, id)
if carry == '' then redis.call('HDEL', thread, 'carry:' .. protocol)
else redis.call('HSET', thread, 'carry:' .. protocol, carry) end
if again == '1' and redis.call('HGET', thread, 'open:' .. protocol) == id then
  redis.call('HSET', thread, 'again:' .. protocol, 1, 'seen:' .. protocol, 0)
end
return 1
