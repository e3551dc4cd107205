-- Notes the trace contexts that a subject's messages came with, the newest first, and counts them to its tenant; none: forgets those
-- that it has. Where its tenant holds all that it may, nothing is noted of a subject that has none.
--@include kept-bytes
--@key traces
--@arg member
--@arg contexts[]
--@arg newest            how many are kept
--@arg keep              how long, ms
--@arg now               ms
--@arg most              bytes that its tenant may hold; empty: no limit
local account, part = account_of(traces, member), traces_part(member)
if #contexts == 0 then
  redis.call('DEL', traces)
  return forget_kept(account, part)
end
local function size_with(count) return 300 + #member + (#contexts[1] + 10) * count end
if redis.call('EXISTS', traces) == 0 and not may_hold(account, part, size_with(#contexts), most, now) then return end
redis.call('LPUSH', traces, unpack(contexts))
redis.call('LTRIM', traces, 0, newest - 1)
redis.call('PEXPIRE', traces, keep)
set_kept(account, part, size_with(redis.call('LLEN', traces)))
end_kept(account, part, now, keep)
