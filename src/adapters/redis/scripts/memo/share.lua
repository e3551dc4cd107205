-- Links known answers to another subject as well, so that its deletion erases them; returns 0 while the subject's answers are
-- being erased.
--@include memo-index
--@key index
--@key gone
--@key questions[].answer
--@arg questions[].name
if redis.call('EXISTS', gone) == 1 then return 0 end
local names, kept_ms = {}, {}
for _, question in ipairs(questions) do
  local left = redis.call('PTTL', question.answer)
  if left > 0 then names[#names + 1], kept_ms[#kept_ms + 1] = question.name, left end
end
index_questions(redis_now(), index, names, kept_ms)
return 1
