-- Threads that are due by the stream's time take their places among those that are due at once.
--@include due
--@key due
--@arg until_time        the end of a range of scores
--@arg now               wall time, ms
--@arg most              threads
local left = tonumber(most)
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)) do
  local members = redis.call('ZRANGEBYSCORE', due .. ':' .. tenant, '0', until_time, 'LIMIT', 0, left)
  for _, member in ipairs(members) do redis.call('ZADD', due .. ':' .. tenant, at_once(due, member, now), member) end
  if #members > 0 then update_earliest(due, tenant) end
  left = left - #members
  if left <= 0 then break end
end
return 0
