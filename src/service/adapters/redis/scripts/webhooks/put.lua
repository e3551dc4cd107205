-- Queues a delivery in its lane. Returns 0, with nothing done, if the lane knows a revision that is as new.
--@include time
--@key root              what the keys of all deliveries begin with
--@arg id
--@arg lane
--@arg hook
--@arg member            of the thread that the verdict is about
--@arg verdict_id
--@arg revision
--@arg retracts          1 if older ones lose their content
--@arg body
--@arg bare              the body without words that may quote the subject
--@arg keep              how long anything of it is kept, ms
local newest = redis.call('HGET', root .. 'lane:' .. lane, 'newest')
if newest and tonumber(newest) >= tonumber(revision) then return 0 end
local now = redis_now()
local content, queue = root .. 'content:' .. member, root .. 'queue:' .. lane
if retracts == '1' then
  for _, older in ipairs(redis.call('ZRANGE', queue, 0, -1)) do redis.call('HDEL', content, older) end
  for _, field in ipairs(redis.call('HKEYS', root .. 'lane:' .. lane)) do
    local older = string.match(field, '^parked:(.+)$')
    if older then redis.call('HDEL', content, older) end
  end
end
redis.call('HSET', root .. 'lane:' .. lane, 'newest', revision)
redis.call('HSET', root .. 'delivery:' .. id, 'hook', hook, 'lane', lane, 'member', member, 'verdictId', verdict_id,
  'revision', revision, 'bare', bare, 'tries', 0)
redis.call('HSET', content, id, body)
redis.call('ZADD', queue, revision, id)
redis.call('ZADD', root .. 'waiting', now, id)
redis.call('ZADD', root .. 'due:' .. hook, 'NX', now, lane)
for _, key in ipairs({ root .. 'lane:' .. lane, root .. 'delivery:' .. id, content, queue }) do
  redis.call('PEXPIRE', key, keep)
end
return 1
