-- Extends an asker's leases from now; returns for each 1 if the asker still has it.
--@include memo-frame
--@key frame
--@arg asker
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
--@arg items[]
local at = redis_now()
local reply, extended = {}, {}
local read, meta = read_items(at, frame, items)
for i, one in ipairs(read) do
  local is_mine = one.kind == 'l' and one.text == asker
  if is_mine then
    extended[#extended + 1] = items[i]
    extended[#extended + 1] = text_of('l', at + tonumber(lease_ms), one.subjects, asker)
  end
  reply[i] = is_mine and 1 or 0
end
write_items(at, frame, meta, extended, tonumber(record_ms), is_alone(items))
return reply
