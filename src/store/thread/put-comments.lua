-- Writes comments and deletions of comments to their thread; returns an outcome for each, in order: `over-share`, with nothing done,
-- for one with which its tenant would hold more than its share. With nothing done at all it
-- returns `origins` if the post is missing and the comments' origins are not given, and `suspended` if the data are not those that
-- the caller knows.
--@include due-now
--@include place
--@include authors
--@include revisions
--@include fencing
--@include thread-bytes
--@key thread
--@key comments
--@key sample
--@key due
--@key orphans
--@key authors
--@key images
--@key revisions
--@key incarnation
--@key watched
--@key decided
--@arg member
--@arg now               wall time, ms
--@arg final_age         ms after the post in which comments belong to its thread
--@arg max_comments      most comments that the thread keeps
--@arg max_per_author    most of one author; empty is no limit
--@arg max_unnamed       most that name no author; empty is no limit
--@arg reopen            1 if a comment after the final snapshot makes the thread due
--@arg orphan_wait       how long comments wait for their post, stream time in ms
--@arg counts[]          count checkpoints, ascending
--@arg sampling_version  names the key under which ranks are drawn
--@arg rank_end          above every rank
--@arg tombstones        deletions remembered for each comment that the thread may keep
--@arg most_origins      origins kept, for each of these, while the post is missing
--@arg most              bytes that its tenant may hold; empty: no limit
--@arg with_origins      1 if the changes have their origins
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg changes[].kind    said or deleted
--@arg changes[].id
--@arg changes[].created_at
--@arg changes[].reached how far the stream had come when it was read, ms of event time; 0 if unknown
--@arg changes[].rank    sampling rank; the smallest are kept
--@arg changes[].json    the comment; it begins with its author's hash
--@arg changes[].origin  JSON: where it came from, kept while its post is missing; empty without `with_origins`
--@arg changes[].place   where the message stands in its topic; empty if unknown
--@arg changes[].author  hash; empty if it names none
if not has_reached(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
local TOMBSTONE = '{}'
-- Deleted comments have sample scores above every rank, so that they take no place from kept ones. Those that were never seen
-- rank after the others, so that they can't push these out and let a deleted comment return.
local DELETED = tonumber(rank_end)
local fields = { 'createdAt', 'accepted', 'countStage', 'final', 'deleted', 'unrouted', 'postOnly', 'commentPlace', 'expired',
  'overAuthor', 'sampledUnder', 'held' }
local stored = redis.call('HMGET', thread, unpack(fields))
local at = stored[1] and tonumber(stored[1])
local n, stage = tonumber(stored[2] or '0'), tonumber(stored[3] or '0')
local final, gone, unread, places = stored[4], stored[5], stored[6] or stored[7], read_places(stored[8])
local expired = stored[9] or not (at or gone or unread) and is_forgotten(thread, revisions, decided)
-- A run that has read its messages, to judge it again, lacks these.
if expired then redis.call('DEL', watched) end
if with_origins == '0' and not (at or gone or unread or expired) then return 'origins' end
local over_author_before, known_version = tonumber(stored[10] or '0'), stored[11]
-- What this batch did: `again` if a comment changed after the final snapshot, `retracted` if one of that snapshot was deleted.
local changed, again, retracted, deletions = false, false, false, false
local late, over_author = 0, 0
local outcomes = {}
local account = account_of(thread, member)
local held = { post = 0, said = 0, origins = 0, images = 0, judges = 0 }
if at or stored[2] then held = read_bytes(thread, stored[12], at and redis.call('HSTRLEN', thread, 'post') or 0) end
local size_before = size_of(held, member)
-- By id, what the thread has of the changes' comments; false if nothing.
local known = {}

-- Comments are read, and new ones written, so many at once: a command costs more than what it does. Whatever else changes the
-- thread's comments calls `write_new` first.
local MOST_TOGETHER = 1000
local new_comments, new_ranks, new_authors = {}, {}, {}
-- By author, how many comments are kept, with those that are still to be written.
local kept_of = {}
local function append(list, first, second)
  list[#list + 1] = first
  list[#list + 1] = second
end
local function write_new()
  if #new_comments > 0 then
    redis.call('HSET', comments, unpack(new_comments))
    redis.call('ZADD', sample, unpack(new_ranks))
  end
  if #new_authors > 0 then redis.call('ZADD', authors, unpack(new_authors)) end
  new_comments, new_ranks, new_authors, kept_of = {}, {}, {}, {}
end

-- A comment that was ranked under another key keeps its rank: it is as random as the new ones.
local function note_version()
  if known_version == sampling_version then return end
  if n > 0 then redis.call('HSET', thread, 'rekeyed', 1) end
  redis.call('HSET', thread, 'sampledUnder', sampling_version)
  known_version = sampling_version
end

local function set_origin(id, origin)
  local before = redis.call('HSTRLEN', orphans, id)
  if before > 0 then held.origins = held.origins - #id - before end
  if origin then
    held.origins = held.origins + #id + #origin
    redis.call('HSET', orphans, id, origin)
  else redis.call('HDEL', orphans, id) end
end
-- A comment that is not kept leaves its origin while its post is missing: if the post never comes, it gets a dead letter too.
-- Beyond a number of origins the last, under no comment's id, stands for all that follow.
local REST = ''
local function keep_origin(id, origin)
  local without_raw = string.gsub(origin, '"raw":"[^"]*"', '"raw":""')
  set_origin(id, without_raw)
  if redis.call('HLEN', orphans) <= most_origins * max_comments then return end
  set_origin(id)
  local before = redis.call('HGET', orphans, REST)
  local count = (before and tonumber(string.match(before, '"standsFor":(%d+)')) or 0) + 1
  set_origin(REST, string.sub(without_raw, 1, -2) .. ',"standsFor":' .. string.format('%d', count) .. '}')
end
local function drop(id)
  known[id] = false
  local json = redis.call('HGET', comments, id)
  if json then held.said = held.said - comment_bytes(id, json) end
  redis.call('HDEL', comments, id)
  local origin = not at and redis.call('HGET', orphans, id)
  if origin then keep_origin(id, origin) else set_origin(id) end
end

-- Whether the tenant may hold so much more by a comment; what another gives up for it is not reckoned with.
local function may_grow(id, json, old, origin)
  if most == '' then return true end
  local more = comment_bytes(id, json) - (old and comment_bytes(id, old) or 0)
  local grown = { post = held.post, said = held.said + more, origins = held.origins, images = held.images, judges = held.judges }
  if origin and not at then grown.origins = grown.origins + #id + #origin end
  return may_hold(account, member, size_of(grown, member), most, now)
end

-- The first comment or deletion sets how long the thread waits for its post; one that was read long after its time waits as long.
local function wait_for_post(change)
  if at then return end
  due_if_not_yet(due, member, math.max(tonumber(change.created_at), tonumber(change.reached)) + tonumber(orphan_wait))
end

-- Most comments of this author; empty is no limit.
local function most_of(author) return author == '' and max_unnamed or max_per_author end

-- Of one author, and of all that name none, the comments with the smallest ranks are kept, in whatever order they come.
local function has_room(change)
  local author, rank, id = change.author, change.rank, change.id
  local most = most_of(author)
  if most == '' then return true end
  local from, to = range_of(author)
  local kept = kept_of[author] or redis.call('ZLEXCOUNT', authors, from, to)
  if kept >= tonumber(most) then
    over_author = over_author + 1
    write_new()
    local largest = redis.call('ZREVRANGEBYLEX', authors, to, from, 'LIMIT', 0, 1)[1]
    if by_author(author, rank, id) > largest then return false end
    local other = string.sub(largest, #author + 18)
    redis.call('ZREM', authors, largest)
    redis.call('ZREM', sample, other)
    drop(other)
    kept = kept - 1
  end
  kept_of[author] = kept + 1
  append(new_authors, 0, by_author(author, rank, id))
  return true
end

local function delete(change, old)
  local id = change.id
  if old == TOMBSTONE then return 'duplicate' end
  -- Of a post that has not come nothing is deleted: beyond the share it is not remembered.
  if not (old or at) and not may_grow(id, TOMBSTONE) then return 'late' end
  write_new()
  drop_from_author(authors, sample, id, old)
  known[id] = TOMBSTONE
  redis.call('HSET', comments, id, TOMBSTONE)
  held.said = held.said + comment_bytes(id, TOMBSTONE) - (old and comment_bytes(id, old) or 0)
  redis.call('ZADD', sample, string.format('%.0f', change.rank + (old and DELETED or 2 * DELETED)), id)
  set_origin(id)
  changed, deletions = true, true
  if old then n = n - 1 end
  retracted = retracted or (final and old)
  wait_for_post(change)
  return 'deleted'
end

local function edit(change, old)
  local id, author = change.id, change.author
  if not may_grow(id, change.json, old, change.origin) then return 'over-share' end
  changed = true
  write_new()
  drop_from_author(authors, sample, id, old)
  if most_of(author) ~= '' then
    local rank = redis.call('ZSCORE', sample, id) or change.rank
    redis.call('ZADD', authors, 0, by_author(author, rank, id))
  end
  known[id] = change.json
  redis.call('HSET', comments, id, change.json)
  held.said = held.said + #change.json - #old
  -- If the post never comes, the dead letter is the edit's.
  if not at then set_origin(id, change.origin) end
  again = again or final
  return 'updated'
end

local function add(change)
  local id = change.id
  if not may_grow(id, change.json, nil, change.origin) then return 'over-share' end
  changed = true
  note_version()
  n = n + 1
  local kept = has_room(change)
  if kept then
    known[id] = change.json
    append(new_comments, id, change.json)
    append(new_ranks, change.rank, id)
    held.said = held.said + comment_bytes(id, change.json)
    if #new_comments >= MOST_TOGETHER then write_new() end
  end
  if not at then
    if kept then set_origin(id, change.origin) else keep_origin(id, change.origin) end
    wait_for_post(change)
    return 'orphan'
  end
  if final then
    again = true
    return 'late'
  end
  return 'judged'
end

local function take(change, was_before)
  if gone then return 'deleted' end
  if unread then return 'unrouted' end
  if was_before then return 'duplicate' end
  if expired then return change.kind == 'deleted' and 'deleted' or 'late' end
  local old = known[change.id]
  if change.kind == 'deleted' then return delete(change, old) end
  if old == change.json then return 'duplicate' end
  if old == TOMBSTONE then return 'deleted' end
  if at and tonumber(change.created_at) > at + tonumber(final_age) then
    -- An edit of a kept comment is not another comment.
    if not old then late = late + 1 end
    return 'late'
  end
  if old then return edit(change, old) end
  return add(change)
end

for from = 1, #changes, MOST_TOGETHER do
  local ids = {}
  for index = from, math.min(from + MOST_TOGETHER - 1, #changes) do ids[#ids + 1] = changes[index].id end
  for index, json in ipairs(redis.call('HMGET', comments, unpack(ids))) do known[ids[index]] = json end
end
-- Behind one that was refused the place stays: read again, it is no duplicate.
local refused = false
for index, change in ipairs(changes) do
  local place = read_place(change.place)
  local was_before = was_taken(places, place)
  outcomes[index] = take(change, was_before)
  refused = refused or outcomes[index] == 'over-share'
  if place and not (was_before or refused) then note_taken(places, place) end
end
write_new()
if late > 0 then redis.call('HINCRBY', thread, 'late', late) end
if over_author > 0 then redis.call('HINCRBY', thread, 'overAuthor', over_author) end
if #places > 0 and (changed or late > 0) then redis.call('HSET', thread, 'commentPlace', write_places(places)) end
if not changed then return outcomes end

local function keep_first(most, from, to)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', sample, from, to, 'LIMIT', most, -1)) do
    drop_from_author(authors, sample, id, redis.call('HGET', comments, id))
    drop(id)
    redis.call('ZREM', sample, id)
  end
end
keep_first(max_comments, '-inf', '(' .. string.format('%.0f', DELETED))
keep_first(tombstones * max_comments, string.format('%.0f', DELETED), '+inf')
redis.call('HSET', thread, 'accepted', n, 'held', counted_bytes(held))
redis.call('HINCRBY', thread, 'version', 1)
change_kept(account, member, size_before, size_of(held, member))
if deletions then redis.call('HINCRBY', thread, 'deletions', 1) end
-- A verdict that used a deleted comment is superseded, whatever the settings say about late comments.
if retracted or (again and reopen == '1') then
  due_now(thread, due, member, now)
elseif at and not final then
  pass_counts(thread, due, member, now, n - over_author - over_author_before, stage, counts)
end
local left = redis.call('PTTL', thread)
if left > 0 then
  for _, key in ipairs({ comments, sample, authors, images }) do redis.call('PEXPIRE', key, left) end
  end_kept(account, member, now, left)
end
return outcomes
