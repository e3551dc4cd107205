-- Takes an open case over: raises its epoch. Returns its record (empty if the caller has it), epoch, run, the journal's answers
-- that the caller lacks, and lost calls. Nil if it isn't open, `suspended` if the fencing token is not valid, `withheld` if it may
-- not go on.
--@include fencing
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
local status, record, run, opened = unpack(redis.call('HMGET', case, 'status', 'record', 'run', 'opened'))
if status ~= 'open' then return nil end
if is_withheld(case, owners) then return 'withheld' end
local epoch = redis.call('HINCRBY', case, 'epoch', 1)
redis.call('ZADD', open, 'XX', now, id)
local answers
local knows = run .. '@' .. (opened or '') == known
-- An answer that the caller has and the journal lacks was lost with the store: then all is read again.
for _, key in ipairs(answered) do knows = knows and redis.call('HEXISTS', journal, key) == 1 end
if knows then
  record, answers = '', {}
  local has = {}
  for _, key in ipairs(answered) do has[key] = true end
  for _, key in ipairs(redis.call('HKEYS', journal)) do
    if not has[key] then
      answers[#answers + 1] = key
      answers[#answers + 1] = redis.call('HGET', journal, key)
    end
  end
else
  answers = redis.call('HGETALL', journal)
end
return { record, tostring(epoch), run, answers, redis.call('LRANGE', lost, 0, -1) }
