-- Writes stream marks, unless the data are not the caller's: an emptied Redis must stay one that nothing was written to.
--@key marks
--@key incarnation
--@arg incarnation_id    of the caller's fencing token; empty for callers that don't watch the incarnation
--@arg written[].partition     TOPIC/PARTITION
--@arg written[].mark          JSON
if incarnation_id ~= '' and redis.call('HGET', incarnation, 'id') ~= incarnation_id then return 0 end
for _, one in ipairs(written) do redis.call('HSET', marks, one.partition, one.mark) end
return 1
