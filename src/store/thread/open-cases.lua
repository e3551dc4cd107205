-- Opens cases on a thread as the caller read it, one per protocol; returns the ids of the opened cases.
--@include due
--@include open-counts
--@include awaiting
--@include fencing
--@include kept-bytes
--@include story
--@key thread
--@key due
--@key open
--@key case_prefix
--@key dormant_prefix
--@key comments
--@key sample
--@key authors
--@key images
--@key paused
--@key incarnation
--@key decided
--@arg member
--@arg version           the thread's version as it was read
--@arg generation        likewise its generation
--@arg deletions         likewise how often comments were deleted from it
--@arg next_due          when the thread is due next, stream time in ms; empty if never
--@arg final             1 if these are the last cases for the snapshot
--@arg now               wall time, ms
--@arg keep              how long a thread is kept after its last verdict, ms
--@arg waiting[]         protocols that wait for the verdict of their open case
--@arg dormant[]         protocols that are paused
--@arg absent[]          protocols that are off here and have judged the thread
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg cases[].protocol
--@arg cases[].id
--@arg cases[].revision
--@arg cases[].seen      the thread's version that it sees
--@arg cases[].final     1 if its verdict is a final one
--@arg cases[].record    JSON
local opened = {}
if not holds(incarnation, incarnation_id, watermark, server_run) then return opened end
if redis.call('HEXISTS', thread, 'deleted') == 1 or redis.call('HEXISTS', thread, 'post') == 0 then return opened end
-- No case opens on a comment that has been deleted since it was read.
if (redis.call('HGET', thread, 'deletions') or '0') ~= deletions then return opened end
-- After this the thread is not looked at again: messages since it was read would never be judged.
if next_due == '' and redis.call('HGET', thread, 'version') ~= version then return opened end
-- A verdict that people brought about is on its way out: the next one follows when it is there.
local function is_busy(protocol)
  return redis.call('HEXISTS', thread, 'open:' .. protocol) == 1 or redis.call('HEXISTS', decided, 'deciding:' .. protocol) == 1
end
-- A question is opened once: its words go with its last verdict, whoever else opened it beside.
local is_question = string.find(member, '^[^:]*/asked:') ~= nil
local function judge_again(protocol)
  if not is_question then redis.call('HSET', thread, 'again:' .. protocol, 1) end
end
local missed = false
for _, protocol in ipairs(waiting) do
  if is_busy(protocol) then judge_again(protocol)
  else missed = true end
end
for _, protocol in ipairs(absent) do
  if is_busy(protocol) then judge_again(protocol)
  elseif redis.call('HGET', thread, 'absent:' .. protocol) ~= version then
    -- Once per change: otherwise two kinds of processes would wake each other forever.
    redis.call('HSET', thread, 'absent:' .. protocol, version)
    local is_permanent = redis.call('PTTL', dormant_prefix .. protocol) == -1
    redis.call('SADD', dormant_prefix .. protocol, member)
    if not is_permanent then redis.call('PEXPIRE', dormant_prefix .. protocol, keep) end
  end
end
for _, protocol in ipairs(dormant) do
  if redis.call('SISMEMBER', paused, protocol) == 1 then
    redis.call('SADD', dormant_prefix .. protocol, member)
    redis.call('PERSIST', dormant_prefix .. protocol)
    redis.call('HSET', thread, 'dormant:' .. protocol, 1)
  else missed = true end
end
for _, case in ipairs(cases) do
  local protocol, id = case.protocol, case.id
  local number = redis.call('HGET', thread, 'rev:' .. protocol) or redis.call('HGET', thread, 'base') or '0'
  if is_busy(protocol) then
    judge_again(protocol)
    final = '0'
  elseif tonumber(number) == tonumber(case.revision) - 1 then
    redis.call('HSET', thread, 'rev:' .. protocol, case.revision, 'open:' .. protocol, id, 'seen:' .. protocol, case.seen,
      'final:' .. protocol, case.final)
    redis.call('HSET', case_prefix .. id, 'record', case.record, 'epoch', 0, 'run', 0, 'opened', now, 'status', 'open')
    redis.call('ZADD', open, now, id)
    opened[#opened + 1] = id
  end
end
if #opened > 0 then count_open(open, member, #opened) end
-- Unless the thread became due again meanwhile, its generation has been observed.
if not missed and (redis.call('HGET', thread, 'generation') or '0') == generation then
  redis.call('HDEL', thread, 'dueSince')
  redis.call('HSET', thread, 'observedGeneration', generation)
  if next_due == '' then
    not_due(due, member)
    redis.call('HDEL', thread, 'nextAge')
  else
    set_due(due, member, next_due)
    redis.call('HSET', thread, 'nextAge', next_due)
  end
end
if final == '1' then
  redis.call('HSET', thread, 'final', 1)
  if not (is_due(due, member) or is_awaiting(thread)) then
    for _, key in ipairs({ thread, comments, sample, authors, images }) do redis.call('PEXPIRE', key, keep) end
    end_kept(account_of(thread, member), member, now, keep)
    end_story(thread, now, keep)
  end
end
return opened
