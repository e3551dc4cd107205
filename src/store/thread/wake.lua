-- Threads that are dormant for a protocol become due at once; returns how many were looked at, and how many became due.
--@include due-now
--@key dormant
--@key due
--@key thread_prefix
--@arg limit             most threads to look at
--@arg now               wall time, ms
--@arg protocol
local members = redis.call('SPOP', dormant, limit)
local woken = 0
for _, member in ipairs(members) do
  local thread = thread_prefix .. member
  redis.call('HDEL', thread, 'dormant:' .. protocol)
  if redis.call('HEXISTS', thread, 'post') == 1 then
    due_now(thread, due, member, now)
    woken = woken + 1
  end
end
return { #members, woken }
