-- Removes some of the comments whose post never arrived, with a dead letter for each origin; with the last one the thread is removed,
-- except for its revision numbers. Returns how many were removed; -1 if the post has arrived or the thread is gone.
--@include due
--@include authors
--@include thread-bytes
--@key thread
--@key comments
--@key sample
--@key due
--@key orphans
--@key outbox
--@key authors
--@key revisions
--@arg member
--@arg keep              how long the revisions' numbers are kept, ms
--@arg letters[].id      the comment's id
--@arg letters[].key     Kafka key of the dead letter
--@arg letters[].letter  JSON
local post, gone, unrouted = unpack(redis.call('HMGET', thread, 'post', 'deleted', 'unrouted'))
if post then return -1 end
if gone or unrouted then
  not_due(due, member)
  return -1
end
local expired = 0
local held = read_bytes(thread, redis.call('HGET', thread, 'held'), 0)
for _, dead in ipairs(letters) do
  local origin = redis.call('HGET', orphans, dead.id)
  if origin then
    redis.call('XADD', outbox, '*', 'kind', 'dead-letter', 'key', dead.key, 'letter', dead.letter)
    redis.call('HDEL', orphans, dead.id)
    local json = redis.call('HGET', comments, dead.id)
    drop_from_author(authors, sample, dead.id, json)
    held.origins = held.origins - #dead.id - #origin
    if json then held.said = held.said - comment_bytes(dead.id, json) end
    redis.call('HDEL', comments, dead.id)
    redis.call('ZREM', sample, dead.id)
    redis.call('HINCRBY', thread, 'accepted', -tonumber(string.match(origin, '"standsFor":(%d+)') or 1))
    expired = expired + 1
  end
end
if redis.call('HLEN', orphans) > 0 then
  write_bytes(thread, member, held)
  return expired
end
local fields = redis.call('HGETALL', thread)
for i = 1, #fields, 2 do
  local protocol = string.match(fields[i], '^rev:(.+)$')
  if protocol and tonumber(fields[i + 1]) > tonumber(redis.call('HGET', revisions, protocol) or '0') then
    redis.call('HSET', revisions, protocol, fields[i + 1])
    redis.call('PEXPIRE', revisions, keep)
  end
end
redis.call('UNLINK', thread, comments, sample, orphans, authors)
forget_kept(account_of(thread, member), member)
not_due(due, member)
return expired
