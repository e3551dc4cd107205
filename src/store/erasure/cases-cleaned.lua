-- Notes that these cases hold nothing more of what they were shown of an owner; the owner leaves the queue with the last of them.
-- Returns how many are left.
--@include time
--@key owners
--@key case_erasures
--@key shown
--@arg owner
--@arg cases[]           as `shown` has them
for _, case in ipairs(cases) do redis.call('ZREM', shown, case) end
local left = redis.call('ZCARD', shown)
if left == 0 then
  redis.call('ZREM', case_erasures, owner)
  redis.call('ZADD', owners, 'XX', redis_now(), owner)
end
return left
