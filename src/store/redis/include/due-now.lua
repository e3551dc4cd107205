--@include due
--@include kept-bytes
--@include story
-- A thread's comments and the rest of what expires with it: the keys that have its name under another kind.
local function expiring_with(thread)
  local root, member = string.match(thread, '^({.-}:)thread(:.*)$')
  local keys = {}
  for index, kind in ipairs({ 'comments', 'sample', 'authors', 'images' }) do keys[index] = root .. kind .. member end
  return keys
end
-- Makes a thread due at once, and raises its generation. It no longer expires, nor does anything that it would be judged by.
local function due_now(thread, due, member, now)
  due_by(due, member, at_once(due, member, now))
  redis.call('HSETNX', thread, 'dueSince', now)
  redis.call('HINCRBY', thread, 'generation', 1)
  if redis.call('PERSIST', thread) == 1 then
    endless_kept(account_of(thread, member), member)
    end_story(thread, now)
  end
  for _, key in ipairs(expiring_with(thread)) do redis.call('PERSIST', key) end
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
