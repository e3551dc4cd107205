-- Erases a case's journal and starts a new run; returns 0 unless the caller took the case last.
--@key case
--@key journal
--@arg epoch             the caller's
--@arg record            JSON, under the new versions
local status, latest = unpack(redis.call('HMGET', case, 'status', 'epoch'))
if status ~= 'open' or latest ~= epoch then return 0 end
redis.call('DEL', journal)
redis.call('HDEL', case, 'shown')
redis.call('HINCRBY', case, 'run', 1)
redis.call('HSET', case, 'record', record)
return 1
