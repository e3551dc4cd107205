-- Takes back links of replies to a post, and what they took of what the tenant holds by this hour's links: never more than these.
--@include kept-bytes
--@key replies
--@arg member            the post's
--@arg gone[].reply      the reply's thread member
--@arg gone[].bytes      what its link took
--@arg key_bytes         what the first link of a post took beside it
--@arg now               wall time, ms
local bytes = 0
for _, one in ipairs(gone) do
  if redis.call('SREM', replies, one.reply) == 1 then bytes = bytes + tonumber(one.bytes) end
end
if bytes == 0 then return end
if redis.call('EXISTS', replies) == 0 then bytes = bytes + tonumber(key_bytes) end
local account, part = account_of(replies, member), links_part(now)
local held = tonumber(redis.call('HGET', account.parts, part) or '0')
if held > 0 then set_kept(account, part, held - bytes) end
