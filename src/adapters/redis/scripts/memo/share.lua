-- Links the answers under a frame to another subject as well, so that its deletion erases them; returns 0 while the subject's
-- answers are being erased.
--@include memo-frame
--@key index
--@key gone
--@key frame
--@arg name              of the frame
if redis.call('EXISTS', gone) == 1 then return 0 end
local at = redis_now()
local _, meta = read_items(at, frame, {})
index_frame(at, index, name, frame, meta)
return 1
