-- Ends a call: replaces its reserved tokens by those it used, and gives the call back if none was made (a refund). The ticket is
-- deleted, so that sending it again does nothing; returns 0 then.
--@include limit-window
--@key ticket
--@key scopes[].window
--@key scopes[].in_flight
--@arg id                the ticket's
--@arg used              tokens
--@arg calls_back        1 for a refund, else 0
--@arg width             of a bucket, ms
--@arg span              buckets in the window
local known = redis.call('GETDEL', ticket)
if not known then return 0 end
local granted, reserved = string.match(known, '^%S+ (%S+) (%S+)$')
granted = tonumber(granted)
local bucket_ms, buckets, back = tonumber(width), tonumber(span), tonumber(calls_back)
local bucket = math.floor(precise_now() / bucket_ms)
local more = used - reserved
for _, scope in ipairs(scopes) do
  redis.call('ZREM', scope.in_flight, id)
  local slid = slide(scope.window, bucket - buckets, buckets, more > 0 and bucket or granted)
  if more > 0 then record(slid, 0, more, (buckets + 2) * bucket_ms)
  elseif slid.oldest and granted >= slid.oldest and (more < 0 or back > 0) then
    redis.call('HSET', scope.window, 'calls', slid.calls - back, 'tokens', slid.tokens + more,
      'c' .. granted, slid.at_calls - back, 't' .. granted, slid.at_tokens + more)
  end
end
return 1
