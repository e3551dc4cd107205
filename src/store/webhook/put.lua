-- Queues a delivery in its lane. Returns 0, with nothing done, if the lane knows a revision that is as new, or none that it is to
-- follow, nothing of it may be sent any more, or its receiver wants no more; -1 if its tenant would hold more than it may; and -2 if
-- that is being counted: it is to be called again.
--@include time
--@include withheld
--@include webhook/lanes
--@key root              what the keys of all deliveries begin with
--@key outbox
--@key thread            that the verdict is about
--@key case              that it concludes
--@key owners
--@arg entry             the verdict's in the outbox
--@arg id
--@arg lane
--@arg hook
--@arg member            of the thread
--@arg verdict_id
--@arg revision
--@arg follows           1 if it is sent only where the lane knows an older one
--@arg retracts          1 if older ones lose their content
--@arg body
--@arg bare              the body without words that may quote the subject
--@arg most_queued       bytes of its receiver's deliveries that its tenant may hold with it; empty: there is no limit
--@arg most              bytes of anything, likewise
--@arg keep              how long anything of it is kept, ms
local newest = redis.call('HGET', root .. 'lane:' .. lane, 'newest')
-- One that is gone may be back after a restart: of what it was sent it then hears that it was deleted.
if redis.call('SISMEMBER', root .. 'gone', hook) == 1 and not (retracts == '1' and newest) then return 0 end
if newest and tonumber(newest) >= tonumber(revision) then return 0 end
if not newest and follows == '1' then return 0 end
-- A deletion takes a verdict that may quote what was deleted out of the outbox, also while a publisher has it in hand.
local stands = #redis.call('XRANGE', outbox, entry, entry) == 1 and not is_withheld(case, owners)
if retracts ~= '1' and not stands then
  if redis.call('EXISTS', thread) == 0 or redis.call('HEXISTS', thread, 'deleted') == 1 then return 0 end
  body = bare
end
local now, account, held = redis_now(), account_of_lane(root, lane), held_of(member, hook)
local size = delivery_bytes(bare) + #body
if most ~= '' and kept_sum(account, now) + size + lane_bytes(lane) > tonumber(most) then return -1 end
if most_queued ~= '' then
  forget_ended(account, now, 5000)
  local fits = has_room(account, root, held, size, tonumber(most_queued), now)
  if fits == nil then return -2 end
  if not fits then return -1 end
end
local content, queue = root .. 'content:' .. member, root .. 'queue:' .. lane
if retracts == '1' then
  local all = redis.call('ZRANGE', queue, 0, -1)
  for _, field in ipairs(redis.call('HKEYS', root .. 'lane:' .. lane)) do all[#all + 1] = string.match(field, '^parked:(.+)$') end
  for _, older in ipairs(all) do
    change_held(root, held, -redis.call('HSTRLEN', content, older))
    set_content(account, content, older)
  end
end
local was_erased = forget_erased(root, lane)
redis.call('HSET', root .. 'lane:' .. lane, 'newest', revision)
redis.call('HSET', root .. 'delivery:' .. id, 'hook', hook, 'lane', lane, 'member', member, 'verdictId', verdict_id,
  'revision', revision, 'bare', bare, 'tries', 0)
set_kept(account, delivery_part(id), delivery_bytes(bare) + redis.call('HSTRLEN', content, id))
set_content(account, content, id, body)
change_held(root, held, size)
set_kept(account, 'lane ' .. lane, lane_bytes(lane))
redis.call('ZADD', queue, revision, id)
redis.call('ZADD', root .. 'waiting', now, id)
if was_erased then redis.call('ZADD', root .. 'due:' .. hook, now, lane)
else redis.call('ZADD', root .. 'due:' .. hook, 'NX', now, lane) end
local due = root .. 'due:' .. hook
-- Of a receiver that nobody sends to any more, lanes expire, and their names with them.
for _, old in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now - tonumber(keep), 'LIMIT', 0, 2)) do
  if redis.call('EXISTS', root .. 'queue:' .. old) == 1 then redis.call('ZADD', due, 'XX', now, old)
  else redis.call('ZREM', due, old) end
end
for _, key in ipairs({ root .. 'lane:' .. lane, root .. 'delivery:' .. id, content, queue, due, root .. 'waiting' }) do
  redis.call('PEXPIRE', key, keep)
end
for _, part in ipairs({ delivery_part(id), 'lane ' .. lane }) do end_kept(account, part, now, keep) end
return 1
