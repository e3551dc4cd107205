import type { Redis } from 'ioredis'
import { RANK_LIMIT } from '../../domain/sampling-rank.ts'
import { TOMBSTONES } from '../../ports/threads.ts'
import { type Lua, luaOn } from './lua.ts'

/**
 * The atomic steps, in Lua. Each is a function of its keys and arguments alone and may be run again after a lost reply.
 * A thread's hash holds: post, at (createdAt, ms), pv (changes of the post), n (comments accepted and not deleted), late
 * (comments after the window), crowd (comments that their authors' share had no room for), draw (the name of the one by which
 * comments are ranked), redrawn (there was another before), stage (count checkpoints passed), v (changes), next (the next age
 * checkpoint), since (wall ms at which what is due became due), asks (how often it became due at once) and answered (how often
 * that was answered), final, gone, unrouted (nobody judges it), solo (nobody reads its comments), expired (its post came again
 * after the thread had been forgotten), base (what its revisions are counted from, if not 0), dels (how often comments were
 * deleted), and by protocol rev:, open:, seen:, last: (the revision was a final one), again:, held: (the protocol is paused),
 * absent: (the v that it is to look at when it is on again), carry:. Redis does not take back what a script has written when it
 * fails: nothing that can fail stands behind the first write.
 */

/**
 * When threads are due: a sorted set by tenant (due:TENANT), and one of the tenants by what is earliest in theirs
 * (due/tenants). What becomes due at once stands below zero, in the order in which it did. The key `due` itself is the one
 * set of all tenants that earlier versions keep; what they put there goes over to the tenants' when somebody looks.
 */
const DUES = `
local function dues_of(due, member)
  local tenant = string.match(member, '^[^/:]*')
  return due .. ':' .. tenant, tenant
end
local function note_earliest(due, tenant)
  local earliest = redis.call('ZRANGE', due .. ':' .. tenant, 0, 0, 'WITHSCORES')[2]
  if earliest then redis.call('ZADD', due .. '/tenants', earliest, tenant)
  else redis.call('ZREM', due .. '/tenants', tenant) end
end
local function brought_forward(due, tenant, at) redis.call('ZADD', due .. '/tenants', 'LT', at, tenant) end
local function set_due(due, member, at)
  local dues, tenant = dues_of(due, member)
  redis.call('ZREM', due, member)
  if redis.call('ZADD', dues, at, member) == 1 then brought_forward(due, tenant, at)
  else note_earliest(due, tenant) end
end
local function due_by(due, member, at)
  local dues, tenant = dues_of(due, member)
  redis.call('ZADD', dues, 'LT', at, member)
  brought_forward(due, tenant, at)
end
local function due_if_not_yet(due, member, at)
  local dues, tenant = dues_of(due, member)
  if redis.call('ZADD', dues, 'NX', at, member) == 1 then brought_forward(due, tenant, at) end
end
local function at_once(now) return tonumber(now) - 1e15 end
local function not_due(due, member)
  local dues, tenant = dues_of(due, member)
  redis.call('ZREM', due, member)
  if redis.call('ZREM', dues, member) == 1 then note_earliest(due, tenant) end
end
local function is_due(due, member)
  return redis.call('ZSCORE', dues_of(due, member), member) or redis.call('ZSCORE', due, member)
end
`

const DUE_NOW = `${DUES}
local function due_now(thread, due, member, now)
  due_by(due, member, at_once(now))
  redis.call('HSETNX', thread, 'since', now)
  redis.call('HINCRBY', thread, 'asks', 1)
  redis.call('PERSIST', thread)
end
local function pass_counts(thread, due, member, now, n, stage, counts)
  local passed = stage
  local index = 0
  for count in string.gmatch(counts, '%d+') do
    index = index + 1
    if index > passed and n >= tonumber(count) then passed = index end
  end
  if passed > stage then
    redis.call('HSET', thread, 'stage', passed)
    due_now(thread, due, member, now)
  end
end
`

/**
 * How many cases each tenant has open: a hash (open/tenants) with the sum under '/'. It lives a minute and is then counted
 * anew, as it is when the sum is wrong: a worker of an earlier version ends cases without counting them off.
 */
const OPEN_COUNTS = `
local function tenant_of(id) return string.match(id, '^[^~@]*@([^~]*)~') or 'default' end
local function count_open(open, member, by)
  local counts = open .. '/tenants'
  if redis.call('EXISTS', counts) == 0 then return end
  redis.call('HINCRBY', counts, string.match(member, '^[^/:]*'), by)
  redis.call('HINCRBY', counts, '/', by)
end
local function open_counts(open, total, tenants)
  local counts = open .. '/tenants'
  if tonumber(redis.call('HGET', counts, '/') or '-1') ~= total then
    local sums = { ['/'] = total }
    for _, id in ipairs(redis.call('ZRANGE', open, 0, -1)) do
      local tenant = tenant_of(id)
      sums[tenant] = (sums[tenant] or 0) + 1
    end
    redis.call('DEL', counts)
    for tenant, sum in pairs(sums) do redis.call('HSET', counts, tenant, sum) end
    redis.call('PEXPIRE', counts, 60000)
  end
  return redis.call('HMGET', counts, unpack(tenants))
end
`

/** Whether a case of the thread is open, or a paused protocol owes it one. */
const WAITS = `
local function waits(thread)
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if string.match(field, '^open:') or string.match(field, '^held:') then return true end
  end
  return false
end
`

/**
 * Whether a message at this place, "PARTITION OFFSET TIMESTAMP", was taken before the one at `last` was. A topic that was made
 * anew begins with lower offsets and later times.
 */
const TAKEN = `
local function taken(last, place)
  if not last or place == '' then return false end
  local pattern = '^(%d+) (%d+) (%-?%d+)$'
  local last_part, last_offset, last_time = string.match(last, pattern)
  local part, offset, time = string.match(place, pattern)
  return part == last_part and tonumber(offset) <= tonumber(last_offset) and tonumber(time) <= tonumber(last_time)
end
`

/**
 * A thread's comments by author: a sorted set of equal scores, whose members AUTHOR:RANK:ID (AUTHOR a hash of 16 characters,
 * RANK of 15 digits) stand in the order of their ranks.
 */
const AUTHORS = `
local function by_author(author, rank, id) return author .. ':' .. string.format('%015.0f', rank) .. ':' .. id end
local function ranks_of(author) return '[' .. author .. ':', '(' .. author .. ';' end
local function drop_from_author(authors, sample, id, json)
  local author = json and string.match(json, '^{"by":"([%w_-]+)"')
  local rank = author and redis.call('ZSCORE', sample, id)
  if rank then redis.call('ZREM', authors, by_author(author, rank, id)) end
end
`

/**
 * A thread that comes again after it was forgotten goes on counting: no revision's number is given twice. A recovery brings the
 * numbers back before the messages: then nothing was forgotten that is not read again.
 */
const RECALL = `
local function is_forgotten(thread, revisions)
  for _, protocol in ipairs(redis.call('HKEYS', revisions)) do
    if redis.call('HEXISTS', thread, 'rev:' .. protocol) == 0 then return true end
  end
  return false
end
local function recall(thread, revisions)
  local known = redis.call('HGETALL', revisions)
  for i = 1, #known, 2 do
    local protocol = known[i]
    if redis.call('HSETNX', thread, 'rev:' .. protocol, known[i + 1]) == 1 then
      redis.call('HSET', thread, 'seen:' .. protocol, -1, 'last:' .. protocol, 1)
    end
  end
end
`

/**
 * Where nobody can know whether a post had revisions, since what was known of it would be forgotten by now, they count from
 * the time, in seconds: it only rises, and by more than a thread can have revisions.
 */
const BASE = `
local function base_of(lineage, at, now, keep)
  local held = redis.call('HMGET', lineage, 'id', 'lost', 'since')
  local forgotten = now - keep
  if (held[1] or held[2] == 'recovering') and at < forgotten and tonumber(held[3] or '0') < forgotten then return math.floor(now / 1000) end
end
`

const PUT_POST = `${DUE_NOW}${RECALL}${BASE}${TAKEN}${AUTHORS}
local thread, due, orphans, comments, sample, revisions, authors, lineage = unpack(KEYS)
local member, post, at, first_due, now, window, counts, threaded, judged_at_once, keep, place = unpack(ARGV)
local held = redis.call('HMGET', thread, 'post', 'n', 'stage', 'gone', 'postPlace', 'crowd')
if held[4] then return 'deleted' end
if held[1] == post or taken(held[5], place) then return 'duplicate' end
local expired = not held[1] and is_forgotten(thread, revisions)
local late = {}
if not held[1] and threaded == '1' then
  local said = redis.call('HGETALL', comments)
  for i = 1, #said, 2 do
    -- Inside a text its quotes would be escaped.
    local created = string.match(said[i + 1], '"createdAt":(%-?%d+)')
    if created and (expired or tonumber(created) > tonumber(at) + tonumber(window)) then
      late[#late + 1] = { said[i], said[i + 1] }
    end
  end
end
if threaded == '0' then
  redis.call('DEL', orphans, comments, sample, authors)
  redis.call('HDEL', thread, 'n', 'stage', 'late', 'crowd', 'draw', 'redrawn')
end
if threaded == '0' and judged_at_once == '0' and not held[1] then
  not_due(due, member)
  redis.call('HSET', thread, 'unrouted', 1)
  redis.call('PEXPIRE', thread, keep)
  return 'unrouted'
end
redis.call('HDEL', thread, 'unrouted')
redis.call('PERSIST', thread)
if not held[1] then
  recall(thread, revisions)
  local base = base_of(lineage, tonumber(at), tonumber(now), tonumber(keep))
  if base then redis.call('HSETNX', thread, 'base', base) end
  if expired then redis.call('HSET', thread, 'expired', 1) end
end
redis.call('HSET', thread, 'post', post, 'at', at, 'postPlace', place)
redis.call('HINCRBY', thread, 'v', 1)
redis.call('HINCRBY', thread, 'pv', 1)
if threaded == '0' then redis.call('HSET', thread, 'solo', 1, 'n', 0, 'stage', 0)
elseif redis.call('HDEL', thread, 'solo') == 1 then
  redis.call('HDEL', thread, 'final')
  redis.call('HSET', thread, 'next', first_due)
end
if held[1] then
  due_now(thread, due, member, now)
  for _, key in ipairs({ comments, sample, authors }) do redis.call('PERSIST', key) end
  return 'updated'
end
if threaded == '1' then redis.call('HSET', thread, 'next', first_due) end
if judged_at_once == '1' then
  set_due(due, member, at_once(now))
  redis.call('HSETNX', thread, 'since', now)
else set_due(due, member, first_due) end
redis.call('DEL', orphans)
local n = threaded == '1' and tonumber(held[2] or '0') or 0
for _, comment in ipairs(late) do
  local id, json = unpack(comment)
  drop_from_author(authors, sample, id, json)
  redis.call('HDEL', comments, id)
  redis.call('ZREM', sample, id)
  redis.call('HINCRBY', thread, 'late', 1)
  n = n - 1
end
redis.call('HSET', thread, 'n', n)
if threaded == '1' then
  pass_counts(thread, due, member, now, n - tonumber(held[6] or '0'), tonumber(held[3] or '0'), counts)
end
return expired and 'updated' or 'judged'
`

const PUT_COMMENTS = `${DUE_NOW}${TAKEN}${AUTHORS}${RECALL}
local thread, comments, sample, due, orphans, authors, revisions = unpack(KEYS)
local member, now, window, cap, per_author, reopen, orphan_wait, counts, draw = unpack(ARGV, 1, 9)
local TOMBSTONE = '{}'
-- Above every rank: the deleted stand in the sample behind all others, so that they take no place from them, and those that
-- nobody saw behind the deleted, so that they let none of these come back.
local DEAD = ${RANK_LIMIT}
local fields = { 'at', 'n', 'stage', 'final', 'gone', 'unrouted', 'solo', 'commentPlace', 'expired', 'crowd', 'draw' }
local held = redis.call('HMGET', thread, unpack(fields))
local at = held[1] and tonumber(held[1])
local n, stage = tonumber(held[2] or '0'), tonumber(held[3] or '0')
local final, gone, unread, last = held[4], held[5], held[6] or held[7], held[8]
local expired = held[9] or not (at or gone or unread) and is_forgotten(thread, revisions)
local outcomes, changed, again, retracted, deletions = {}, false, false, false, false
local late, crowd, drawn = 0, 0, held[11]
-- Who came under another draw keeps its rank: it was drawn by chance as well.
local function note_draw()
  if drawn == draw then return end
  if n > 0 then redis.call('HSET', thread, 'redrawn', 1) end
  redis.call('HSET', thread, 'draw', draw)
  drawn = draw
end
-- Of a comment that is left out while its post is missing, where it came from stays: should no post come, it was lost as well.
local function wait_unseen(id, origin) redis.call('HSET', orphans, id, (string.gsub(origin, '"raw":"[^"]*"', '"raw":""'))) end
local function leave_out(id)
  redis.call('HDEL', comments, id)
  local origin = not at and redis.call('HGET', orphans, id)
  if origin then wait_unseen(id, origin) else redis.call('HDEL', orphans, id) end
end
-- Of one author the comments with the smallest ranks, whatever their order.
local function has_room(author, rank, id)
  if per_author == '' or author == '' then return true end
  local from, to = ranks_of(author)
  if redis.call('ZLEXCOUNT', authors, from, to) >= tonumber(per_author) then
    crowd = crowd + 1
    local largest = redis.call('ZREVRANGEBYLEX', authors, to, from, 'LIMIT', 0, 1)[1]
    if by_author(author, rank, id) > largest then return false end
    local other = string.sub(largest, #author + 18)
    redis.call('ZREM', authors, largest)
    redis.call('ZREM', sample, other)
    leave_out(other)
  end
  redis.call('ZADD', authors, 0, by_author(author, rank, id))
  return true
end
for i = 10, #ARGV, 8 do
  local kind, id, created, rank, json, origin, place, author = unpack(ARGV, i, i + 7)
  local outcome
  local old = redis.call('HGET', comments, id)
  if gone then outcome = 'deleted'
  elseif unread then outcome = 'unrouted'
  elseif taken(last, place) then outcome = 'duplicate'
  elseif expired then outcome = kind == 'deleted' and 'deleted' or 'late'
  elseif kind == 'deleted' then
    if old == TOMBSTONE then outcome = 'duplicate'
    else
      drop_from_author(authors, sample, id, old)
      redis.call('HSET', comments, id, TOMBSTONE)
      redis.call('ZADD', sample, string.format('%.0f', rank + (old and DEAD or 2 * DEAD)), id)
      redis.call('HDEL', orphans, id)
      outcome, changed, deletions = 'deleted', true, true
      if old then n = n - 1 end
      retracted = retracted or (final and old)
      if not at then due_if_not_yet(due, member, tonumber(created) + tonumber(orphan_wait)) end
    end
  elseif old == json then outcome = 'duplicate'
  elseif old == TOMBSTONE then outcome = 'deleted'
  elseif at and tonumber(created) > at + tonumber(window) then
    outcome = 'late'
    -- An edit of a comment that is kept is no further comment.
    if not old then late = late + 1 end
  else
    changed = true
    if old then
      drop_from_author(authors, sample, id, old)
      if author ~= '' then redis.call('ZADD', authors, 0, by_author(author, redis.call('ZSCORE', sample, id) or rank, id)) end
      redis.call('HSET', comments, id, json)
      outcome = 'updated'
      again = again or final
    else
      note_draw()
      n = n + 1
      local kept = has_room(author, rank, id)
      if kept then
        redis.call('HSET', comments, id, json)
        redis.call('ZADD', sample, rank, id)
      end
      if not at then
        outcome = 'orphan'
        if kept then redis.call('HSET', orphans, id, origin) else wait_unseen(id, origin) end
        due_if_not_yet(due, member, tonumber(created) + tonumber(orphan_wait))
      elseif final then
        outcome = 'late'
        again = true
      else outcome = 'judged' end
    end
  end
  if place ~= '' and not taken(last, place) then last = place end
  outcomes[#outcomes + 1] = outcome
end
if late > 0 then redis.call('HINCRBY', thread, 'late', late) end
if crowd > 0 then redis.call('HINCRBY', thread, 'crowd', crowd) end
if last and (changed or late > 0) then redis.call('HSET', thread, 'commentPlace', last) end
if changed then
  local function keep_first(most, from, to)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', sample, from, to, 'LIMIT', most, -1)) do
      drop_from_author(authors, sample, id, redis.call('HGET', comments, id))
      leave_out(id)
      redis.call('ZREM', sample, id)
    end
  end
  keep_first(cap, '-inf', '(' .. string.format('%.0f', DEAD))
  keep_first(${TOMBSTONES} * cap, string.format('%.0f', DEAD), '+inf')
  redis.call('HSET', thread, 'n', n)
  redis.call('HINCRBY', thread, 'v', 1)
  if deletions then redis.call('HINCRBY', thread, 'dels', 1) end
  -- A verdict that rests on a deleted comment is superseded, whatever becomes of late ones.
  if retracted or (again and reopen == '1') then
    due_now(thread, due, member, now)
    for _, key in ipairs({ comments, sample, authors }) do redis.call('PERSIST', key) end
  elseif at and not final then
    pass_counts(thread, due, member, now, n - crowd - tonumber(held[10] or '0'), stage, counts)
  end
  local left = redis.call('PTTL', thread)
  if left > 0 then for _, key in ipairs({ comments, sample, authors }) do redis.call('PEXPIRE', key, left) end end
end
return outcomes
`

/** Some of the comments whose post never came; with the last of them the thread goes, and leaves its revisions' numbers. */
const EXPIRE_ORPHANS = `${DUES}${AUTHORS}
local thread, comments, sample, due, orphans, outbox, authors, revisions = unpack(KEYS)
local member, keep = ARGV[1], ARGV[2]
local held = redis.call('HMGET', thread, 'post', 'gone', 'unrouted')
if held[1] then return -1 end
if held[2] or held[3] then
  not_due(due, member)
  return -1
end
local expired = 0
for i = 3, #ARGV, 3 do
  local id, key, letter = unpack(ARGV, i, i + 2)
  if redis.call('HEXISTS', orphans, id) == 1 then
    redis.call('XADD', outbox, '*', 'kind', 'dead-letter', 'key', key, 'letter', letter)
    redis.call('HDEL', orphans, id)
    drop_from_author(authors, sample, id, redis.call('HGET', comments, id))
    redis.call('HDEL', comments, id)
    redis.call('ZREM', sample, id)
    redis.call('HINCRBY', thread, 'n', -1)
    expired = expired + 1
  end
end
if redis.call('HLEN', orphans) > 0 then return expired end
local fields = redis.call('HGETALL', thread)
for i = 1, #fields, 2 do
  local protocol = string.match(fields[i], '^rev:(.+)$')
  if protocol and tonumber(fields[i + 1]) > tonumber(redis.call('HGET', revisions, protocol) or '0') then
    redis.call('HSET', revisions, protocol, fields[i + 1])
    redis.call('PEXPIRE', revisions, keep)
  end
end
redis.call('DEL', thread, comments, sample, orphans, authors)
not_due(due, member)
return expired
`

/** After a start of Redis no case is opened or concluded for so long, in ms: each process has had its say by then. */
const QUIET_MS = 3_000

/**
 * What a server knows from its start to its end is a run of it. A new run notes how far the data had come with which it began
 * (end:RUN of the one before): whoever was told a later beat in an earlier run knows of something that is lost, however many
 * beats others have had since.
 */
const RUNS = `
local function redis_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function run_of(lineage)
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)')
  local held = redis.call('HMGET', lineage, 'run', 'beat')
  -- Where nobody may ask, all is one run.
  if not run then return held[1] or '' end
  if held[1] == run then return run end
  if held[1] then
    redis.call('HSET', lineage, 'end:' .. held[1], held[2] or 0, 'quiet', string.format('%.0f', redis_now() + ${QUIET_MS}))
  end
  redis.call('HSET', lineage, 'run', run)
  return run
end
local function is_quiet(lineage)
  local left = tonumber(redis.call('HGET', lineage, 'quiet') or '0') - redis_now()
  -- A clock that was set back makes it no longer.
  return left > 0 and left <= ${QUIET_MS}
end
local function knows_more(lineage, beat, run)
  local now = run_of(lineage)
  local came_to = (run == '' or run == now) and redis.call('HGET', lineage, 'beat')
    or redis.call('HGET', lineage, 'end:' .. run)
  return not came_to or tonumber(beat) > tonumber(came_to)
end
`

/**
 * Whether these are still the data that the caller knows: the lineage has its id, and had come to the beat that it was told.
 * Who keeps no lineage, under an empty id, knows nothing better.
 */
const SAME_DATA = `${RUNS}
local function same_data(lineage, id, beat, run)
  if id == '' then return true end
  if redis.call('HGET', lineage, 'id') ~= id or knows_more(lineage, beat, run) then return false end
  return not is_quiet(lineage)
end
`

const OPEN = `${DUES}${OPEN_COUNTS}${WAITS}${SAME_DATA}
local thread, due, open, case_prefix, held_prefix, comments, sample, authors, paused, lineage = unpack(KEYS)
local member, version, asks, next_due, final, now, keep, waiting, held, known, beat, run, deletions, absent =
  unpack(ARGV, 1, 14)
local opened = {}
if not same_data(lineage, known, beat, run) then return opened end
if redis.call('HEXISTS', thread, 'gone') == 1 or redis.call('HEXISTS', thread, 'post') == 0 then return opened end
-- No case opens on a comment that has been deleted since it was read.
if (redis.call('HGET', thread, 'dels') or '0') ~= deletions then return opened end
-- Nobody looks at the thread again after this: what came since it was read would be seen by none.
if next_due == '' and redis.call('HGET', thread, 'v') ~= version then return opened end
local missed = false
for protocol in string.gmatch(waiting, '%S+') do
  if redis.call('HEXISTS', thread, 'open:' .. protocol) == 1 then redis.call('HSET', thread, 'again:' .. protocol, 1)
  else missed = true end
end
for protocol in string.gmatch(absent, '%S+') do
  if redis.call('HEXISTS', thread, 'open:' .. protocol) == 1 then redis.call('HSET', thread, 'again:' .. protocol, 1)
  elseif redis.call('HGET', thread, 'absent:' .. protocol) ~= version then
    -- Once for each change: two kinds of processes would else wake each other for ever.
    redis.call('HSET', thread, 'absent:' .. protocol, version)
    local lasts = redis.call('PTTL', held_prefix .. protocol) == -1
    redis.call('SADD', held_prefix .. protocol, member)
    if not lasts then redis.call('PEXPIRE', held_prefix .. protocol, keep) end
  end
end
for protocol in string.gmatch(held, '%S+') do
  if redis.call('SISMEMBER', paused, protocol) == 1 then
    redis.call('SADD', held_prefix .. protocol, member)
    redis.call('PERSIST', held_prefix .. protocol)
    redis.call('HSET', thread, 'held:' .. protocol, 1)
  else missed = true end
end
for i = 15, #ARGV, 6 do
  local protocol, id, revision, seen, last, record = unpack(ARGV, i, i + 5)
  if redis.call('HEXISTS', thread, 'open:' .. protocol) == 1 then
    redis.call('HSET', thread, 'again:' .. protocol, 1)
    final = '0'
  elseif tonumber(redis.call('HGET', thread, 'rev:' .. protocol) or redis.call('HGET', thread, 'base') or '0') ==
    tonumber(revision) - 1 then
    redis.call('HSET', thread, 'rev:' .. protocol, revision, 'open:' .. protocol, id, 'seen:' .. protocol, seen,
      'last:' .. protocol, last)
    redis.call('HSET', case_prefix .. id, 'record', record, 'epoch', 0, 'run', 0, 'opened', now, 'status', 'open')
    redis.call('ZADD', open, now, id)
    opened[#opened + 1] = id
  end
end
if #opened > 0 then count_open(open, member, #opened) end
if not missed and (redis.call('HGET', thread, 'asks') or '0') == asks then
  redis.call('HDEL', thread, 'since')
  redis.call('HSET', thread, 'answered', asks)
  if next_due == '' then
    not_due(due, member)
    redis.call('HDEL', thread, 'next')
  else
    set_due(due, member, next_due)
    redis.call('HSET', thread, 'next', next_due)
  end
end
if final == '1' then
  redis.call('HSET', thread, 'final', 1)
  local busy = is_due(due, member) or waits(thread)
  if not busy then
    for _, key in ipairs({ thread, comments, sample, authors }) do redis.call('PEXPIRE', key, keep) end
  end
end
return opened
`

/**
 * Whose turn it is among what is due: of the tenants, again and again, the one that has the fewest cases open, each thread
 * taken here counted as one; of those that have as many, the one whose earliest is earliest. Changes nothing but where
 * threads that an earlier version made due stand, so many at a time that Redis is not held up.
 */
const TAKE_TURNS = `${DUES}${OPEN_COUNTS}
local due, open = unpack(KEYS)
local till, limit, most, share = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local moved = redis.call('ZPOPMIN', due, 500)
for i = 1, #moved, 2 do due_by(due, moved[i], moved[i + 1]) end
local total = redis.call('ZCARD', open)
local left = math.ceil(most + most / share) - total
local names = redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', till, 'LIMIT', 0, 1000)
if #names == 0 then return {} end
local counts = open_counts(open, total, names)
local tenants = {}
for i, name in ipairs(names) do
  tenants[i] = { dues = due .. ':' .. name, open = tonumber(counts[i] or '0'), rank = i, taken = 0 }
end
table.sort(tenants, function(a, b)
  if a.open ~= b.open then return a.open < b.open end
  return a.rank < b.rank
end)
local considered = math.min(#tenants, limit)
local at_a_time = math.ceil(limit / considered)
local chosen = {}
local function next_of(tenant)
  local place = tenant.taken % at_a_time
  if place == 0 then
    tenant.members = redis.call('ZRANGEBYSCORE', tenant.dues, '-inf', till, 'LIMIT', tenant.taken, at_a_time)
  end
  return tenant.members[place + 1]
end
local function room(level) return #chosen < limit and (level == 0 or level < math.min(most, share * left)) end
local level = tenants[1].open
while level and room(level) do
  local given, higher
  for i = 1, considered do
    local tenant = tenants[i]
    if tenant.open > level then
      higher = tenant.open
      break
    end
    local member = not tenant.ended and room(level) and next_of(tenant)
    if member then
      chosen[#chosen + 1] = member
      tenant.taken, tenant.open, left, given = tenant.taken + 1, level + 1, left - 1, true
    else tenant.ended = true end
  end
  level = given and level + 1 or higher
end
return chosen
`

const COUNT_DUE = `
local due, till = KEYS[1], ARGV[1]
local sum = redis.call('ZCOUNT', due, '-inf', till)
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', till)) do
  sum = sum + redis.call('ZCOUNT', due .. ':' .. tenant, '-inf', till)
end
return sum
`

const LINK_REPLY = `
local thread, replies = unpack(KEYS)
if redis.call('HEXISTS', thread, 'gone') == 1 then return 0 end
redis.call('SADD', replies, ARGV[1])
redis.call('PEXPIRE', replies, ARGV[2])
return 1
`

/** Threads that waited for a paused protocol become due at once: looks at as many as are asked for, tells how many woke. */
const RESUME = `${DUE_NOW}
local held, due, thread_prefix = unpack(KEYS)
local members = redis.call('SPOP', held, ARGV[1])
local woken = 0
for _, member in ipairs(members) do
  local thread = thread_prefix .. member
  redis.call('HDEL', thread, 'held:' .. ARGV[3])
  if redis.call('HEXISTS', thread, 'post') == 1 then
    due_now(thread, due, member, ARGV[2])
    woken = woken + 1
  end
end
return { #members, woken }
`

/**
 * Takes a concluded case's verdict out of the outbox; whether no publisher was ever handed it, so that it will stand nowhere.
 * One that was handed out is noted: what is to follow it waits until its publisher says that it is done, or is gone. An
 * earlier version did not note the entry of a case: that one stays until it is published.
 */
const WITHDRAW = `
local function last_handed_out(outbox, group)
  local groups = redis.pcall('XINFO', 'GROUPS', outbox)
  if groups.err then return '0-0' end
  for _, fields in ipairs(groups) do
    local known = {}
    for i = 1, #fields, 2 do known[fields[i]] = fields[i + 1] end
    if known.name == group then return known['last-delivered-id'] end
  end
  return '0-0'
end
local function parts_of(entry)
  local ms, number = string.match(entry, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
local function withdraw(case, outbox, erased, group, id, protocol, member)
  local entry = redis.call('HGET', case, 'entry')
  if not entry then return false end
  local ms, number = parts_of(entry)
  local last_ms, last_number = parts_of(last_handed_out(outbox, group))
  redis.call('XDEL', outbox, entry)
  if ms > last_ms or (ms == last_ms and number > last_number) then return true end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('HSET', erased, entry, cjson.encode({ now, id, protocol, member }))
  return false
end
`

/**
 * A farewell goes into the outbox behind the revision that it retracts: while a publisher has that one in hand, the farewell
 * waits in the tombstone. One that no publisher was handed is taken back.
 */
const DELETE_POST = `${DUES}${OPEN_COUNTS}${WITHDRAW}
local thread, comments, sample, authors, due, orphans, open, unworked, outbox, case_prefix, revisions, erased =
  unpack(KEYS, 1, 12)
local member, keep, group = unpack(ARGV, 1, 3)
if redis.call('HEXISTS', thread, 'gone') == 1 then return 'duplicate' end
local fields = redis.call('HKEYS', thread)
local last = {}
local function note(protocol, revision) last[protocol] = math.max(last[protocol] or 0, tonumber(revision)) end
for _, field in ipairs(fields) do
  local protocol = string.match(field, '^rev:(.+)$')
  if protocol then note(protocol, redis.call('HGET', thread, field)) end
end
local forgotten = redis.call('HGETALL', revisions)
for i = 1, #forgotten, 2 do note(forgotten[i], forgotten[i + 1]) end
for i = 4, #ARGV, 5 do
  local protocol, revision = ARGV[i], tonumber(ARGV[i + 1])
  if last[protocol] ~= revision then return 'changed' end
  last[protocol] = nil
end
if next(last) then return 'changed' end
local unpublished = {}
for _, field in ipairs(fields) do
  if string.sub(field, 1, 5) == 'open:' then
    local id = redis.call('HGET', thread, field)
    if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1)
    elseif redis.call('ZREM', unworked, id) == 1 then -- It was open, and is not counted.
    elseif redis.call('EXISTS', case_prefix .. id) == 1 then
      local protocol = string.sub(field, 6)
      if not withdraw(case_prefix .. id, outbox, erased, group, id, protocol, member) then unpublished[protocol] = id end
    end
  end
end
redis.call('DEL', thread, comments, sample, authors, orphans)
for i = 13, #KEYS do redis.call('DEL', KEYS[i]) end
not_due(due, member)
redis.call('HSET', thread, 'gone', 1)
for i = 4, #ARGV, 5 do
  local protocol, revision, id, verdict, transcript = unpack(ARGV, i, i + 4)
  redis.call('HSET', thread, 'rev:' .. protocol, tonumber(revision) + 1)
  if unpublished[protocol] then
    redis.call('HSET', thread, 'open:' .. protocol, unpublished[protocol], 'byeId:' .. protocol, id,
      'byeVerdict:' .. protocol, verdict, 'byeTranscript:' .. protocol, transcript)
  else
    redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', id, 'member', member, 'protocol', protocol,
      'verdict', verdict, 'transcript', transcript)
  end
end
redis.call('PEXPIRE', thread, keep)
return 'deleted'
`

const TAKE = `${SAME_DATA}
local case, journal, lost, open, lineage = unpack(KEYS)
local known, beat, run = unpack(ARGV, 4, 6)
if ARGV[2] ~= '' and not same_data(lineage, known, beat, run) then return 'still' end
local held = redis.call('HMGET', case, 'status', 'record', 'run', 'opened')
if held[1] ~= 'open' then return nil end
local epoch
if ARGV[2] == '' then epoch = redis.call('HGET', case, 'epoch')
else
  epoch = redis.call('HINCRBY', case, 'epoch', 1)
  redis.call('ZADD', open, 'XX', ARGV[2], ARGV[1])
end
local record = held[2]
if held[3] .. '@' .. (held[4] or '') == ARGV[3] then record = '' end
return { record, tostring(epoch), held[3], redis.call('HGETALL', journal), redis.call('LRANGE', lost, 0, -1) }
`

const READ_UNPUBLISHED = `
local case, journal, lost = unpack(KEYS)
local held = redis.call('HMGET', case, 'status', 'record', 'epoch', 'run')
if (held[1] ~= 'open' and held[1] ~= 'concluded') or not held[2] then return nil end
return { held[1], held[2], held[3], held[4], redis.call('HGETALL', journal), redis.call('LRANGE', lost, 0, -1) }
`

/** Begins a case over, without comments that were deleted, if it and its thread are as they were read. */
const BEGIN_OVER = `${OPEN_COUNTS}${WITHDRAW}
local thread, case, journal, lost, open, outbox, erased = unpack(KEYS)
local id, member, protocol, version, status, epoch, run, known, now, group, record, seen, answers = unpack(ARGV, 1, 13)
local held = redis.call('HMGET', case, 'status', 'epoch', 'run')
if held[1] ~= status or held[2] ~= epoch or held[3] ~= run then return 'changed' end
-- An answer that the caller has not seen would go, and its calls with it.
if redis.call('HLEN', journal) ~= tonumber(known) then return 'changed' end
local at = redis.call('HMGET', thread, 'v', 'open:' .. protocol)
if at[1] ~= version or at[2] ~= id then return 'changed' end
if status == 'concluded' then
  if not withdraw(case, outbox, erased, group, id, protocol, member) then
    redis.call('DEL', journal, lost)
    redis.call('HDEL', case, 'record')
    redis.call('HDEL', thread, 'carry:' .. protocol)
    redis.call('HSET', thread, 'again:' .. protocol, 1)
    return 'in-flight'
  end
  redis.call('HDEL', case, 'entry')
  redis.call('ZADD', open, now, id)
  count_open(open, member, 1)
end
redis.call('DEL', journal)
local first_lost = 14 + 2 * answers
for i = 14, first_lost - 1, 2 do redis.call('HSET', journal, ARGV[i], ARGV[i + 1]) end
for i = first_lost, #ARGV do
  if not redis.call('LPOS', lost, ARGV[i]) then redis.call('RPUSH', lost, ARGV[i]) end
end
redis.call('HSET', case, 'status', 'open', 'record', record)
redis.call('HINCRBY', case, 'epoch', 1)
redis.call('HINCRBY', case, 'run', 1)
if seen ~= '' then redis.call('HSET', thread, 'seen:' .. protocol, seen) end
return 'begun-over'
`

/**
 * Puts what revisions left to the next in the place of what was read, if it is still that and the cases that are open are those
 * that the caller knows; erases the keys behind the thread's.
 */
const ERASE_LEFT = `
local thread = KEYS[1]
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
-- Of a deleted post nothing is carried on, though a publisher have its last verdict in hand.
if redis.call('HEXISTS', thread, 'gone') == 1 then return 'erased' end
local known = {}
local count = tonumber(ARGV[1])
for i = 2, count + 1 do known[ARGV[i]] = true end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  if string.match(field, '^open:') and not known[redis.call('HGET', thread, field)] then return 'opened' end
end
for i = count + 2, #ARGV, 3 do
  local protocol, carried = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', thread, 'carry:' .. protocol) ~= carried then return 'changed' end
end
for i = count + 2, #ARGV, 3 do
  local protocol, carry = ARGV[i], ARGV[i + 2]
  if carry == '' then redis.call('HDEL', thread, 'carry:' .. protocol)
  else redis.call('HSET', thread, 'carry:' .. protocol, carry) end
end
return 'erased'
`

const RESTART = `
local case, journal = KEYS[1], KEYS[2]
local held = redis.call('HMGET', case, 'status', 'epoch')
if held[1] ~= 'open' or held[2] ~= ARGV[1] then return 0 end
redis.call('DEL', journal)
redis.call('HINCRBY', case, 'run', 1)
redis.call('HSET', case, 'record', ARGV[2])
return 1
`

const ANSWER = `
local case, journal = KEYS[1], KEYS[2]
local held = redis.call('HMGET', case, 'status', 'run')
if held[1] ~= 'open' or held[2] ~= ARGV[1] then return 'stale' end
if redis.call('HSETNX', journal, ARGV[2], ARGV[3]) == 1 then return 'stored' end
if redis.call('HGET', journal, ARGV[2]) == ARGV[3] then return 'stored' end
return 'exists'
`

const LOSE_CALLS = `
if redis.call('HGET', KEYS[1], 'status') ~= 'open' then return 0 end
for _, call in ipairs(ARGV) do
  if not redis.call('LPOS', KEYS[2], call) then redis.call('RPUSH', KEYS[2], call) end
end
return 1
`

const CONCLUDE = `${OPEN_COUNTS}${SAME_DATA}
local case, open, unworked, outbox, thread, lineage = unpack(KEYS)
local id, epoch, protocol, member, verdict, transcript, carry, known, beat, run = unpack(ARGV)
if not same_data(lineage, known, beat, run) then return 0 end
local held = redis.call('HMGET', case, 'status', 'epoch')
if held[1] ~= 'open' or held[2] ~= epoch then return 0 end
local entry = redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', id, 'member', member, 'protocol', protocol,
  'verdict', verdict, 'transcript', transcript)
redis.call('HSET', case, 'status', 'concluded', 'entry', entry)
if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
redis.call('ZREM', unworked, id)
if carry == '' then redis.call('HDEL', thread, 'carry:' .. protocol)
else redis.call('HSET', thread, 'carry:' .. protocol, carry) end
return 1
`

const DONE = `${DUE_NOW}${WAITS}
local outbox, due, thread, case, journal, lost, comments, sample, authors, revisions, erased = unpack(KEYS)
local entry, group, id, protocol, member, keep_journal, keep_thread, keep_revisions, now = unpack(ARGV)
redis.call('XACK', outbox, group, entry)
redis.call('XDEL', outbox, entry)
redis.call('HDEL', erased, entry)
if id == '' then return 1 end
-- Published, and open all the same: the store has lost that it was concluded, and a recovery must find it so.
if redis.call('HGET', case, 'status') == 'open' then return 0 end
for _, key in ipairs({ case, journal, lost }) do redis.call('PEXPIRE', key, keep_journal) end
local revision = redis.call('HGET', thread, 'rev:' .. protocol)
if revision then
  redis.call('HSET', revisions, protocol, revision)
  redis.call('PEXPIRE', revisions, keep_revisions)
end
if redis.call('HGET', thread, 'open:' .. protocol) == id then
  redis.call('HDEL', thread, 'open:' .. protocol)
  local fields = { 'byeId:' .. protocol, 'byeVerdict:' .. protocol, 'byeTranscript:' .. protocol }
  local bye = redis.call('HMGET', thread, unpack(fields))
  if bye[1] then
    redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', bye[1], 'member', member, 'protocol', protocol,
      'verdict', bye[2], 'transcript', bye[3])
    redis.call('HDEL', thread, unpack(fields))
  end
  if redis.call('HDEL', thread, 'again:' .. protocol) == 1 then due_now(thread, due, member, now) end
end
if redis.call('HEXISTS', thread, 'gone') == 1 then return 1 end
local busy = is_due(due, member) or waits(thread)
if redis.call('HEXISTS', thread, 'final') == 1 and not busy then
  for _, key in ipairs({ thread, comments, sample, authors }) do redis.call('PEXPIRE', key, keep_thread) end
else
  for _, key in ipairs({ thread, comments, sample, authors }) do redis.call('PERSIST', key) end
end
return 1
`

/**
 * Consumers of a group that have nothing pending and did nothing for so many ms; only the one that is named, if one is. With a
 * consumer go its pending entries, which nobody could adopt then: looked at and removed in one step.
 */
const FORGET_CONSUMERS = `
local stream, group, idle, only = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local known = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if known.err then return 0 end
local forgotten = 0
for _, fields in ipairs(known) do
  local consumer = {}
  for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
  if consumer.pending == 0 and consumer.idle >= idle and (only == '' or consumer.name == only) then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
`

/**
 * The lineage of the data in Redis: a hash with id (absent while something is lost), beat (rises with each heartbeat of a
 * process), run (of the server, see {@link RUNS}), end:RUN, quiet (until when nothing is opened or concluded, ms), since (the
 * Redis time, ms, at which all revisions that were ever published were known: at its beginning there were none), lost (why),
 * and the next offset of each partition, under at:TOPIC/PARTITION, whose messages are durable here.
 */
const BEGIN_LINEAGE = `${RUNS}
local lineage, marks = unpack(KEYS)
local fresh, alone = unpack(ARGV, 1, 2)
local function lose(why)
  redis.call('HDEL', lineage, 'id')
  redis.call('HSET', lineage, 'lost', why)
  return { '', '0', why, '', 0 }
end
local run = run_of(lineage)
local held = redis.call('HMGET', lineage, 'id', 'lost')
if held[2] then return { '', '0', held[2], '', 0 } end
if not held[1] then
  if #ARGV > 2 and redis.call('EXISTS', marks) == 0 then return lose('emptied') end
  redis.call('HSET', lineage, 'id', fresh)
  if #ARGV == 2 then redis.call('HSET', lineage, 'since', redis.call('TIME')[1] .. '000') end
elseif alone == '1' then
  for i = 3, #ARGV, 2 do
    local at = redis.call('HGET', lineage, 'at:' .. ARGV[i])
    if not at or tonumber(at) < tonumber(ARGV[i + 1]) then return lose('rolled-back') end
  end
end
-- Another process may have made more durable since the offsets were asked for, and commit it in a moment.
for i = 3, #ARGV, 2 do
  local at = redis.call('HGET', lineage, 'at:' .. ARGV[i])
  if not at or tonumber(at) < tonumber(ARGV[i + 1]) then redis.call('HSET', lineage, 'at:' .. ARGV[i], ARGV[i + 1]) end
end
return {
  redis.call('HGET', lineage, 'id'), tostring(redis.call('HINCRBY', lineage, 'beat', 1)), '', run,
  is_quiet(lineage) and 1 or 0
}
`

const BEAT_LINEAGE = `${RUNS}
local lineage = KEYS[1]
local known, beat, run = unpack(ARGV, 1, 3)
local held = redis.call('HMGET', lineage, 'id', 'lost')
local why = held[2]
if not held[1] and not why then why = 'emptied' end
if held[1] == known and knows_more(lineage, beat, run) then why = 'rolled-back' end
if why then
  redis.call('HDEL', lineage, 'id')
  redis.call('HSET', lineage, 'lost', why)
  return { '', '0', why, '', 0 }
end
for i = 4, #ARGV, 2 do redis.call('HSET', lineage, 'at:' .. ARGV[i], ARGV[i + 1]) end
return {
  held[1], tostring(redis.call('HINCRBY', lineage, 'beat', 1)), '', run_of(lineage), is_quiet(lineage) and 1 or 0
}
`

const HOLD_LINEAGE = `
local still = redis.call('HEXISTS', KEYS[1], 'lost')
redis.call('HDEL', KEYS[1], 'id')
redis.call('HSET', KEYS[1], 'lost', 'recovering')
return still
`

/** Whether anything that was published may be unknown here from now on. */
const VOUCH_LINEAGE = `
if ARGV[1] == '1' then redis.call('HSET', KEYS[1], 'since', redis.call('TIME')[1] .. '000')
else redis.call('HDEL', KEYS[1], 'since') end
return 1
`

const RELEASE_LINEAGE = `${RUNS}
local lineage = KEYS[1]
local since = redis.call('HGET', lineage, 'since')
redis.call('DEL', lineage)
redis.call('HSET', lineage, 'id', ARGV[1], 'beat', 0)
run_of(lineage)
if since then redis.call('HSET', lineage, 'since', since) end
for i = 2, #ARGV, 2 do redis.call('HSET', lineage, 'at:' .. ARGV[i], ARGV[i + 1]) end
return 1
`

/**
 * Brings a thread's revisions up to those on the verdicts topic. A case that is open under a revision which was published is
 * given up: it would come to another content under the same id. What was to be judged behind it is due at once. Where all
 * messages are taken again and the thread has no post, it begins empty. Returns how many revisions were raised and cases
 * given up.
 */
const RESTORE_REVISIONS = `${DUE_NOW}${OPEN_COUNTS}
local thread, due, open, unworked, case_prefix, journal_prefix, lost_prefix, revisions, outbox = unpack(KEYS, 1, 9)
local member, keep, now, all_again = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local raised, given_up = 0, 0
if redis.call('HEXISTS', thread, 'gone') == 1 then return { 0, 0 } end
-- What came since it was forgotten would hide what came before.
if all_again == '1' and redis.call('HEXISTS', thread, 'post') == 0 then
  redis.call('DEL', thread, unpack(KEYS, 10))
  not_due(due, member)
end
for i = 5, #ARGV, 4 do
  local protocol, revision, last, deleted = unpack(ARGV, i, i + 3)
  local held = tonumber(redis.call('HGET', thread, 'rev:' .. protocol) or '0')
  local behind = held < tonumber(revision)
  local id = redis.call('HGET', thread, 'open:' .. protocol)
  local status = id and redis.call('HGET', case_prefix .. id, 'status')
  if id and not status then redis.call('HDEL', thread, 'open:' .. protocol)
  elseif status == 'open' and held <= tonumber(revision) then
    if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
    redis.call('ZREM', unworked, id)
    redis.call('DEL', case_prefix .. id, journal_prefix .. id, lost_prefix .. id)
    redis.call('HDEL', thread, 'open:' .. protocol, 'again:' .. protocol)
    given_up, behind = given_up + 1, true
  elseif status == 'concluded' and held <= tonumber(revision) then
    -- It stands on the topic, with this content or another: what waits here is not sent again.
    local entry = redis.call('HGET', case_prefix .. id, 'entry')
    if entry then
      redis.call('XDEL', outbox, entry)
      redis.call('DEL', case_prefix .. id, journal_prefix .. id, lost_prefix .. id)
      redis.call('HDEL', thread, 'open:' .. protocol)
      if redis.call('HDEL', thread, 'again:' .. protocol) == 1 then behind = true end
    end
  end
  if deleted == '1' then
    for _, field in ipairs({ 'rev:', 'seen:', 'last:', 'carry:' }) do redis.call('HDEL', thread, field .. protocol) end
    redis.call('HDEL', revisions, protocol)
  elseif tonumber(redis.call('HGET', revisions, protocol) or '0') < tonumber(revision) then
    -- It was published, and outlives the thread.
    redis.call('HSET', revisions, protocol, revision)
    redis.call('PEXPIRE', revisions, keep)
  end
  if deleted ~= '1' and behind then
    redis.call('HSET', thread, 'rev:' .. protocol, revision, 'seen:' .. protocol, -1, 'last:' .. protocol, last)
    redis.call('HDEL', thread, 'carry:' .. protocol)
    raised = raised + 1
  end
end
if redis.call('HEXISTS', thread, 'post') == 0 then redis.call('PEXPIRE', thread, keep)
elseif raised > 0 then due_now(thread, due, member, now) end
return { raised, given_up }
`

/**
 * Of a subject that a store that lost nothing would have forgotten at ARGV[3] (ms): the numbers of its revisions stay, and
 * what an earlier state of this store still holds goes, its open cases with it. A thread whose post came later has begun anew.
 */
const BURY_THREAD = `${DUES}${OPEN_COUNTS}
local thread, due, open, unworked, case_prefix, journal_prefix, lost_prefix, revisions, outbox = unpack(KEYS, 1, 9)
local member, keep, forgotten = ARGV[1], ARGV[2], tonumber(ARGV[3])
for i = 4, #ARGV, 2 do
  if tonumber(redis.call('HGET', revisions, ARGV[i]) or '0') < tonumber(ARGV[i + 1]) then
    redis.call('HSET', revisions, ARGV[i], ARGV[i + 1])
    redis.call('PEXPIRE', revisions, keep)
  end
end
local came = string.match(redis.call('HGET', thread, 'postPlace') or '', ' (%-?%d+)$')
if not came or tonumber(came) > forgotten or redis.call('HEXISTS', thread, 'gone') == 1 then return 0 end
-- This store knows of a revision that was not published: it is not over.
for i = 4, #ARGV, 2 do
  if tonumber(redis.call('HGET', thread, 'rev:' .. ARGV[i]) or '0') > tonumber(ARGV[i + 1]) then return 0 end
end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  local id = string.match(field, '^open:') and redis.call('HGET', thread, field)
  if id and redis.call('HGET', case_prefix .. id, 'status') == 'open' then
    if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
    redis.call('ZREM', unworked, id)
    redis.call('DEL', case_prefix .. id, journal_prefix .. id, lost_prefix .. id)
  end
end
redis.call('DEL', thread, unpack(KEYS, 10))
not_due(due, member)
return 1
`

/**
 * Cases of protocols that the caller does not work on go from the open ones to the unworked, which take nobody's place, and
 * those that it does come back. Returns those, and those that are unworked now.
 */
const PART_OPEN = `${OPEN_COUNTS}
local open, unworked = unpack(KEYS)
local worked = {}
for _, protocol in ipairs(ARGV) do worked[protocol] = true end
local function is_worked(id) return worked[string.match(id, '^[^~@/]*')] end
local back = {}
for _, id in ipairs(redis.call('ZRANGE', unworked, 0, -1)) do
  if is_worked(id) then
    redis.call('ZADD', open, redis.call('ZSCORE', unworked, id), id)
    redis.call('ZREM', unworked, id)
    count_open(open, tenant_of(id), 1)
    back[#back + 1] = id
  end
end
for _, id in ipairs(redis.call('ZRANGE', open, 0, -1)) do
  if not is_worked(id) then
    redis.call('ZADD', unworked, redis.call('ZSCORE', open, id), id)
    redis.call('ZREM', open, id)
    count_open(open, tenant_of(id), -1)
  end
end
return { back, redis.call('ZRANGE', unworked, 0, -1) }
`

/** Notes that a protocol's revision has seen all that the thread holds, if both are as the caller read them. */
const SETTLE_REVISION = `
local thread = KEYS[1]
local protocol, revision, version, seen = unpack(ARGV)
local held = redis.call('HMGET', thread, 'rev:' .. protocol, 'v')
if held[1] ~= revision or held[2] ~= version then return 0 end
redis.call('HSET', thread, 'seen:' .. protocol, seen)
return 1
`

const SOURCES = {
  putPost: { lua: PUT_POST, keys: 8 },
  putComments: { lua: PUT_COMMENTS, keys: 7 },
  expireOrphans: { lua: EXPIRE_ORPHANS, keys: 8 },
  openCases: { lua: OPEN, keys: 10 },
  takeTurns: { lua: TAKE_TURNS, keys: 2 },
  countDue: { lua: COUNT_DUE, keys: 1 },
  resumeHeld: { lua: RESUME, keys: 3 },
  linkReply: { lua: LINK_REPLY, keys: 2 },
  deletePost: { lua: DELETE_POST },
  takeCase: { lua: TAKE, keys: 5 },
  readUnpublished: { lua: READ_UNPUBLISHED, keys: 3 },
  beginOver: { lua: BEGIN_OVER, keys: 7 },
  eraseLeft: { lua: ERASE_LEFT },
  restartCase: { lua: RESTART, keys: 2 },
  answerAsk: { lua: ANSWER, keys: 2 },
  loseCalls: { lua: LOSE_CALLS, keys: 2 },
  concludeCase: { lua: CONCLUDE, keys: 6 },
  partOpen: { lua: PART_OPEN, keys: 2 },
  doneEntry: { lua: DONE, keys: 11 },
  forgetConsumers: { lua: FORGET_CONSUMERS, keys: 1 },
  beginLineage: { lua: BEGIN_LINEAGE, keys: 2 },
  beatLineage: { lua: BEAT_LINEAGE, keys: 1 },
  holdLineage: { lua: HOLD_LINEAGE, keys: 1 },
  vouchLineage: { lua: VOUCH_LINEAGE, keys: 1 },
  releaseLineage: { lua: RELEASE_LINEAGE, keys: 1 },
  restoreRevisions: { lua: RESTORE_REVISIONS, keys: 13 },
  buryThread: { lua: BURY_THREAD, keys: 13 },
  settleRevision: { lua: SETTLE_REVISION, keys: 1 },
}

export type Scripts = Record<keyof typeof SOURCES, Lua>

export const scriptsOn = (client: Redis): Scripts => luaOn(client, SOURCES)
