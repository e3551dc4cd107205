-- Says for some seconds that a broker refuses what is published, unless the data are not the caller's: an emptied Redis
-- must stay one that nothing was written to.
--@key closure
--@key incarnation
--@arg why
--@arg ms
--@arg incarnation_id    of the caller's fencing token; empty for callers that don't watch the incarnation
if incarnation_id ~= '' and redis.call('HGET', incarnation, 'id') ~= incarnation_id then return 0 end
redis.call('SET', closure, why, 'PX', ms)
return 1
