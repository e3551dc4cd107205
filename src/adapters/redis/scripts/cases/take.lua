-- Takes a case over: raises its epoch. Returns its record (empty if the caller has it), epoch, run, the journal's answers that
-- the caller lacks, and lost calls; nil if it isn't open, `still` if the fencing token is not valid.
--@include fencing
--@key case
--@key journal
--@key lost
--@key open
--@key incarnation
--@arg id
--@arg now               wall time, ms
--@arg known             RUN@OPENED of the record that the caller has; empty if none
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg answered[]        keys of the answers that the caller has, if `known` is true of the case
if not holds(incarnation, incarnation_id, watermark, server_run) then return 'still' end
local status, record, run, opened = unpack(redis.call('HMGET', case, 'status', 'record', 'run', 'opened'))
if status ~= 'open' then return nil end
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
