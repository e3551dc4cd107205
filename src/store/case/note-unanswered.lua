-- Notes when asks of a protocol last waited for a model, unless the data are not the caller's: an emptied
-- Redis must stay one that nothing was written to.
--@key unanswered
--@key incarnation
--@arg protocol
--@arg at                ms since 1970
--@arg incarnation_id    of the caller's fencing token; empty for callers that don't watch the incarnation
if incarnation_id ~= '' and redis.call('HGET', incarnation, 'id') ~= incarnation_id then return 0 end
if tonumber(at) > tonumber(redis.call('HGET', unanswered, protocol) or 0) then redis.call('HSET', unanswered, protocol, at) end
return 1
