-- When the thread of a tenant that has been due for longest became due, wall time in ms; of many that of a sample. Nil if none is
-- due at once.
--@include due
--@key due
--@arg tenant
--@arg sample            how many to look at
local found = redis.call('ZRANDMEMBER', due .. ':' .. tenant, sample, 'WITHSCORES')
local oldest
for i = 1, #found, 2 do
  local at = tonumber(found[i + 1])
  if at < 0 then
    local since = at + head_start(thread_of(due, found[i])) + 1e15
    if not oldest or since < oldest then oldest = since end
  end
end
return oldest
