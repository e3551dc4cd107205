-- Takes an entry out of the outbox that was handed to a publisher and is not to be sent, because its case was shown content of a
-- subject that was deleted since. Returns 0, with nothing done, if it may be sent, or if another publisher has had it, too: it may be
-- on its topic.
--@include withheld
--@key outbox
--@key case
--@key owners
--@arg entry             its id in the stream
--@arg group             the outbox's consumer group
if not is_withheld(case, owners) then return 0 end
local pending = redis.call('XPENDING', outbox, group, entry, entry, 1)[1]
if not pending or pending[4] ~= 1 then return 0 end
redis.call('XACK', outbox, group, entry)
redis.call('XDEL', outbox, entry)
-- No stream has such an id: include/withdraw.lua knows by it that nobody will send the verdict.
if redis.call('HGET', case, 'entry') == entry then redis.call('HSET', case, 'entry', '0-0') end
return 1
