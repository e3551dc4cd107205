--@include time
-- Notes that an owner was deleted: from now on nothing of its content is shown or sent. The shelves and, if there are any, the
-- cases that were shown some of it wait to be erased.
local function note_deleted(erasures, shown, owner)
  local now = redis_now()
  -- One that was erased already keeps its time (erasures/shelves-erased.lua).
  redis.call('ZADD', erasures.owners, 'NX', now, owner)
  redis.call('ZADD', erasures.shelves, 'NX', now, owner)
  if redis.call('EXISTS', shown) == 1 then redis.call('ZADD', erasures.cases, 'NX', now, owner) end
end
