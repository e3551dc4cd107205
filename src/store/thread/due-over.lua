-- Tenants that have more than so many threads due.
--@key due
--@arg until_time        the end of a range of scores
--@arg most
local over = {}
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time)) do
  if redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', until_time) > tonumber(most) then over[#over + 1] = tenant end
end
return over
