-- Erases what a subject knows and asks, a bounded number of items at a time; returns 1 if there is more, and how many answers it
-- erased.
--@include memo/frame
--@key index
--@key gone
--@key frame_prefix
--@arg subject           its short hash
--@arg limit             most items, but for the last frame's
--@arg quiet_ms          for so long no question about the subject is noted; 0 leaves that as it is
if tonumber(quiet_ms) > 0 then redis.call('SET', gone, 1, 'PX', quiet_ms) end
local looked, answers = 0, 0
while looked < tonumber(limit) do
  local name = redis.call('ZPOPMIN', index)[1]
  if not name then return { 0, answers } end
  local frame = frame_prefix .. name
  looked = looked + 1
  local items, count = all_items(frame)
  local kept = false
  for item_name, item in pairs(items) do
    if names(item.subjects, subject) then
      redis.call('HDEL', frame, item_name)
      if item.kind == 'a' then answers = answers + 1 end
    else
      kept = true
    end
  end
  if not kept then redis.call('DEL', frame) end
  looked = looked + count
end
return { redis.call('EXISTS', index), answers }
