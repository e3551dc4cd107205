-- Lets withheld cases go on, those first that have waited longest; returns their ids.
--@key withheld
--@key case_prefix
--@arg limit
local released = {}
for _, id in ipairs(redis.call('ZRANGE', withheld, 0, limit - 1)) do
  redis.call('ZREM', withheld, id)
  if redis.call('HDEL', case_prefix .. id, 'withheld') == 1 then released[#released + 1] = id end
end
return released
