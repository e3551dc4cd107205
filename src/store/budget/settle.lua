-- Replaces what a call reserved by what it spent; returns `settled`, also when it is sent twice, or `unknown`.
--@include budget-accounts
--@key open
--@key ticket
--@arg id                the ticket's
--@arg tokens
--@arg nanos             nano US dollars
--@arg keep              how long the settled ticket stays, ms
local before = close_ticket(ticket, 'settled', tonumber(tokens), tonumber(nanos))
if not before then return 'unknown' end
redis.call('ZREM', open, id)
if before ~= 'settled' then redis.call('PEXPIRE', ticket, keep) end
return 'settled'
