-- A post has reached more people: it has a larger head start among its tenant's due threads. Returns the outcome, or `suspended`
-- if the data are not those that the caller knows.
--@include due
--@include fencing
--@include kept-bytes
--@include story
--@key thread
--@key early
--@key due
--@key incarnation
--@arg member
--@arg reach_ahead       ms
--@arg keep              how long it is remembered for a post that has not come yet, ms
--@arg now
--@arg most              bytes that its tenant may hold with it then; empty: no limit
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not has_reached(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
local gone, post, by_reach = unpack(redis.call('HMGET', thread, 'deleted', 'post', 'reachAhead'))
if gone then return 'deleted' end
local known = tonumber((post and by_reach or redis.call('GET', early)) or '0')
if tonumber(reach_ahead) <= known then return 'duplicate' end
if post then
  reach_story(thread, reach_ahead)
  set_head_start(thread, due, member, reach_ahead)
  return 'updated'
end
-- Its name stands in three keys.
local account, part, size = account_of(thread, member), reach_part(member), 500 + 3 * #string.match(member, ':(.*)$')
if not may_hold(account, part, size, most, now) then return 'late' end
redis.call('SET', early, reach_ahead, 'PX', keep)
set_kept(account, part, size)
end_kept(account, part, now, keep)
return 'updated'
