-- Threads that are due by the stream's time take their places among those that are due at once.
--@include due
--@key due
--@arg until_time        the end of a range of scores
--@arg now               wall time, ms
--@arg most              threads
--@arg put_back          how much later, ms, those that a protocol has judged before
local left, back = tonumber(most), tonumber(put_back)
local function later(member)
  if back == 0 then return 0 end
  for _, field in ipairs(redis.call('HKEYS', thread_of(due, member))) do
    if string.match(field, '^rev:') then return back end
  end
  return 0
end
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)) do
  local members = redis.call('ZRANGEBYSCORE', due .. ':' .. tenant, '0', until_time, 'LIMIT', 0, left)
  for _, member in ipairs(members) do
    local thread = thread_of(due, member)
    redis.call('ZADD', due .. ':' .. tenant, at_once(due, member, now) + later(member), member)
    if redis.call('EXISTS', thread) == 1 then redis.call('HSETNX', thread, 'dueSince', now) end
  end
  if #members > 0 then update_earliest(due, tenant) end
  left = left - #members
  if left <= 0 then break end
end
return 0
