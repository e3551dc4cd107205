-- Erases a thread with its cases and leaves a tombstone; returns `deleted`, `duplicate`, or `changed` with nothing done if a
-- revision was opened since the caller read the thread. Each protocol's retraction is published after the revision that it
-- retracts: while a publisher has that one, the retraction waits in the tombstone (the fields retractionId:,
-- retractionVerdict: and retractionTranscript:). A verdict that no publisher has taken is withdrawn. Also a repeated deletion
-- notes that the subject was deleted.
--@include due
--@include open-counts
--@include withdraw
--@include note-deleted
--@include decided
--@include deleted-bytes
--@include story
--@key thread
--@key comments
--@key sample
--@key authors
--@key images
--@key due
--@key orphans
--@key open
--@key unworked
--@key outbox
--@key case_prefix
--@key revisions
--@key decided
--@key erased
--@key owners
--@key shelf_erasures
--@key case_erasures
--@key shown
--@key hook_content      what webhooks are to be sent of it
--@key case_keys[]       case, journal and lost calls of each of the thread's cases
--@arg member
--@arg owner             the subject as shelves know it
--@arg keep              how long the tombstone is kept, ms
--@arg now               wall time, ms
--@arg group             the outbox's consumer group
--@arg retractions[].protocol
--@arg retractions[].revision    the highest number that was given, to a revision or a proposal
--@arg retractions[].case_id
--@arg retractions[].verdict     JSON
--@arg retractions[].transcript  JSON
local erasures = { owners = owners, shelves = shelf_erasures, cases = case_erasures }
if redis.call('HEXISTS', thread, 'deleted') == 1 then
  note_deleted(erasures, shown, owner)
  return 'duplicate'
end
local fields = redis.call('HKEYS', thread)
local last = {}
local function note(protocol, revision) last[protocol] = math.max(last[protocol] or 0, tonumber(revision)) end
for _, field in ipairs(fields) do
  local protocol = string.match(field, '^rev:(.+)$')
  if protocol then note(protocol, redis.call('HGET', thread, field)) end
end
local numbers = redis.call('HGETALL', revisions)
for i = 1, #numbers, 2 do note(numbers[i], numbers[i + 1]) end
for _, kind in ipairs({ 'rev', 'proposal' }) do each_decided(decided, kind, note) end
for _, retraction in ipairs(retractions) do
  if last[retraction.protocol] ~= tonumber(retraction.revision) then return 'changed' end
  last[retraction.protocol] = nil
end
if next(last) then return 'changed' end
note_deleted(erasures, shown, owner)
-- By protocol: the case whose verdict a publisher has.
local in_flight = {}
for _, field in ipairs(fields) do
  if string.sub(field, 1, 5) == 'open:' then
    local id = redis.call('HGET', thread, field)
    if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1)
    elseif redis.call('ZREM', unworked, id) == 1 then -- It was open, and is not counted.
    elseif redis.call('EXISTS', case_prefix .. id) == 1 then
      local protocol = string.sub(field, 6)
      if not withdraw(case_prefix .. id, outbox, erased, group, id, protocol, member) then in_flight[protocol] = id end
    end
  end
end
each_decided(decided, 'deciding', function(protocol, id)
  if redis.call('EXISTS', case_prefix .. id) == 0 then return end
  if not withdraw(case_prefix .. id, outbox, erased, group, id, protocol, member) then in_flight[protocol] = id end
end)
each_decided(decided, 'id', function(protocol)
  local of, number, label, by = unpack(redis.call('HMGET', decided, 'of:' .. protocol, 'rev:' .. protocol, 'label:' .. protocol,
    'by:' .. protocol))
  redis.call('XADD', outbox, '*', 'kind', 'outcome', 'member', member, 'protocol', protocol, 'outcome', 'deleted', 'of', of,
    'revision', number, 'label', label, 'by', by, 'at', string.format('%.0f', redis_now()))
end)
for _, id in ipairs(redis.call('HKEYS', hook_content)) do set_content(account_of(thread, member), hook_content, id) end
leave_story(thread, member, now)
each_decided(decided, 'story', function(_, id) forget_in_story(story_key(thread, id), member) end)
redis.call('UNLINK', decided, thread, comments, sample, authors, images, orphans)
for _, key in ipairs(case_keys) do redis.call('UNLINK', key) end
hold_deleted(account_of(thread, member), member, now, keep)
not_due(due, member)
redis.call('HSET', thread, 'deleted', 1)
for _, retraction in ipairs(retractions) do
  local protocol, id = retraction.protocol, retraction.case_id
  redis.call('HSET', thread, 'rev:' .. protocol, tonumber(retraction.revision) + 1)
  if in_flight[protocol] then
    redis.call('HSET', thread, 'open:' .. protocol, in_flight[protocol], 'retractionId:' .. protocol, id,
      'retractionVerdict:' .. protocol, retraction.verdict, 'retractionTranscript:' .. protocol, retraction.transcript)
  else
    redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', id, 'member', member, 'protocol', protocol,
      'verdict', retraction.verdict, 'transcript', retraction.transcript)
  end
end
redis.call('PEXPIRE', thread, keep)
return 'deleted'
