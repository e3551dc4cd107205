-- Stores answers of an asker that still has their leases; returns for each 1 if it is stored, or was already.
--@include memo-frame
--@key index
--@key frame
--@arg name              of the frame
--@arg asker
--@arg keep_ms
--@arg items[].name
--@arg items[].entry     JSON
local at = redis_now()
local names, reply, answered = {}, {}, {}
for i, item in ipairs(items) do names[i] = item.name end
local read, meta = read_items(at, frame, names)
for i, item in ipairs(items) do
  local one = read[i]
  if one.kind == 'l' and one.text == asker then
    answered[#answered + 1] = item.name
    answered[#answered + 1] = 'a' .. (at + tonumber(keep_ms)) .. ':' .. item.entry
    reply[i] = 1
  else
    reply[i] = one.kind == 'a' and one.text == item.entry and 1 or 0
  end
end
if #answered > 0 then
  write_answers(at, frame, meta, answered, tonumber(keep_ms))
  index_frame(at, index, name, frame, meta)
end
return reply
