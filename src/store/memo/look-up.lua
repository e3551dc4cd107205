-- Looks up questions about a subject, and leases those that are neither known nor leased to another holder; an expired lease is
-- taken over. Returns for each a state and a detail: `known` and the answer, `leased-by-other` and the ms until that lease
-- expires, or `leased` if it is the caller's now.
--@include memo/frame
--@key index
--@key gone              exists while the subject's answers are being erased: questions are then leased without a note of it
--@key frame
--@arg name              of the frame
--@arg subject           its short hash
--@arg holder            who gets the leases
--@arg lease_ms          how long a lease runs
--@arg remember_ms       how long it is stored
--@arg overwrite         1 if a stored answer counts as unknown
--@arg items[]
local noted = redis.call('EXISTS', gone) == 0
local at = redis_now()
local lease = text_of('l', at + tonumber(lease_ms), subject, holder)
local read, meta = read_items(at, frame, items)
local room = room_in(frame)
local reply, written = {}, {}
for i, one in ipairs(read) do
  local state, detail = 'leased', ''
  if one.kind == 'a' and overwrite ~= '1' then
    state, detail = 'known', one.text
    if noted and not names(one.subjects, subject) then
      redis.call('HSET', frame, items[i], text_of('a', one.expires, with_subject(one.subjects, subject), one.text))
    end
  elseif noted and one.kind == 'l' and one.text ~= holder and one.expires > at then
    state, detail = 'leased-by-other', tostring(one.expires - at)
    if not is_awaited(one) then
      redis.call('HSET', frame, items[i], text_of('l', one.expires, awaited_by_others(one), one.text))
    end
  elseif noted and (one.kind or room > 0) then
    written[#written + 1] = items[i]
    written[#written + 1] = lease
    if not one.kind then room = room - 1 end
  end
  reply[2 * i - 1], reply[2 * i] = state, detail
end
write_items(at, frame, meta, written, tonumber(remember_ms), is_alone(items))
if noted then index_frame(at, index, name, frame, meta) end
return reply
