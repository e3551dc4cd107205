-- Takes or renews the exporter's lease. Returns false to its holder, and to others what the holder has shared, or ''.
--@key holder
--@key shared
--@arg me
--@arg lease             ms
local now = redis.call('GET', holder)
if now and now ~= me then return redis.call('GET', shared) or '' end
redis.call('SET', holder, me, 'PX', lease)
return false
