-- Gives the exporter's lease up, if it is this process's.
--@key holder
--@arg me
if redis.call('GET', holder) == me then redis.call('DEL', holder) end
