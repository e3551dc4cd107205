-- The fields of an answer, name and value in turns, without transcripts: most of its bytes, which few read.
--@key answers
local all = redis.call('HGETALL', answers)
local read = {}
for i = 1, #all, 2 do
  if not string.match(all[i], '^transcript:') then
    read[#read + 1] = all[i]
    read[#read + 1] = all[i + 1]
  end
end
return read
