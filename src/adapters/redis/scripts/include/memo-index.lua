--@include time
-- An answer is a string. A lease is a hash of asker and `until` (Redis's time, ms) that is kept for longer than the lease runs,
-- so that a late answer is kept if nobody asked again, and is not if the question was forgotten. A subject's index is a sorted
-- set of questions by the time at which they expire.
local function index_questions(at, index, questions, kept_ms)
  if #questions == 0 then return end
  local longest, changed = 0, {}
  local expiries = redis.call('ZMSCORE', index, unpack(questions))
  for i, question in ipairs(questions) do
    -- Usually it is there already, so a lookup that finds answers writes nothing.
    if not expiries[i] or tonumber(expiries[i]) < at + kept_ms[i] - 1000 then
      changed[#changed + 1] = at + kept_ms[i]
      changed[#changed + 1] = question
      longest = math.max(longest, kept_ms[i])
    end
  end
  if #changed == 0 then return end
  redis.call('ZADD', index, 'GT', unpack(changed))
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. at)
  if redis.call('PTTL', index) < longest then redis.call('PEXPIRE', index, longest) end
end
