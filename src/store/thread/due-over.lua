-- Tenants that have more than so many threads due, of the thousand whose first came due first: whoever has so many is among them, but
-- for a moment, and a producer may name any number of tenants.
--@key due
--@arg until_time        the end of a range of scores
--@arg most
local over = {}
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)) do
  if redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', until_time) > tonumber(most) then over[#over + 1] = tenant end
end
return over
