-- Returns how many threads are due, of all tenants but those with more than `most`. Beyond a thousand tenants, of those that came due
-- last one thread each is counted: a producer may name any number of tenants.
--@key due
--@arg until_time        the end of a range of scores
--@arg most              empty: no tenant is left out
local looked_at = redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)
local sum = redis.call('ZCOUNT', due .. '/tenants', '-inf', until_time) - #looked_at
for _, tenant in ipairs(looked_at) do
  local count = redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', until_time)
  if most == '' or count <= tonumber(most) then sum = sum + count end
end
return sum
