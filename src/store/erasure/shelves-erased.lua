-- Notes that the shelves hold nothing more of these owners. One that owned nothing, and whose content no case was shown, leaves
-- the set of deleted owners at once; the others stay in it for a while (erasures/expire.lua), also where they are deleted again:
-- their time in the set is then not that of the deletion which waits.
--@include time
--@key owners
--@key shelf_erasures
--@key case_erasures
--@arg erased[].owner
--@arg erased[].owned    1 if anything of it was there
local now = redis_now()
for _, one in ipairs(erased) do
  local is_new = redis.call('ZSCORE', shelf_erasures, one.owner) == redis.call('ZSCORE', owners, one.owner)
  redis.call('ZREM', shelf_erasures, one.owner)
  if one.owned == '1' then redis.call('ZADD', owners, now, one.owner)
  elseif is_new and not redis.call('ZSCORE', case_erasures, one.owner) then redis.call('ZREM', owners, one.owner) end
end
return #erased
