-- What stands of a thread but its words: its fields without the post and what cases carry, name and value in turns, and how many
-- comments are kept.
--@include fields-but
--@key thread
--@key comments
--@arg tombstone         how long a deleted comment's place is, in bytes: a comment is longer
local fields = fields_but(thread, function(name) return name == 'post' or string.match(name, '^carry:') end)
if #fields == 0 then return { {}, 0 } end
local kept = 0
for _, id in ipairs(redis.call('HKEYS', comments)) do
  if redis.call('HSTRLEN', comments, id) > tonumber(tombstone) then kept = kept + 1 end
end
return { fields, kept }
