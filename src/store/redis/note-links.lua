-- Notes the trace contexts that a subject's messages came with, the newest first, and counts them to its tenant; none: forgets those
-- that it has.
--@include kept-bytes
--@key traces
--@arg member
--@arg contexts[]
--@arg most              how many are kept
--@arg keep              how long, ms
--@arg now
local account, part = account_of(traces, member), traces_part(member)
if #contexts == 0 then
  redis.call('DEL', traces)
  return forget_kept(account, part)
end
redis.call('LPUSH', traces, unpack(contexts))
redis.call('LTRIM', traces, 0, most - 1)
redis.call('PEXPIRE', traces, keep)
set_kept(account, part, 300 + #member + (#contexts[1] + 10) * redis.call('LLEN', traces))
end_kept(account, part, now, keep)
