-- Takes a case over; see include/take-case.lua for what it returns. Nil if it isn't open, `suspended` if the fencing token is not
-- valid, `withheld` if it may not go on.
--@include fencing
--@include take-case
--@include withheld
--@key case
--@key journal
--@key lost
--@key open
--@key incarnation
--@key owners
--@arg id
--@arg now               wall time, ms
--@arg known             RUN@OPENED of the record that the caller has; empty if none
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg answered[]        keys of the answers that the caller has, if `known` is true of the case
if not holds(incarnation, incarnation_id, watermark, server_run) then return 'suspended' end
if redis.call('HGET', case, 'status') ~= 'open' then return nil end
if is_withheld(case, owners) then return 'withheld' end
return take_case(case, journal, lost, open, id, now, known, answered)
