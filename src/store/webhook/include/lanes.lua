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
-- What the deliveries of a receiver hold of its tenant, in bytes, is in a sorted set (hooks:held) by TENANT HOOK. It is changed where the
-- lane is known. What leaves it otherwise (deletions, what expires, what an earlier version sent) stays in the sum until it is counted.
local function held_of(member, hook) return string.match(member, '^[^/:]*') .. ' ' .. hook end
local function change_held(root, of, by)
  if tonumber(redis.call('ZINCRBY', root .. 'held', by, of)) <= 0 then redis.call('ZREM', root .. 'held', of) end
end
local function held_sum(root, of) return tonumber(redis.call('ZSCORE', root .. 'held', of) or '0') end
-- Counts it anew, some of all deliveries with each call: hooks:counted:TENANT HOOK has how far that came, and then for how long it holds.
local COUNTED_AT_ONCE, COUNT_HOLDS_MS = 1000, 3600000
local function count_held(account, root, of, now)
  local note = root .. 'counted:' .. of
  local set, cursor, counted, before = unpack(redis.call('HMGET', note, 'set', 'cursor', 'counted', 'before'))
  if not set then set, cursor, counted, before = 'waiting', '0', 0, held_sum(root, of) end
  local next_cursor, found = unpack(redis.call('ZSCAN', root .. set, cursor, 'COUNT', COUNTED_AT_ONCE))
  for nth = 1, #found, 2 do
    local hook, member = unpack(redis.call('HMGET', root .. 'delivery:' .. found[nth], 'hook', 'member'))
    if hook and held_of(member, hook) == of then
      counted = counted + tonumber(redis.call('HGET', account.parts, delivery_part(found[nth])) or '0')
    end
  end
  if next_cursor == '0' and set == 'parked' then
    redis.call('DEL', note)
    redis.call('HSET', note, 'at', now)
    -- It went on changing meanwhile.
    change_held(root, of, counted - tonumber(before))
  else
    if next_cursor == '0' then set = 'parked' end
    redis.call('HDEL', note, 'at')
    redis.call('HSET', note, 'set', set, 'cursor', next_cursor, 'counted', counted, 'before', before)
  end
  redis.call('PEXPIRE', note, COUNT_HOLDS_MS)
end
-- Whether there is room for so much; nil: it is being counted, and is to be asked again. Nothing is refused by a count older than ten minutes: it looks at the deliveries of all tenants.
local function has_room(account, root, of, size, most, now)
  local at = redis.call('HGET', root .. 'counted:' .. of, 'at')
  local fits = held_sum(root, of) + size <= most
  if at and (fits or now - tonumber(at) < 600000) then return fits end
  count_held(account, root, of, now)
end
local function forget_delivery(root, id, lane, member)
  redis.call('ZREM', root .. 'queue:' .. lane, id)
  redis.call('ZREM', root .. 'waiting', id)
  redis.call('HDEL', root .. 'content:' .. member, id)
  redis.call('DEL', root .. 'delivery:' .. id)
  local account = account_of_lane(root, lane)
  local held = redis.call('HGET', account.parts, delivery_part(id))
  if held then change_held(root, held_of(account.tenant, string.match(lane, '^%S+')), -tonumber(held)) end
  forget_kept(account, delivery_part(id))
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
