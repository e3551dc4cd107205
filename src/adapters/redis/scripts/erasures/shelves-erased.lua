-- Notes that the shelves hold nothing more of these owners. One that owned nothing, and whose content no case was shown, leaves
-- the set of deleted owners at once; the others stay in it for a while (erasures/expire.lua).
--@include time
--@key owners
--@key shelf_erasures
--@key case_erasures
--@arg erased[].owner
--@arg erased[].owned    1 if anything of it was there
local now = redis_now()
for _, one in ipairs(erased) do
  redis.call('ZREM', shelf_erasures, one.owner)
  if one.owned == '1' then redis.call('ZADD', owners, now, one.owner)
  elseif not redis.call('ZSCORE', case_erasures, one.owner) then redis.call('ZREM', owners, one.owner) end
end
return #erased
