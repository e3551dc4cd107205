-- Up to where a thread's messages were taken: "TOPIC/PARTITION OFFSET TIMESTAMP", a place of each topic, divided by commas, the last
-- that was taken at the end. Without TOPIC/ (an earlier version's, or a decision's) it is of a topic that has no other.
local function read_place(text)
  local topic, partition, offset, time = string.match(text, '^(%S-)(%d+) (%d+) (%-?%d+)$')
  return topic and { topic = topic, partition = partition, offset = offset, time = time }
end
local function read_places(text)
  local places = {}
  for one in string.gmatch(text or '', '[^,]+') do places[#places + 1] = read_place(one) end
  return places
end
local function write_places(places)
  local texts = {}
  for nth, one in ipairs(places) do texts[nth] = one.topic .. one.partition .. ' ' .. one.offset .. ' ' .. one.time end
  return table.concat(texts, ',')
end
local function last_of(places, topic)
  local last
  for nth, one in ipairs(places) do
    if one.topic == topic then return one, nth end
    if one.topic == '' then last = nth end
  end
  return places[last], last
end
-- Whether a message at this place, or at none, comes before one of its topic that was taken. A recreated topic begins with lower
-- offsets and later times.
local function was_taken(places, place)
  local last = place and last_of(places, place.topic)
  return last and place.partition == last.partition and tonumber(place.offset) <= tonumber(last.offset)
    and tonumber(place.time) <= tonumber(last.time)
end
-- Notes that this one is taken: times may fall from one message to the next.
local function note_taken(places, place)
  local last, nth = last_of(places, place.topic)
  local falls = last and place.partition == last.partition and tonumber(place.time) < tonumber(last.time)
  if falls then place.time = last.time end
  if last then table.remove(places, nth) end
  places[#places + 1] = place
  -- Whoever produces names any topic as the one that a message was mapped from: of more than these the oldest go.
  while #places > 8 do table.remove(places, 1) end
end
local function later_places(text, place)
  local places = read_places(text)
  note_taken(places, read_place(place))
  return write_places(places)
end
-- Whether a decision at this place was handled, whose keys move when its topic gets more partitions.
local function was_handled(last, place)
  local places, this = read_places(last), read_place(place)
  if was_taken(places, this) then return true end
  return #places > 0 and places[1].partition ~= this.partition and tonumber(this.time) < tonumber(places[1].time)
end
