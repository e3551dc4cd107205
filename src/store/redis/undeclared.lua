-- Reads a key that the call does not name among its keys, as scripts do that build names of keys.
--@key probe
--@arg other
return redis.call('EXISTS', probe) + redis.call('EXISTS', other)
