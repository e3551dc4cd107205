-- Writes the thread of a request, due at once, and the answer that it will have. Returns `asked`; `deleted` if the stream's subject
-- of its id was deleted, `over-share` if its tenant would hold more than its share, and `suspended` if the data are not those that
-- the caller knows, each with nothing done.
--@include due
--@include fencing
--@include kept-bytes
--@key thread
--@key comments
--@key images
--@key answers
--@key subject           the thread of the stream's subject
--@key requests          what was asked under that subject's id
--@key due
--@key incarnation
--@arg member
--@arg now               wall time, ms
--@arg keep              how long the answer can be read, ms
--@arg bytes           of the question, as it is kept
--@arg answer_bytes    that are kept free for the answer by each protocol
--@arg trail_bytes     of what is known of it for as long as of any question
--@arg asked[]         protocols
--@arg most            bytes that its tenant may hold; empty: no limit
--@arg keep_asked     how long it is known what was asked under that id, ms
--@arg rests[]         what the keys begin with that may be left of a question
--@arg fields[].name     of the thread's hash
--@arg fields[].value
--@arg aside[].hash      images that are kept beside the post
--@arg aside[].url
--@arg said[].id         of a comment
--@arg said[].json
--@arg answer[].name     of the answer's hash
--@arg answer[].value
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not holds(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
if redis.call('HEXISTS', subject, 'deleted') == 1 then return 'deleted' end
local account = account_of(thread, member)
local reserved = #asked * tonumber(answer_bytes)
if not may_hold(account, member, bytes + reserved + trail_bytes, most, now) then return 'over-share' end
set_kept(account, member, tonumber(bytes))
-- Should nobody say that it has ended, as a process of an earlier version does not, it is counted no longer than it is known.
end_kept(account, member, now, keep_asked)
set_kept(account, answer_part(member), reserved)
end_kept(account, answer_part(member), now, keep)
local trails = trails_part(now)
grow_kept(account, trails, tonumber(trail_bytes))
end_kept(account, trails, now, keep_asked)
for _, field in ipairs(fields) do redis.call('HSET', thread, field.name, field.value) end
for _, image in ipairs(aside) do redis.call('HSET', images, image.hash, image.url) end
redis.call('HSET', thread, 'generation', 1, 'dueSince', now)
for _, comment in ipairs(said) do redis.call('HSET', comments, comment.id, comment.json) end
for _, field in ipairs(answer) do redis.call('HSET', answers, field.name, field.value) end
redis.call('HSET', answers, 'reserved', answer_bytes)
redis.call('PEXPIRE', answers, keep)
-- Each new one makes the others known for longer: with it, up to two leave of which nothing is left to be erased.
for _, other in ipairs(redis.call('SRANDMEMBER', requests, 2)) do
  local left = 0
  for _, rest in ipairs(rests) do left = left + redis.call('EXISTS', rest .. other) end
  if left == 0 then redis.call('SREM', requests, other) end
end
redis.call('SADD', requests, member)
redis.call('PEXPIRE', requests, keep_asked)
set_due(due, member, asked_at_once(due, member, now))
return 'asked'
