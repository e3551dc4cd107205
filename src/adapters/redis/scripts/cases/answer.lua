-- Journals how an ask ended; the first write counts. Returns `stored` (also if the same entry is written again), `exists` if
-- there is another, `stale` if the case isn't open in this run.
--@key case
--@key journal
--@arg run
--@arg key               the ask's
--@arg entry             JSON
local status, latest = unpack(redis.call('HMGET', case, 'status', 'run'))
if status ~= 'open' or latest ~= run then return 'stale' end
if redis.call('HSETNX', journal, key, entry) == 1 then return 'stored' end
if redis.call('HGET', journal, key) == entry then return 'stored' end
return 'exists'
