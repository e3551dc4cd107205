-- Removes owners from the set of the deleted ones that have been erased everywhere for long. Returns how many.
--@include time
--@key owners
--@key shelf_erasures
--@key case_erasures
--@arg keep              ms
--@arg limit
local removed = 0
for _, owner in ipairs(redis.call('ZRANGE', owners, '-inf', redis_now() - keep, 'BYSCORE', 'LIMIT', 0, limit)) do
  if not redis.call('ZSCORE', shelf_erasures, owner) and not redis.call('ZSCORE', case_erasures, owner) then
    removed = removed + redis.call('ZREM', owners, owner)
  end
end
return removed
