-- Journals how an ask ended; the first write counts. Returns `stored` (also if the same entry is written again), `exists` if
-- there is another, `stale` if the case isn't open in this run; and how many answers the journal has now. What a lookup shows of
-- subjects is noted with the case; `deleted`, with nothing done, if one of them has been deleted.
--@key case
--@key journal
--@key owners
--@key shown_prefix
--@arg run
--@arg key               the ask's
--@arg entry             JSON
--@arg now               wall time, ms
--@arg keep_shown        how long it is known which cases were shown something, ms
--@arg shown_to          the case, as the eraser finds it
--@arg shown[]           the owners of what a lookup found
local status, latest = unpack(redis.call('HMGET', case, 'status', 'run'))
if status ~= 'open' or latest ~= run then return { 'stale', 0 } end
for _, owner in ipairs(shown) do
  if redis.call('ZSCORE', owners, owner) then return { 'deleted', 0 } end
end
local stored = redis.call('HSETNX', journal, key, entry) == 1 or redis.call('HGET', journal, key) == entry
if stored and #shown > 0 then
  for _, owner in ipairs(shown) do
    redis.call('ZREMRANGEBYSCORE', shown_prefix .. owner, '-inf', now - keep_shown)
    redis.call('ZADD', shown_prefix .. owner, now, shown_to)
    redis.call('PEXPIRE', shown_prefix .. owner, keep_shown)
  end
  local before = redis.call('HGET', case, 'shown')
  redis.call('HSET', case, 'shown', (before and before .. ' ' or '') .. table.concat(shown, ' '))
end
return { stored and 'stored' or 'exists', redis.call('HLEN', journal) }
