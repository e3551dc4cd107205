--@include kept-bytes
-- A delivery is a hash (hooks:delivery:ID) with hook, lane, member, verdictId, revision, bare (the body without its words), at, tries, token while a process has it, and
-- why and parkedAt once it is parked. Its body is in hooks:content:MEMBER, so that a deletion erases it without knowing it. A lane is a
-- hash (hooks:lane:LANE: newest, and parked:ID) and a sorted set (hooks:queue:LANE: ids by revision); hooks:due:HOOK has the lanes of
-- a hook by when their heads may be tried.
-- What a delivery takes beside its bodies, and a lane beside its subject's id, in bytes (memory.ts has the same).
local DELIVERY_BYTES, LANE_BYTES = 500, 300
-- The account of whose thread the lane is about: its name is HOOK PROTOCOL MEMBER.
local function account_of_lane(root, lane) return account_of(root, string.match(lane, '^%S+ %S+ (.*)$')) end
local function delivery_bytes(bare) return DELIVERY_BYTES + #bare end
local function lane_bytes(lane) return LANE_BYTES + #string.match(lane, '^%S+ %S+ [^:]*:(.*)$') end
local function forget_delivery(root, id, lane, member)
  redis.call('ZREM', root .. 'queue:' .. lane, id)
  redis.call('ZREM', root .. 'waiting', id)
  redis.call('HDEL', root .. 'content:' .. member, id)
  redis.call('DEL', root .. 'delivery:' .. id)
  forget_kept(account_of_lane(root, lane), delivery_part(id))
end
-- Forgets what leads the lane and was erased, unless a process has it: nothing waits for it. Returns whether there was something.
local function forget_erased(root, lane)
  local was_there = false
  for _, id in ipairs(redis.call('ZRANGE', root .. 'queue:' .. lane, 0, -1)) do
    local member, token = unpack(redis.call('HMGET', root .. 'delivery:' .. id, 'member', 'token'))
    if token or (member and redis.call('HEXISTS', root .. 'content:' .. member, id) == 1) then break end
    forget_delivery(root, id, lane, member or '')
    was_there = true
  end
  return was_there
end
-- The next of the lane is due at once.
local function next_in_lane(root, hook, lane, now)
  if redis.call('EXISTS', root .. 'queue:' .. lane) == 1 then redis.call('ZADD', root .. 'due:' .. hook, now, lane)
  else redis.call('ZREM', root .. 'due:' .. hook, lane) end
end
