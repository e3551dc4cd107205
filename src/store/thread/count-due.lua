-- Returns how many threads are due, of all tenants.
--@key due
--@arg until_time        the end of a range of scores
local sum = 0
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time)) do
  sum = sum + redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', until_time)
end
return sum
