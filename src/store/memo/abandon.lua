-- Ends an asker's leases, unless others wait for one of its answers; returns 0 then.
--@include memo/frame
--@key frame
--@arg asker
--@arg items[]
local given_up = {}
for i, one in ipairs((read_items(redis_now(), frame, items))) do
  if one.kind == 'l' and one.text == asker then
    if is_awaited(one) then return 0 end
    given_up[#given_up + 1] = items[i]
  end
end
if #given_up > 0 then redis.call('HDEL', frame, unpack(given_up)) end
return 1
