-- Hands out the heads of a hook's lanes that are due. Whose content was erased is forgotten, and the next of its lane is the head.
-- Returns for each its id, verdict's id, body and number of tries.
--@include time
--@include webhook/lanes
--@key root              what the keys of all deliveries begin with
--@arg hook
--@arg limit
--@arg lease             ms
--@arg token             of this taking
local now, due = redis_now(), root .. 'due:' .. hook
local taken = {}
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, limit)) do
  local queue = root .. 'queue:' .. lane
  local id = redis.call('ZRANGE', queue, 0, 0)[1]
  while id do
    local delivery = root .. 'delivery:' .. id
    local member, verdict_id, tries = unpack(redis.call('HMGET', delivery, 'member', 'verdictId', 'tries'))
    local body = member and redis.call('HGET', root .. 'content:' .. member, id)
    if body then
      redis.call('HSET', delivery, 'token', token)
      redis.call('ZADD', due, now + tonumber(lease), lane)
      taken[#taken + 1] = { id, verdict_id, body, tonumber(tries) }
      break
    end
    forget_delivery(root, id, lane, member or '')
    id = redis.call('ZRANGE', queue, 0, 0)[1]
  end
  if not id then redis.call('ZREM', due, lane) end
end
return taken
