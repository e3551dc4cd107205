-- Returns how many threads are due, of all tenants but those with more than `most`.
--@key due
--@arg until_time        the end of a range of scores
--@arg most              empty: no tenant is left out
local sum = 0
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time)) do
  local count = redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', until_time)
  if most == '' or count <= tonumber(most) then sum = sum + count end
end
return sum
