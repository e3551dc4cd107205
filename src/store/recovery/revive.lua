-- Puts a thread that was forgotten, or whose comments were, into the store again, as its messages have made it elsewhere, and
-- makes it due for protocols that are to judge it again; returns an outcome for each, in order, or `suspended` if the data are not
-- whole.
--@include ask-again
--@include due-now
--@include revisions
--@include authors
--@include decided
--@include thread-bytes
--@include story
--@key thread
--@key comments
--@key sample
--@key authors
--@key images
--@key orphans
--@key revisions
--@key decided
--@key due
--@key incarnation
--@key watched
--@arg watcher           the caller's run
--@arg member
--@arg now               wall time, ms
--@arg keep              how long numbers of revisions are kept, ms
--@arg read_version      the thread's version as the caller read it; empty if there was none
--@arg at                the post's createdAt, ms
--@arg version           the thread's version
--@arg fields[].name     of the thread's hash
--@arg fields[].value
--@arg aside[].hash      images that are kept beside the post
--@arg aside[].url
--@arg said[].id
--@arg said[].json
--@arg said[].rank
--@arg said[].author     hash; empty if it names none
--@arg known[].protocol
--@arg known[].revision
--@arg known[].seen      the version that counts as seen by it
--@arg known[].final
--@arg asked[].protocol
--@arg asked[].revision
--@arg asked[].reads_comments
if redis.call('HEXISTS', incarnation, 'lost') == 1 then return 'suspended' end
local function all(outcome)
  local outcomes = {}
  for index = 1, #asked do outcomes[index] = outcome end
  return outcomes
end
local gone, post, expired, now_version = unpack(redis.call('HMGET', thread, 'deleted', 'post', 'expired', 'version'))
if gone then return all('deleted') end
-- Another run may watch it since: it has read what was said and deleted by then, and the caller has not.
if redis.call('SISMEMBER', watched, watcher) == 0 then return all('changed') end
redis.call('DEL', watched)
if (post and not expired) or (now_version or '') ~= read_version then return all('changed') end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  if string.match(field, '^open:') then return all('changed') end
end
-- Numbers that outlive the thread count as well: their verdicts may be on no topic any more.
local last = {}
local function note(protocol, number) last[protocol] = math.max(last[protocol] or 0, tonumber(number)) end
local numbers = redis.call('HGETALL', revisions)
for i = 1, #numbers, 2 do note(numbers[i], numbers[i + 1]) end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  local protocol = string.match(field, '^rev:(.*)$')
  if protocol then note(protocol, redis.call('HGET', thread, field)) end
end
each_decided(decided, 'rev', note)
for _, revision in ipairs(known) do note(revision.protocol, revision.revision) end
local is_wanted = false
for _, row in ipairs(asked) do is_wanted = is_wanted or last[row.protocol] == tonumber(row.revision) end
if not is_wanted then return all('newer') end
leave_story(thread, member, now)
redis.call('UNLINK', thread, comments, sample, authors, images, orphans)
not_due(due, member)
for _, field in ipairs(fields) do redis.call('HSET', thread, field.name, field.value) end
for _, image in ipairs(aside) do redis.call('HSET', images, image.hash, image.url) end
local base = base_of(incarnation, tonumber(at), tonumber(now), tonumber(keep))
if base then redis.call('HSET', thread, 'base', base) end
local function set_revision(protocol, seen, final)
  if last[protocol] == 0 then return end
  redis.call('HSET', thread, 'rev:' .. protocol, last[protocol], 'seen:' .. protocol, seen, 'final:' .. protocol, final)
end
for protocol in pairs(last) do set_revision(protocol, version, '1') end
for _, revision in ipairs(known) do set_revision(revision.protocol, revision.seen, revision.final) end
for _, comment in ipairs(said) do
  redis.call('HSET', comments, comment.id, comment.json)
  redis.call('ZADD', sample, comment.rank, comment.id)
  if comment.json ~= '{}' then
    redis.call('ZADD', authors, 0, by_author(comment.author, comment.rank, comment.id))
  end
end
local held = read_bytes(thread, nil, redis.call('HSTRLEN', thread, 'post'))
held.judges = #asked
-- What a story takes of each post of it (src/judging/threads/story.ts).
local STORY_BYTES = 300
local story, ahead = unpack(redis.call('HMGET', thread, 'story', 'reachAhead'))
if story then
  held.images = held.images + STORY_BYTES
  join_story(story_key(thread, story), ahead)
end
write_bytes(thread, member, held)
local outcomes = {}
for index, row in ipairs(asked) do outcomes[index] = ask_again(thread, row.protocol, row.revision, row.reads_comments) end
due_now(thread, due, member, now)
return outcomes
