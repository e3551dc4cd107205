-- The fields of an answer, name and value in turns, without transcripts: most of its bytes, which few read and none are touched here.
--@key answers
local fields = {}
for _, name in ipairs(redis.call('HKEYS', answers)) do
  if not string.match(name, '^transcript:') then
    fields[#fields + 1] = name
  end
end
if #fields == 0 then
  return {}
end
local values = redis.call('HMGET', answers, unpack(fields))
local read = {}
for i = 1, #fields do
  read[#read + 1] = fields[i]
  read[#read + 1] = values[i]
end
return read
