-- Writes a new or edited post to its thread; returns the outcome, or `still` if the data are not those that the caller knows.
--@include due-now
--@include revisions
--@include place
--@include authors
--@include fencing
--@key thread
--@key due
--@key orphans
--@key comments
--@key sample
--@key revisions
--@key authors
--@key incarnation
--@arg member
--@arg post              JSON
--@arg at                its createdAt, ms
--@arg first_due         the first age checkpoint, stream time in ms
--@arg now               wall time, ms
--@arg window            ms after the post in which comments belong to its thread
--@arg counts[]          count checkpoints, ascending
--@arg threaded          1 if some protocol reads the post with its comments
--@arg judged_at_once    1 if some protocol judges the post by itself
--@arg keep              how long a thread that nobody judges is remembered, ms
--@arg place             where the post stands in its topic; empty if unknown
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not has_reached(incarnation, incarnation_id, watermark, server_run) then return 'still' end
local known_post, n, stage, gone, last_place, over_author =
  unpack(redis.call('HMGET', thread, 'post', 'n', 'stage', 'gone', 'postPlace', 'crowd'))
if gone then return 'deleted' end
if known_post == post or was_taken(last_place, place) then return 'duplicate' end
local expired = not known_post and is_forgotten(thread, revisions)
local late = {}
if not known_post and threaded == '1' then
  local waiting = redis.call('HGETALL', comments)
  for i = 1, #waiting, 2 do
    -- Inside a text its quotes would be escaped.
    local created = string.match(waiting[i + 1], '"createdAt":(%-?%d+)')
    if created and (expired or tonumber(created) > tonumber(at) + tonumber(window)) then
      late[#late + 1] = { id = waiting[i], json = waiting[i + 1] }
    end
  end
end
if threaded == '0' then
  redis.call('DEL', orphans, comments, sample, authors)
  redis.call('HDEL', thread, 'n', 'stage', 'late', 'missing', 'crowd', 'draw', 'redrawn')
end
if threaded == '0' and judged_at_once == '0' and not known_post then
  not_due(due, member)
  redis.call('HSET', thread, 'unrouted', 1)
  redis.call('PEXPIRE', thread, keep)
  return 'unrouted'
end
redis.call('HDEL', thread, 'unrouted')
redis.call('PERSIST', thread)
if not known_post then
  restore_numbers(thread, revisions)
  local base = base_of(incarnation, tonumber(at), tonumber(now), tonumber(keep))
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
if known_post then
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
local accepted = threaded == '1' and tonumber(n or '0') or 0
for _, comment in ipairs(late) do
  drop_from_author(authors, sample, comment.id, comment.json)
  redis.call('HDEL', comments, comment.id)
  redis.call('ZREM', sample, comment.id)
  redis.call('HINCRBY', thread, 'late', 1)
  accepted = accepted - 1
end
redis.call('HSET', thread, 'n', accepted)
if threaded == '1' then
  pass_counts(thread, due, member, now, accepted - tonumber(over_author or '0'), tonumber(stage or '0'), counts)
end
return expired and 'updated' or 'judged'
