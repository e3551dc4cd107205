-- Takes or renews the lease of the one process that erases; returns 1 if the caller has it.
--@key eraser
--@arg name              the caller's
--@arg lease             ms
local holder = redis.call('GET', eraser)
if holder and holder ~= name then return 0 end
redis.call('SET', eraser, name, 'PX', lease)
return 1
