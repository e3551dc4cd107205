-- Reads a case that is open or whose verdict waits for Kafka, without taking it over: status, record, epoch, run, journal and
-- lost calls. Nil if there is none.
--@key case
--@key journal
--@key lost
local status, record, epoch, run = unpack(redis.call('HMGET', case, 'status', 'record', 'epoch', 'run'))
if (status ~= 'open' and status ~= 'concluded') or not record then return nil end
return { status, record, epoch, run, redis.call('HGETALL', journal), redis.call('LRANGE', lost, 0, -1) }
