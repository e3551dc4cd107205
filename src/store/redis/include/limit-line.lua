-- The line of a limit (reserve.lua), and how a call leaves it.
local function party_in(member) return string.match(member, '^[^|]+') end
local function class_of(party) return string.match(party, '^[^/]+') end
local function first_of(scope, of)
  return redis.call('ZRANGEBYLEX', scope.queue, '[' .. of .. '|', '(' .. of .. '}', 'LIMIT', 0, 1)[1]
end
local function class_turn(scope, of) return tonumber(redis.call('HGET', scope.line, of) or '0') end
-- The first in line: of the class that has had less for its share, the party whose turn it is.
local function first_in_line(scope)
  local first = { waiting = redis.call('ZRANGE', scope.waiting, 0, 0)[1], rest = redis.call('ZRANGE', scope.rest, 0, 0)[1] }
  local is_waitings = first.waiting and (not first.rest or class_turn(scope, 'waiting') <= class_turn(scope, 'rest'))
  local next = is_waitings and first.waiting or first.rest
  return next and first_of(scope, next)
end
-- What a party was granted of a limit while others are in line, or what was kept for it; `share`: its class's.
local function charge(scope, party, part, share)
  if redis.call('ZCARD', scope.queue) == 0 then return end
  local class = class_of(party)
  redis.call('HSET', scope.line, class, class_turn(scope, class) + part / share)
  if redis.call('ZSCORE', scope[class], party) then redis.call('ZINCRBY', scope[class], part, party) end
end
local function leave(scope, member)
  local of, asks, whose, name = string.match(member, '^([^|]+)|%d+|[^|]+|(%d+)|([^|]*)|(.*)$')
  redis.call('ZREM', scope.queue, member)
  redis.call('ZREM', scope.queue_expiry, member)
  redis.call('HDEL', scope.line, asks .. '|' .. name)
  local counted = of .. '|' .. whose
  if redis.call('HINCRBY', scope.line, counted, -1) == 0 then redis.call('HDEL', scope.line, counted) end
  if not first_of(scope, of) then redis.call('ZREM', scope[class_of(of)], of) end
end
-- A call leaves without having been made. If others waited for it, that was its party's turn: else who comes and goes stays first.
local function give_up(scope, member, part, share)
  local was_first = first_in_line(scope) == member
  leave(scope, member)
  if was_first then charge(scope, party_in(member), part, share) end
end
