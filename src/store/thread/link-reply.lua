-- Links a reply to a post; returns 1, 2 if it was linked before; or with nothing done 0 if the post has been deleted, -1 if it has as
-- many replies as it may. The post's tenant holds what the link takes.
--@include kept-bytes
--@key thread            the post's
--@key replies
--@arg member            the post's
--@arg reply             the reply's thread member
--@arg keep              ms
--@arg most              replies of one post
--@arg link_bytes        what the link takes; 0: it is counted elsewhere
--@arg key_bytes         what the first link of a post takes beside it
--@arg now               wall time, ms
if redis.call('HEXISTS', thread, 'deleted') == 1 then return 0 end
local linked = redis.call('SCARD', replies)
if linked >= tonumber(most) and redis.call('SISMEMBER', replies, reply) == 0 then return -1 end
local is_new = redis.call('SADD', replies, reply) == 1
if redis.call('PTTL', replies) < tonumber(keep) then redis.call('PEXPIRE', replies, keep) end
if is_new and tonumber(link_bytes) > 0 then
  local account, part = account_of(thread, member), links_part(now)
  grow_kept(account, part, tonumber(link_bytes) + (linked == 0 and tonumber(key_bytes) or 0))
  end_kept(account, part, now, keep)
end
return is_new and 1 or 2
