-- Writes a new or edited post to its thread; returns the outcome; or, with nothing done, `over-share` if its tenant would hold more
-- than its share, and `suspended` if the data are not those that the caller knows.
--@include due-now
--@include revisions
--@include place
--@include authors
--@include fencing
--@include decided
--@include thread-bytes
--@key thread
--@key due
--@key orphans
--@key comments
--@key sample
--@key revisions
--@key authors
--@key images
--@key incarnation
--@key decided
--@key outbox
--@key early             how far a post reaches of which that was said before it came
--@arg member
--@arg post              JSON
--@arg aside[].hash      images that are kept beside it
--@arg aside[].url       data:
--@arg created_at        ms
--@arg share             whose share of the service its judging uses
--@arg first_due         the first age checkpoint, stream time in ms
--@arg now               wall time, ms
--@arg final_age         ms after the post in which comments belong to its thread
--@arg counts[]          count checkpoints, ascending
--@arg threaded          1 if some protocol reads the post with its comments
--@arg judged_at_once    1 if some protocol judges the post by itself
--@arg keep              how long a thread that nobody judges is remembered, ms
--@arg reach_ahead       its head start among due threads, ms: for its reach
--@arg protocol_ahead    likewise for the protocols that judge it
--@arg judges            how many protocols judge it
--@arg most              bytes that its tenant may hold; empty: no limit
--@arg place             where the post stands in its topic; empty if unknown
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not has_reached(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
-- Of most posts nothing was known before: a command costs more than what it does.
local was_known = redis.call('EXISTS', thread, comments, orphans, images, revisions, decided, early) > 0
local known_post, n, stage, gone, last_place, over_author, by_reach, counted, version, post_version, unrouted, post_only
if was_known then
  known_post, n, stage, gone, last_place, over_author, by_reach, counted, version, post_version, unrouted, post_only = unpack(
    redis.call('HMGET', thread, 'post', 'accepted', 'countStage', 'deleted', 'postPlace', 'overAuthor', 'reachAhead', 'held',
      'version', 'postVersion', 'unrouted', 'postOnly'))
end
if gone then return 'deleted' end
if known_post == post or was_taken(last_place, place) then return 'duplicate' end
-- How far it reaches only rises.
local function highest_reach(said) return math.max(tonumber(by_reach or '0'), tonumber(said or '0'), tonumber(reach_ahead)) end
-- Its reach is its last field. Who has seen it is no edit; inside a text the quotes would be escaped.
local function without_reach(json) return (string.gsub(json, ',"reach":[%d.e+-]+}$', '}')) end
if known_post and without_reach(known_post) == without_reach(post) then
  local held = read_bytes(thread, counted, 0)
  held.post = #post
  write_bytes(thread, member, held)
  redis.call('HSET', thread, 'post', post, 'postPlace', later_place(last_place, place) or '')
  set_head_start(thread, due, member, highest_reach(), protocol_ahead)
  return 'duplicate'
end
local expired = was_known and not known_post and is_forgotten(thread, revisions, decided)
local late = {}
local held = { post = #post, said = 0, origins = 0, images = 0, judges = tonumber(judges) }
if not known_post and n and threaded == '1' then
  local waiting = redis.call('HGETALL', comments)
  for i = 1, #waiting, 2 do
    held.said = held.said + comment_bytes(waiting[i], waiting[i + 1])
    -- Inside a text its quotes would be escaped.
    local created = string.match(waiting[i + 1], '"createdAt":(%-?%d+)')
    if created and (expired or tonumber(created) > tonumber(created_at) + tonumber(final_age)) then
      late[#late + 1] = { id = waiting[i], json = waiting[i + 1] }
    end
  end
end
if known_post and threaded == '1' then held.said = read_bytes(thread, counted, #known_post).said end
for _, image in ipairs(aside) do held.images = held.images + #image.hash + #image.url end
local is_judged = threaded == '1' or judged_at_once == '1' or known_post
local account = account_of(thread, member)
if is_judged and not may_hold(account, member, size_of(held), most, now) then return 'over-share' end
if threaded == '0' and was_known then
  redis.call('UNLINK', orphans, comments, sample, authors)
  redis.call('HDEL', thread, 'accepted', 'countStage', 'late', 'missing', 'overAuthor', 'sampledUnder', 'rekeyed')
end
if not is_judged then
  not_due(due, member)
  if was_known then write_bytes(thread, member, { post = 0, said = 0, origins = 0 }) end
  redis.call('HSET', thread, 'unrouted', 1)
  redis.call('PEXPIRE', thread, keep)
  return 'unrouted'
end
if known_post or expired then
  local sent = tonumber(string.match(place, ' (%-?%d+)$') or '')
  each_decided(decided, 'id', function(protocol, verdict)
    local since = redis.call('HGET', decided, 'since:' .. protocol)
    if since and sent and sent <= tonumber(since) then return end
    ask_review(outbox, decided, { member = member, protocol = protocol, why = 'edited', verdict = verdict, at = now }, 'edited')
  end)
end
if unrouted then redis.call('HDEL', thread, 'unrouted') end
if was_known then redis.call('PERSIST', thread) end
if not known_post then
  if was_known then restore_numbers(thread, revisions, decided) end
  local base = base_of(incarnation, tonumber(created_at), tonumber(now), tonumber(keep))
  if base then redis.call('HSETNX', thread, 'base', base) end
  if expired then redis.call('HSET', thread, 'expired', 1) end
end
if was_known then redis.call('UNLINK', images, orphans) end
for _, image in ipairs(aside) do redis.call('HSET', images, image.hash, image.url) end
local accepted = threaded == '1' and tonumber(n or '0') or 0
for _, comment in ipairs(late) do
  drop_from_author(authors, sample, comment.id, comment.json)
  redis.call('HDEL', comments, comment.id)
  redis.call('ZREM', sample, comment.id)
  redis.call('HINCRBY', thread, 'late', 1)
  held.said = held.said - comment_bytes(comment.id, comment.json)
  accepted = accepted - 1
end
-- All in one command.
local fields = { 'post', post, 'createdAt', created_at, 'share', share, 'postPlace', later_place(last_place, place) or '',
  'version', version and version + 1 or '1', 'postVersion', post_version and post_version + 1 or '1', 'held', counted_bytes(held) }
local function set(name, value)
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
if threaded == '0' then
  set('postOnly', 1)
  set('countStage', 0)
elseif post_only then redis.call('HDEL', thread, 'postOnly', 'final') end
if threaded == '0' or not known_post then set('accepted', accepted == 0 and '0' or accepted) end
if threaded == '1' and (post_only or not known_post) then set('nextAge', first_due) end
if known_post then set_head_start(thread, due, member, highest_reach(), protocol_ahead)
else
  local early_reach = was_known and redis.call('GETDEL', early)
  if early_reach then forget_kept(account, reach_part(member)) end
  by_reach = highest_reach(early_reach)
  if by_reach > 0 then set('reachAhead', by_reach) end
  if protocol_ahead ~= '0' then set('protocolAhead', protocol_ahead) end
end
redis.call('HSET', thread, unpack(fields))
if counted or not version then
  local before = counted and size_of(read_bytes(thread, counted, #(known_post or ''))) or 0
  change_kept(account, member, before, size_of(held))
else set_kept(account, member, size_of(held)) end
if known_post then
  due_now(thread, due, member, now)
  return 'updated'
end
if judged_at_once == '1' then
  set_due(due, member, tonumber(now) - 1e15 - by_reach - tonumber(protocol_ahead))
  redis.call('HSETNX', thread, 'dueSince', now)
else set_due(due, member, first_due) end
if threaded == '1' then
  pass_counts(thread, due, member, now, accepted - tonumber(over_author or '0'), tonumber(stage or '0'), counts)
end
return expired and 'updated' or 'judged'
