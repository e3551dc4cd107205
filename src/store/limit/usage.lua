-- Returns for each scope { calls, tokens, calls in flight }: what its window holds now.
--@include limit-window
--@key scopes[].window
--@key scopes[].in_flight
--@arg width             of a bucket, ms
--@arg span              buckets in the window
local now = precise_now()
local bucket = math.floor(now / tonumber(width))
local used = {}
for i, scope in ipairs(scopes) do
  local slid = slide(scope.window, bucket - tonumber(span), tonumber(span), bucket)
  used[i] = { slid.calls, slid.tokens, redis.call('ZCOUNT', scope.in_flight, '(' .. now, '+inf') }
end
return used
