-- Journals how an ask ended; the first write counts. Returns `stored` (also if the same entry is written again), `exists` if
-- there is another, `stale` if the case isn't open in this run; and how many answers the journal has now. A stored answer that
-- ends its round takes the case over too, if the fencing token is valid: third is then what include/take-case.lua returns. One
-- that came second does not: its own call has yet to be noted as lost. What a lookup shows of subjects is noted with the case;
-- `deleted`, with nothing done, if one of them has been deleted.
--@include fencing
--@include take-case
--@include withheld
--@key case
--@key journal
--@key lost
--@key open
--@key incarnation
--@key owners
--@key shown_prefix
--@arg run
--@arg key               the ask's
--@arg entry             JSON
--@arg ends_at           how many answers the journal has when the round has ended; 0 if the case is not to be taken over
--@arg id
--@arg now               wall time, ms
--@arg known             RUN@OPENED of the record that the caller has; empty if none
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg keep_shown        how long it is known which cases were shown something, ms
--@arg shown_to          the case, as whoever erases finds it
--@arg shown[]           the owners of what a lookup found
--@arg answered[]        keys of the answers that the caller has, if `known` is true of the case
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
local outcome, count = stored and 'stored' or 'exists', redis.call('HLEN', journal)
if not stored or ends_at == '0' or count < tonumber(ends_at) or is_withheld(case, owners)
  or not holds(incarnation, incarnation_id, watermark, server_run) then
  return { outcome, count }
end
answered[#answered + 1] = key
return { outcome, count, take_case(case, journal, lost, open, id, now, known, answered) }
