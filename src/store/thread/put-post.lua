-- Writes a new or edited post to its thread; returns the outcome; or, with nothing done, `over-share` if its tenant would hold more
-- than its share, and `suspended` if the data are not those that the caller knows.
--@include due-now
--@include revisions
--@include place
--@include authors
--@include fencing
--@include decided
--@include thread-bytes
--@include story
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
--@arg not_before        stream time in ms before which it is not judged by itself; empty: at once
--@arg keep              how long a thread that nobody judges is remembered, ms
--@arg reach_ahead       its head start among due threads, ms: for its reach
--@arg protocol_ahead    likewise for the protocols that judge it
--@arg judges            how many protocols judge it
--@arg story             the id of its story; empty if it has none
--@arg most              bytes that its tenant may hold; empty: no limit
--@arg place             where the post stands in its topic; empty if unknown
--@arg incarnation_id
--@arg watermark
--@arg server_run
-- What is known of a post that nobody judges, beside its id.
local PASSED_BYTES = 250
-- What a story takes of each post of it (src/judging/threads/story.ts).
local STORY_BYTES = 300
if not has_reached(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
local account = account_of(thread, member)
local held = { post = #post, said = 0, origins = 0, images = 0, judges = tonumber(judges) }
for _, image in ipairs(aside) do held.images = held.images + #image.hash + #image.url end
if story ~= '' then held.images = held.images + STORY_BYTES end
local known_post, n, stage, gone, last_place, over_author, by_reach, counted, version, post_version, unrouted, post_only, due_since, known_story
local is_judged, expired, late, size_before = threaded == '1' or judged_at_once == '1', false, {}, 0
local places_after = place
-- Of most posts nothing was known before: a command costs more than what it does, and so does making a function.
local was_known = redis.call('EXISTS', thread, comments, orphans, images, revisions, decided, early) > 0
if was_known then
  --@functions
  known_post, n, stage, gone, last_place, over_author, by_reach, counted, version, post_version, unrouted, post_only, due_since, known_story =
    unpack(redis.call('HMGET', thread, 'post', 'accepted', 'countStage', 'deleted', 'postPlace', 'overAuthor', 'reachAhead', 'held',
      'version', 'postVersion', 'unrouted', 'postOnly', 'dueSince', 'story'))
  if gone then return 'deleted' end
  local places, this = read_places(last_place), read_place(place)
  if known_post == post or was_taken(places, this) then return 'duplicate' end
  if this then note_taken(places, this) end
  places_after = write_places(places)
  -- How far it reaches only rises.
  reach_ahead = math.max(tonumber(by_reach or '0'), tonumber(reach_ahead))
  if known_post then
    local before = read_bytes(thread, counted, #known_post)
    -- Its mapping and its reach are its last fields. By which it came, and who has seen it, is no edit; inside a text the quotes
    -- would be escaped.
    local function judged_part(json)
      return (string.gsub(string.gsub(json, ',"reach":[%d.e+-]+}$', '}'), ',"mapping":"%x+"}$', '}'))
    end
    if judged_part(known_post) == judged_part(post) then
      before.post = #post
      write_bytes(thread, member, before)
      local left = redis.call('PTTL', thread)
      if left > 0 then end_kept(account, member, now, left) end
      redis.call('HSET', thread, 'post', post, 'postPlace', places_after)
      reach_story(thread, reach_ahead)
      set_head_start(thread, due, member, reach_ahead, protocol_ahead)
      return 'duplicate'
    end
    is_judged = true
    if threaded == '1' then held.said = before.said end
    if counted then size_before = size_of(before, member) end
  else
    expired = is_forgotten(thread, revisions, decided)
    if counted then size_before = size_of(read_bytes(thread, counted, 0), member) end
    local waiting = n and threaded == '1' and redis.call('HGETALL', comments) or {}
    for i = 1, #waiting, 2 do
      held.said = held.said + comment_bytes(waiting[i], waiting[i + 1])
      -- Inside a text its quotes would be escaped.
      local created = string.match(waiting[i + 1], '"createdAt":(%-?%d+)')
      if created and (expired or tonumber(created) > tonumber(created_at) + tonumber(final_age)) then
        late[#late + 1] = { id = waiting[i], json = waiting[i + 1] }
      end
    end
  end
end
if most ~= '' and is_judged then
  --@functions
  if not may_hold(account, member, size_of(held, member), most, now) then return 'over-share' end
end
if was_known and threaded == '0' then
  redis.call('UNLINK', orphans, comments, sample, authors)
  redis.call('HDEL', thread, 'accepted', 'countStage', 'late', 'missing', 'overAuthor', 'sampledUnder', 'rekeyed')
end
if not is_judged then
  --@functions
  not_due(due, member)
  if was_known then write_bytes(thread, member, { post = 0, said = 0, origins = 0, images = 0, judges = 0 }) end
  if redis.call('HEXISTS', thread, 'unrouted') == 0 then
    local part, bytes = passed_part(now), PASSED_BYTES + #string.match(member, ':(.*)$')
    -- Of what is new, nothing is remembered beyond what its tenant may hold.
    local grown = tonumber(redis.call('HGET', account.parts, part) or '0') + bytes
    if redis.call('EXISTS', thread) == 0 and not may_hold(account, part, grown, most, now) then return 'unrouted' end
    grow_kept(account, part, bytes)
    end_kept(account, part, now, keep)
    redis.call('HSET', thread, 'unrouted', 1)
  end
  redis.call('PEXPIRE', thread, keep)
  return 'unrouted'
end
if was_known then
  --@functions
  if known_post or expired then
    local sent = tonumber(string.match(place, ' (%-?%d+)$') or '')
    each_decided(decided, 'id', function(protocol, verdict)
      local since = redis.call('HGET', decided, 'since:' .. protocol)
      if since and sent and sent <= tonumber(since) then return end
      ask_review(outbox, decided, { member = member, protocol = protocol, why = 'edited', verdict = verdict, at = now }, 'edited')
    end)
  end
  if unrouted then redis.call('HDEL', thread, 'unrouted') end
  if known_story and known_story ~= story then leave_story(thread, member, now)
  else reach_story(thread, reach_ahead) end
  if redis.call('PERSIST', thread) == 1 then
    endless_kept(account, member)
    end_story(thread, now)
  end
  if known_post then set_head_start(thread, due, member, reach_ahead, protocol_ahead)
  else
    restore_numbers(thread, revisions, decided)
    if expired then redis.call('HSET', thread, 'expired', 1) end
    local early_reach = redis.call('GETDEL', early)
    if early_reach then
      forget_kept(account, reach_part(member))
      reach_ahead = math.max(reach_ahead, tonumber(early_reach))
    end
  end
  redis.call('UNLINK', images, orphans)
  for _, comment in ipairs(late) do
    drop_from_author(authors, sample, comment.id, comment.json)
    redis.call('HDEL', comments, comment.id)
    redis.call('ZREM', sample, comment.id)
    redis.call('HINCRBY', thread, 'late', 1)
    held.said = held.said - comment_bytes(comment.id, comment.json)
  end
  if post_only and threaded == '1' then redis.call('HDEL', thread, 'postOnly', 'final') end
end
for _, image in ipairs(aside) do redis.call('HSET', images, image.hash, image.url) end
-- All in one command.
local fields = { 'post', post, 'createdAt', created_at, 'share', share, 'postPlace', places_after, 'held', counted_bytes(held),
  'version', version and version + 1 or '1', 'postVersion', post_version and post_version + 1 or '1' }
local function set(name, value)
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
if threaded == '0' then
  set('postOnly', 1)
  set('countStage', 0)
end
local accepted = threaded == '1' and tonumber(n or '0') - #late or 0
if threaded == '0' or not known_post then set('accepted', accepted == 0 and '0' or accepted) end
if threaded == '1' and (post_only or not known_post) then set('nextAge', first_due) end
if not known_post then
  local base = base_of(incarnation, tonumber(created_at), tonumber(now), tonumber(keep))
  if base then redis.call('HSETNX', thread, 'base', base) end
  if tonumber(reach_ahead) > 0 then set('reachAhead', reach_ahead) end
  if protocol_ahead ~= '0' then set('protocolAhead', protocol_ahead) end
  if judged_at_once == '1' and not_before == '' and not due_since then set('dueSince', now) end
  if threaded == '0' and not_before ~= '' then set('nextAge', not_before) end
end
if story ~= '' and story ~= known_story then
  --@functions
  set('story', story)
  join_story(story_key(thread, story), reach_ahead)
end
redis.call('HSET', thread, unpack(fields))
if version and not counted then
  --@functions
  set_kept(account, member, size_of(held, member))
else change_kept(account, member, size_before, size_of(held, member)) end
if known_post then
  --@functions
  due_now(thread, due, member, now)
  return 'updated'
end
if judged_at_once == '1' and not_before ~= '' then set_due(due, member, not_before)
elseif judged_at_once == '1' then set_due(due, member, tonumber(now) - 1e15 - reach_ahead - tonumber(protocol_ahead))
else set_due(due, member, first_due) end
if accepted > 0 then
  --@functions
  pass_counts(thread, due, member, now, accepted - tonumber(over_author or '0'), tonumber(stage or '0'), counts)
end
return expired and 'updated' or 'judged'
