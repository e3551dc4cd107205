-- Notes which sinks get a record of a subject by a protocol, and returns all that have had one.
--@include time
--@include kept-bytes
--@key notes             of this subject and protocol
--@arg member            of the thread
--@arg protocol
--@arg keep              how long they are kept from now on, ms
--@arg entries[]
for _, entry in ipairs(entries) do redis.call('SADD', notes, entry) end
local all = redis.call('SMEMBERS', notes)
if #all == 0 then return all end
local account, part = account_of(notes, member), sunk_part(protocol, member)
redis.call('PEXPIRE', notes, keep)
-- What a set takes beside its entries, and its name, twice; an entry is a hash of 16 characters.
set_kept(account, part, 200 + 2 * #part + 32 * #all)
end_kept(account, part, redis_now(), keep)
return all
