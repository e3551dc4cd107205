-- Whether a message at this position, "PARTITION OFFSET TIMESTAMP", comes before the one at `last`. A recreated topic begins
-- with lower offsets and later times.
local function was_taken(last, place)
  if not last or place == '' then return false end
  local pattern = '^(%d+) (%d+) (%-?%d+)$'
  local last_partition, last_offset, last_time = string.match(last, pattern)
  local partition, offset, time = string.match(place, pattern)
  return partition == last_partition and tonumber(offset) <= tonumber(last_offset) and tonumber(time) <= tonumber(last_time)
end
-- The place up to which messages have been taken once this one is: times may fall from one message to the next.
local function later_place(last, place)
  if not last or place == '' then return place ~= '' and place or last end
  local pattern = '^(%d+) (%d+) (%-?%d+)$'
  local last_partition, _, last_time = string.match(last, pattern)
  local partition, offset, time = string.match(place, pattern)
  if partition ~= last_partition or tonumber(time) >= tonumber(last_time) then return place end
  return partition .. ' ' .. offset .. ' ' .. last_time
end
-- Whether a decision at this position was handled, whose keys move when its topic gets more partitions.
local function was_handled(last, place)
  if not last then return false end
  if was_taken(last, place) then return true end
  local last_partition, _, last_time = string.match(last, '^(%d+) (%d+) (%-?%d+)$')
  local partition, _, time = string.match(place, '^(%d+) (%d+) (%-?%d+)$')
  return partition ~= last_partition and tonumber(time) < tonumber(last_time)
end
