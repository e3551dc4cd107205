--@include due
-- Makes a thread due at once, and raises its generation.
local function due_now(thread, due, member, now)
  due_by(due, member, at_once(now))
  redis.call('HSETNX', thread, 'dueSince', now)
  redis.call('HINCRBY', thread, 'generation', 1)
  redis.call('PERSIST', thread)
end
-- Notes the count checkpoints that n comments have reached; the thread is due at once if there is a new one among them.
local function pass_counts(thread, due, member, now, n, stage, counts)
  local passed = stage
  for index, count in ipairs(counts) do
    if index > passed and n >= tonumber(count) then passed = index end
  end
  if passed > stage then
    redis.call('HSET', thread, 'countStage', passed)
    due_now(thread, due, member, now)
  end
end
