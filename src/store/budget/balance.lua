-- The sums of an account in its present period: tokens and nano US dollars used, and the part of each that is in flight.
--@include budget-accounts
--@key root              what accounts are named under
--@arg name
--@arg period            ms
local key = root .. 'account:' .. name .. ':' .. whole(math.floor(redis_now() / tonumber(period)))
return redis.call('HMGET', key, 'tokens', 'nanos', 'tokens-out', 'nanos-out')
