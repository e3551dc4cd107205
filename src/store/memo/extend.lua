-- Extends leases from now; returns for each 1 if its asker still has it.
--@include memo/frame
--@key frames[].frame    of questions that follow one another, and have frame and asker in common
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
--@arg frames[].asker
--@arg frames[].count    how many of the items are its
--@arg items[]           of all frames, in their order
local at = redis_now()
local reply, first = {}, 1
for _, one in ipairs(frames) do
  local own, extended = {}, {}
  for i = first, first + tonumber(one.count) - 1 do own[#own + 1] = items[i] end
  first = first + #own
  local read, meta = read_items(at, one.frame, own)
  for i, item in ipairs(read) do
    local is_mine = item.kind == 'l' and item.text == one.asker
    if is_mine then
      extended[#extended + 1] = own[i]
      extended[#extended + 1] = text_of('l', at + tonumber(lease_ms), item.subjects, one.asker)
    end
    reply[#reply + 1] = is_mine and 1 or 0
  end
  write_items(at, one.frame, meta, extended, tonumber(record_ms), is_alone(own))
end
return reply
