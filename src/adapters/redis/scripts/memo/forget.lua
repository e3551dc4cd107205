-- Erases what was asked about a subject, a bounded number of questions at a time; returns how many questions it took from the
-- index, and how many answers it deleted.
--@key index
--@key gone
--@key answer_prefix
--@key lease_prefix
--@arg limit             most questions
--@arg quiet_ms          for so long no question about the subject is noted; 0 leaves that as it is
if tonumber(quiet_ms) > 0 then redis.call('SET', gone, 1, 'PX', quiet_ms) end
local popped = redis.call('ZPOPMIN', index, limit)
local answers = 0
for i = 1, #popped, 2 do
  answers = answers + redis.call('DEL', answer_prefix .. popped[i])
  redis.call('DEL', lease_prefix .. popped[i])
end
return { #popped / 2, answers }
