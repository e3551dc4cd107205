-- Extends an asker's leases from now; returns for each 1 if the asker still has it.
--@include time
--@key leases[]
--@arg asker
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
local reply = {}
for i, lease in ipairs(leases) do
  reply[i] = 0
  if redis.call('HGET', lease, 'asker') == asker then
    redis.call('HSET', lease, 'until', redis_now() + tonumber(lease_ms))
    redis.call('PEXPIRE', lease, record_ms)
    reply[i] = 1
  end
end
return reply
