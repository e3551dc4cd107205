-- Removes consumers of a group that have nothing pending and have been idle for so long; returns how many. With a consumer go
-- its pending entries, which nobody could claim then: so both are looked at and removed in one step.
--@key stream
--@arg group
--@arg idle              ms
--@arg only              the one consumer to remove; empty for all
local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if consumers.err then return 0 end
local forgotten = 0
for _, fields in ipairs(consumers) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.pending == 0 and consumer.idle >= tonumber(idle) and (only == '' or consumer.name == only) then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
