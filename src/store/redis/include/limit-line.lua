-- The first of a party in a limit's line, and how a call leaves it (reserve.lua, leave.lua).
local function first_of(scope, of)
  return redis.call('ZRANGEBYLEX', scope.queue, '[' .. of .. '|', '(' .. of .. '}', 'LIMIT', 0, 1)[1]
end
local function leave(scope, member)
  local of, asks, whose, name = string.match(member, '^([^|]+)|%d+|[^|]+|(%d+)|([^|]*)|(.*)$')
  redis.call('ZREM', scope.queue, member)
  redis.call('ZREM', scope.queue_expiry, member)
  redis.call('HDEL', scope.line, asks .. '|' .. name)
  local counted = of .. '|' .. whose
  if redis.call('HINCRBY', scope.line, counted, -1) == 0 then redis.call('HDEL', scope.line, counted) end
  if not first_of(scope, of) then redis.call('ZREM', scope[string.match(of, '^[^/]+')], of) end
end
