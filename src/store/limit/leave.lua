-- Takes a call that is not tried again out of a scope's line; nothing changes if it is not there.
--@include limit-line
--@key queue
--@key queue_expiry
--@key waiting
--@key rest
--@key line
--@arg asker
--@arg tokens
--@arg part              of the scope's limits, that the call would have taken
--@arg share             of its class
local scope = { queue = queue, queue_expiry = queue_expiry, waiting = waiting, rest = rest, line = line }
local member = redis.call('HGET', line, tokens .. '|' .. asker)
if member then give_up(scope, member, tonumber(part), tonumber(share)) end
