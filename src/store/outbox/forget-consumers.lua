-- Removes a group's consumers that have nothing pending and have been idle for this long; returns how many. A consumer's pending
-- entries are removed with it, and could not be adopted any more: so check and removal are one step.
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
