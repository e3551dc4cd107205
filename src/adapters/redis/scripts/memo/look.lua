-- Looks up questions about a subject. Returns for each a state and a detail: `known` and the answer, `asked` and the ms until
-- another's lease ends, or `mine` if the asker has the lease now.
--@include memo-index
--@key index
--@key gone              exists while the subject's answers are being erased: leases are then given, and not noted
--@key questions[].answer
--@key questions[].lease
--@arg asker
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
--@arg questions[].name
local noted = redis.call('EXISTS', gone) == 0
local at = redis_now()
local answers = {}
for i, question in ipairs(questions) do answers[i] = question.answer end
local known = redis.call('MGET', unpack(answers))
local reply, names, kept_ms = {}, {}, {}
for i, question in ipairs(questions) do
  local state, detail, keep_ms = 'mine', '', tonumber(record_ms)
  if known[i] then
    state, detail, keep_ms = 'known', known[i], redis.call('PTTL', question.answer)
  elseif noted then
    local holder, expires = unpack(redis.call('HMGET', question.lease, 'asker', 'until'))
    local left = holder and holder ~= asker and tonumber(expires) - at or 0
    if left > 0 then
      state, detail, keep_ms = 'asked', tostring(left), redis.call('PTTL', question.lease)
    else
      redis.call('HSET', question.lease, 'asker', asker, 'until', at + tonumber(lease_ms))
      redis.call('PEXPIRE', question.lease, record_ms)
    end
  end
  names[i], kept_ms[i] = question.name, keep_ms
  reply[2 * i - 1], reply[2 * i] = state, detail
end
if noted then index_questions(at, index, names, kept_ms) end
return reply
