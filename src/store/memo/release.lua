-- Ends a holder's leases: others need not wait for its answers.
--@include memo/frame
--@key frame
--@arg holder
--@arg items[]
local released = {}
for i, one in ipairs((read_items(redis_now(), frame, items))) do
  if one.kind == 'l' and one.text == holder then released[#released + 1] = items[i] end
end
if #released > 0 then redis.call('HDEL', frame, unpack(released)) end
return 1
