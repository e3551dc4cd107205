-- Links known answers to another subject as well, so that its deletion erases them; returns 0 while the subject's answers are
-- being erased.
--@include memo/frame
--@key index
--@key gone
--@key frame
--@arg name              of the frame
--@arg subject           its short hash
--@arg items[]
if redis.call('EXISTS', gone) == 1 then return 0 end
local at = redis_now()
local read, meta = read_items(at, frame, items)
local known = false
for i, one in ipairs(read) do
  if one.kind == 'a' then
    known = true
    redis.call('HSET', frame, items[i], text_of('a', one.expires, with_subject(one.subjects, subject), one.text))
  end
end
if known then index_frame(at, index, name, frame, meta) end
return 1
