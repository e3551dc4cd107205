-- Whether a message at this position, "PARTITION OFFSET TIMESTAMP", comes before the one at `last`. A recreated topic begins
-- with lower offsets and later times.
local function was_taken(last, place)
  if not last or place == '' then return false end
  local pattern = '^(%d+) (%d+) (%-?%d+)$'
  local last_partition, last_offset, last_time = string.match(last, pattern)
  local partition, offset, time = string.match(place, pattern)
  return partition == last_partition and tonumber(offset) <= tonumber(last_offset) and tonumber(time) <= tonumber(last_time)
end
