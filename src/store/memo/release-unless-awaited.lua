-- Ends a holder's leases, unless others wait for one of its answers; returns 0 then.
--@include memo/frame
--@key frame
--@arg holder
--@arg items[]
local released = {}
for i, one in ipairs((read_items(redis_now(), frame, items))) do
  if one.kind == 'l' and one.text == holder then
    if is_awaited(one) then return 0 end
    released[#released + 1] = items[i]
  end
end
if #released > 0 then redis.call('HDEL', frame, unpack(released)) end
return 1
