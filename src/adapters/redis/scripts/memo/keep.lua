-- Stores answers of an asker that still has their leases; returns for each 1 if it is stored, or was already.
--@include memo-index
--@key index
--@key questions[].answer
--@key questions[].lease
--@arg asker
--@arg keep_ms
--@arg questions[].name
--@arg questions[].entry  JSON
local reply, names, kept_ms = {}, {}, {}
for i, question in ipairs(questions) do
  if redis.call('HGET', question.lease, 'asker') == asker then
    redis.call('SET', question.answer, question.entry, 'PX', keep_ms)
    redis.call('DEL', question.lease)
    names[#names + 1], kept_ms[#kept_ms + 1] = question.name, tonumber(keep_ms)
    reply[i] = 1
  else
    reply[i] = redis.call('GET', question.answer) == question.entry and 1 or 0
  end
end
index_questions(redis_now(), index, names, kept_ms)
return reply
