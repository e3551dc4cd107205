-- Erases what was asked about a subject, a bounded number of prompts at a time; returns how many frames it took from the index,
-- and how many answers it deleted. What a version before has stored is erased too: an answer by itself, under the same prefix,
-- and its lease.
--@key index
--@key gone
--@key frame_prefix
--@key lease_prefix      of the version before
--@arg limit             most frames
--@arg quiet_ms          for so long no question about the subject is noted; 0 leaves that as it is
if tonumber(quiet_ms) > 0 then redis.call('SET', gone, 1, 'PX', quiet_ms) end
local popped = redis.call('ZPOPMIN', index, limit)
local answers = 0
for i = 1, #popped, 2 do
  local frame = frame_prefix .. popped[i]
  if redis.call('TYPE', frame).ok == 'hash' then
    for _, stored in ipairs(redis.call('HVALS', frame)) do
      if string.sub(stored, 1, 1) == 'a' then answers = answers + 1 end
    end
    redis.call('DEL', frame)
  else
    answers = answers + redis.call('DEL', frame)
    redis.call('DEL', lease_prefix .. popped[i])
  end
end
return { #popped / 2, answers }
