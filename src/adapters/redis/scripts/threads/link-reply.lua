-- Links a reply to a post; returns 0, with nothing done, if the post has been deleted.
--@key thread            the post's
--@key replies
--@arg reply             the reply's thread member
--@arg keep              ms
if redis.call('HEXISTS', thread, 'gone') == 1 then return 0 end
redis.call('SADD', replies, reply)
redis.call('PEXPIRE', replies, keep)
return 1
