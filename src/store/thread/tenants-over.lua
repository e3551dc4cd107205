-- Tenants that hold more than so many bytes, those that hold most first.
--@include kept-bytes
--@key kept
--@arg bytes
--@arg limit
--@arg now               wall time, ms
local over = {}
for _, tenant in ipairs(redis.call('ZREVRANGEBYSCORE', kept .. 'tenants', '+inf', '(' .. bytes, 'LIMIT', 0, limit)) do
  if kept_sum(account_of(kept, tenant), now) > tonumber(bytes) then over[#over + 1] = tenant end
end
return over
