-- Stores answers of holders whose leases nobody took over, under several frames; returns for each 1 if it is stored, or was already.
--@include memo/frame
--@key frames[].index
--@key frames[].frame
--@arg keep_ms
--@arg frames[].name
--@arg frames[].holder
--@arg frames[].count    how many of the items, in order, are under this frame
--@arg items[].name
--@arg items[].entry     JSON
local at = redis_now()
local reply, all, entries = {}, {}, {}
for i, item in ipairs(items) do all[i], entries[i] = item.name, item.entry end
for _, under in ipairs(frames) do
  local from = #reply
  local items_of, answered = {}, {}
  for i = 1, tonumber(under.count) do items_of[i] = all[from + i] end
  local read, meta = read_items(at, under.frame, items_of)
  for i, one in ipairs(read) do
    local entry = entries[from + i]
    if one.kind == 'l' and one.text == under.holder then
      answered[#answered + 1] = items_of[i]
      answered[#answered + 1] = text_of('a', at + tonumber(keep_ms), subjects_alone(one), entry)
      reply[from + i] = 1
    else
      reply[from + i] = one.kind == 'a' and one.text == entry and 1 or 0
    end
  end
  if #answered > 0 then
    write_items(at, under.frame, meta, answered, tonumber(keep_ms), is_alone(items_of))
    index_frame(at, under.index, under.name, under.frame, meta)
  end
end
return reply
