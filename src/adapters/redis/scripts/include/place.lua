-- Whether a message at this place, "PARTITION OFFSET TIMESTAMP", was taken before the one at `last` was. A topic that was
-- deleted and created again begins with lower offsets and later times.
local function was_taken(last, place)
  if not last or place == '' then return false end
  local pattern = '^(%d+) (%d+) (%-?%d+)$'
  local last_partition, last_offset, last_time = string.match(last, pattern)
  local partition, offset, time = string.match(place, pattern)
  return partition == last_partition and tonumber(offset) <= tonumber(last_offset) and tonumber(time) <= tonumber(last_time)
end
