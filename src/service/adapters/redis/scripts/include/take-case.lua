-- Takes an open case over: raises its epoch. Returns its record (empty if the caller has it), epoch, run, the journal's answers
-- that the caller lacks, and lost calls. `known` is RUN@OPENED of the record that the caller has, empty if none; `answered` are
-- the keys of the answers that it has, if `known` is true of the case.
local function take_case(case, journal, lost, open, id, now, known, answered)
  local record, run, opened = unpack(redis.call('HMGET', case, 'record', 'run', 'opened'))
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
end
