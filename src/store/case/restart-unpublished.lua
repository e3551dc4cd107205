-- Restarts a case without what was deleted, if it and its thread are as the caller read them; otherwise returns `changed`. If no
-- publisher has taken its verdict, the verdict is withdrawn first: `restarted`. If one has, the verdict is erased with its case,
-- and the thread is due as soon as it is published: `in-flight`.
--@include open-counts
--@include withdraw
--@key thread
--@key case
--@key journal
--@key lost
--@key open
--@key outbox
--@key erased
--@key withheld
--@key decided
--@arg id
--@arg member
--@arg protocol
--@arg version           the thread's version as it was read
--@arg status            the case's, likewise: open or concluded
--@arg epoch             likewise
--@arg run               likewise
--@arg journaled         how many answers its journal had
--@arg now               wall time, ms
--@arg group             the outbox's consumer group
--@arg record            JSON
--@arg seen              the thread's version that the case sees now; empty to leave it
--@arg shown             the owners of what the kept answers show, separated by spaces
--@arg withhold          1 if it waits until erasures/release.lua lets it go on
--@arg answers[].key     what the journal keeps
--@arg answers[].entry   JSON
--@arg lost_calls[]      JSON
local now_status, now_epoch, now_run = unpack(redis.call('HMGET', case, 'status', 'epoch', 'run'))
if now_status ~= status or now_epoch ~= epoch or now_run ~= run then return 'changed' end
-- Otherwise an answer that the caller has not seen, and its calls, would be lost.
if redis.call('HLEN', journal) ~= tonumber(journaled) then return 'changed' end
local now_version, now_open = unpack(redis.call('HMGET', thread, 'version', 'open:' .. protocol))
if now_version ~= version or now_open ~= id then return 'changed' end
if status == 'concluded' then
  if not withdraw(case, outbox, erased, group, id, protocol, member) then
    redis.call('DEL', journal, lost)
    redis.call('HDEL', case, 'record')
    redis.call('HDEL', thread, 'carry:' .. protocol, 'ruling:' .. protocol)
    redis.call('HDEL', decided, 'machine:' .. protocol)
    redis.call('HSET', thread, 'again:' .. protocol, 1)
    return 'in-flight'
  end
  redis.call('HDEL', case, 'entry')
  redis.call('ZADD', open, now, id)
  count_open(open, member, 1)
end
redis.call('DEL', journal)
for _, answer in ipairs(answers) do redis.call('HSET', journal, answer.key, answer.entry) end
for _, call in ipairs(lost_calls) do
  if not redis.call('LPOS', lost, call) then redis.call('RPUSH', lost, call) end
end
redis.call('HSET', case, 'status', 'open', 'record', record)
redis.call('HDEL', case, 'withheld_until')
redis.call('HINCRBY', case, 'epoch', 1)
redis.call('HINCRBY', case, 'run', 1)
if shown == '' then redis.call('HDEL', case, 'shown') else redis.call('HSET', case, 'shown', shown) end
if withhold == '1' then
  redis.call('HSET', case, 'withheld', 1)
  redis.call('ZADD', withheld, 'NX', now, id)
  redis.call('ZADD', open, 'XX', now, id)
end
if seen ~= '' then redis.call('HSET', thread, 'seen:' .. protocol, seen) end
return 'restarted'
