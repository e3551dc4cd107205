-- Renews leases from now; returns for each 1 if its holder still has it, also if it has expired and nobody took it over.
--@include memo/frame
--@key frames[].frame    of questions that follow one another, and have frame and holder in common
--@arg lease_ms          how long a lease runs
--@arg remember_ms       how long it is stored
--@arg frames[].holder
--@arg frames[].count    how many of the items are its
--@arg items[]           of all frames, in their order
local at = redis_now()
local reply, first = {}, 1
for _, one in ipairs(frames) do
  local own, renewed = {}, {}
  for i = first, first + tonumber(one.count) - 1 do own[#own + 1] = items[i] end
  first = first + #own
  local read, meta = read_items(at, one.frame, own)
  for i, item in ipairs(read) do
    local is_held = item.kind == 'l' and item.text == one.holder
    if is_held then
      renewed[#renewed + 1] = own[i]
      renewed[#renewed + 1] = text_of('l', at + tonumber(lease_ms), item.subjects, one.holder)
    end
    reply[#reply + 1] = is_held and 1 or 0
  end
  write_items(at, one.frame, meta, renewed, tonumber(remember_ms), is_alone(own))
end
return reply
