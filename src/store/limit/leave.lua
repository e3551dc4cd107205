-- Takes a call that is not tried again out of a scope's line; nothing changes if it is not there.
--@include limit-line
--@key queue
--@key queue_expiry
--@key waiting
--@key rest
--@key line
--@arg asker
--@arg tokens
local member = redis.call('HGET', line, tokens .. '|' .. asker)
if member then leave({ queue = queue, queue_expiry = queue_expiry, waiting = waiting, rest = rest, line = line }, member) end
