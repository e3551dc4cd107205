--@include open-counts
-- Deletes an open case with its journal; answers that are still on their way to it will be stale.
local function drop_case(open, unworked, prefixes, member, id)
  if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
  redis.call('ZREM', unworked, id)
  redis.call('UNLINK', prefixes.case .. id, prefixes.journal .. id, prefixes.lost .. id)
end
