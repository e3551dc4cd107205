-- Notes how much of the thread a protocol's revision has seen, if thread and revision are as the caller read them; else 0.
--@key thread
--@arg protocol
--@arg revision
--@arg version           the thread's
--@arg seen              the version that the revision has seen
local now_revision, now_version = unpack(redis.call('HMGET', thread, 'rev:' .. protocol, 'version'))
if now_revision ~= revision or now_version ~= version then return 0 end
redis.call('HSET', thread, 'seen:' .. protocol, seen)
return 1
