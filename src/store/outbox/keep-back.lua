-- Whether a publisher may send an entry that it has: `sendable`; `gone`, if the outbox has it no more, so that nothing waits for it;
-- or, if its case was shown content of a subject that was deleted since, `withheld` until it is erased, as it may be on its topic
-- already, or `kept-back`: it is out of the outbox, and its case can be restarted under its number.
--@include withheld
--@key outbox
--@key case
--@key owners
--@arg entry             its id in the stream
--@arg group             the outbox's consumer group
--@arg shown             1 if its case was shown content of other subjects
--@arg tried             1 if the publisher has begun to send it
local pending = redis.pcall('XPENDING', outbox, group, entry, entry, 1)
if pending.err and not string.find(pending.err, 'NOGROUP', 1, true) then return pending end
if pending.err or #pending == 0 then return 'gone' end
if shown ~= '1' or not is_withheld(case, owners) then return 'sendable' end
-- Another publisher has had it, too, where it was delivered more than once.
if tried == '1' or pending[1][4] ~= 1 then return 'withheld' end
redis.call('XACK', outbox, group, entry)
redis.call('XDEL', outbox, entry)
-- No stream has such an id: include/withdraw.lua knows by it that nobody will send the verdict.
if redis.call('HGET', case, 'entry') == entry then redis.call('HSET', case, 'entry', '0-0') end
return 'kept-back'
