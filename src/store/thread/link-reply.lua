-- Links a reply to a post; returns 1, 2 if it was linked before; or with nothing done 0 if the post has been deleted, -1 if it has as
-- many replies as it may.
--@key thread            the post's
--@key replies
--@arg reply             the reply's thread member
--@arg keep              ms
--@arg most              replies of one post
if redis.call('HEXISTS', thread, 'deleted') == 1 then return 0 end
if redis.call('SCARD', replies) >= tonumber(most) and redis.call('SISMEMBER', replies, reply) == 0 then return -1 end
local is_new = redis.call('SADD', replies, reply) == 1
if redis.call('PTTL', replies) < tonumber(keep) then redis.call('PEXPIRE', replies, keep) end
return is_new and 1 or 2
