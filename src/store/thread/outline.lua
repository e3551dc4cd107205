-- What stands of a thread but its words: its fields without the post and what cases carry, name and value in turns, and how many
-- comments are kept.
--@key thread
--@key comments
--@arg tombstone         how long a deleted comment's place is, in bytes: a comment is longer
local fields = {}
for _, name in ipairs(redis.call('HKEYS', thread)) do
  if name ~= 'post' and not string.match(name, '^carry:') then
    fields[#fields + 1] = name
  end
end
if #fields == 0 then
  return { {}, 0 }
end
local values = redis.call('HMGET', thread, unpack(fields))
local read = {}
for i = 1, #fields do
  read[#read + 1] = fields[i]
  read[#read + 1] = values[i]
end
local kept = 0
for _, id in ipairs(redis.call('HKEYS', comments)) do
  if redis.call('HSTRLEN', comments, id) > tonumber(tombstone) then
    kept = kept + 1
  end
end
return { read, kept }
