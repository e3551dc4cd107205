-- Extends an asker's leases from now; returns for each 1 if the asker still has it.
--@include memo-frame
--@key frame
--@arg asker
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
--@arg items[]
local at = redis_now()
local lease = 'l' .. (at + tonumber(lease_ms)) .. ':' .. asker
local reply, extended = {}, {}
for i, one in ipairs((read_items(at, frame, items))) do
  local is_mine = one.kind == 'l' and one.text == asker
  if is_mine then
    extended[#extended + 1] = items[i]
    extended[#extended + 1] = lease
  end
  reply[i] = is_mine and 1 or 0
end
write_items(frame, extended, tonumber(record_ms))
return reply
