-- Extends the lease of a call from now; returns 0 if the ticket is gone.
--@include limit-window
--@key ticket
--@key in_flight[]       of its scopes
--@arg id                the ticket's
--@arg lease             ms
--@arg window            ms
--@arg width             of a bucket, ms
if redis.call('PEXPIRE', ticket, window + lease) == 0 then return 0 end
local ends = precise_now() + lease
for _, key in ipairs(in_flight) do
  redis.call('ZADD', key, ends, id)
  redis.call('PEXPIRE', key, lease + 2 * width)
end
return 1
