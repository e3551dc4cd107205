-- The fields of a hash, name and value in turns, without those left out: their values, most of its bytes, are not touched.
local function fields_but(key, is_left_out)
  local names = {}
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if not is_left_out(name) then names[#names + 1] = name end
  end
  if #names == 0 then return {} end
  local fields = {}
  for index, value in ipairs(redis.call('HMGET', key, unpack(names))) do
    fields[#fields + 1] = names[index]
    fields[#fields + 1] = value
  end
  return fields
end
