-- Journals how an ask ended; the first write counts. Returns `stored` (also if the same entry is written again), `exists` if
-- there is another, `stale` if the case isn't open in this run; and how many answers the journal has now.
--@key case
--@key journal
--@arg run
--@arg key               the ask's
--@arg entry             JSON
local status, latest = unpack(redis.call('HMGET', case, 'status', 'run'))
if status ~= 'open' or latest ~= run then return { 'stale', 0 } end
local stored = redis.call('HSETNX', journal, key, entry) == 1 or redis.call('HGET', journal, key) == entry
return { stored and 'stored' or 'exists', redis.call('HLEN', journal) }
