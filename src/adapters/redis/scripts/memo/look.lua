-- Looks up questions about a subject. Returns for each a state and a detail: `known` and the answer, `asked` and the ms until
-- another's lease ends, or `mine` if the asker has the lease now.
--@include memo-frame
--@key index
--@key gone              exists while the subject's answers are being erased: leases are then given, and not noted
--@key frame
--@arg name              of the frame
--@arg asker
--@arg lease_ms          how long a lease runs
--@arg record_ms         how long it is kept
--@arg items[]
local noted = redis.call('EXISTS', gone) == 0
local at = redis_now()
local lease = 'l' .. (at + tonumber(lease_ms)) .. ':' .. asker
local reply, leased = {}, {}
local read, meta = read_items(at, frame, items)
for i, one in ipairs(read) do
  local state, detail = 'mine', ''
  if one.kind == 'a' then
    state, detail = 'known', one.text
  elseif noted then
    if one.kind == 'l' and one.text ~= asker and one.expires > at then
      state, detail = 'asked', tostring(one.expires - at)
    else
      leased[#leased + 1] = items[i]
      leased[#leased + 1] = lease
    end
  end
  reply[2 * i - 1], reply[2 * i] = state, detail
end
write_items(frame, leased, tonumber(record_ms))
if noted then index_frame(at, index, name, frame, meta) end
return reply
