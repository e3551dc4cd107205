-- Makes a thread due for protocols that are to judge it again; returns an outcome for each, in order, or `suspended` if the data are
-- not whole.
--@include ask-again
--@include due-now
--@key thread
--@key due
--@key incarnation
--@arg member
--@arg now               wall time, ms
--@arg asked[].protocol
--@arg asked[].revision          its last revision, which is to be followed
--@arg asked[].reads_comments    1 if it judges threads
if redis.call('HEXISTS', incarnation, 'lost') == 1 then return 'suspended' end
local outcomes, is_due_now = {}, false
for index, row in ipairs(asked) do
  local outcome, wakes = ask_again(thread, row.protocol, row.revision, row.reads_comments)
  outcomes[index] = outcome
  is_due_now = is_due_now or wakes
end
if is_due_now then due_now(thread, due, member, now) end
return outcomes
