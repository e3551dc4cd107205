-- Threads of the same story that have asked this, by their draws; and notes that this one has.
--@include story
--@key thread
--@arg member
--@arg rank              its draw
--@arg most              threads that are noted
--@arg keep              how long a thread is kept after its last verdict, ms
local id = redis.call('HGET', thread, 'story')
if not id then return {} end
local twins = story_key(thread, id) .. ':twins'
redis.call('ZADD', twins, rank, member)
-- One that was forgotten, or says something else by now, takes no place.
local root = string.match(thread, '^({.-}:thread:)')
for _, other in ipairs(redis.call('ZRANGE', twins, 0, -1)) do
  if redis.call('HGET', root .. other, 'story') ~= id then redis.call('ZREM', twins, other) end
end
redis.call('ZREMRANGEBYRANK', twins, most, -1)
redis.call('PEXPIRE', twins, keep)
local others = {}
for _, other in ipairs(redis.call('ZRANGE', twins, 0, -1)) do
  if other ~= member then others[#others + 1] = other end
end
return others
