-- Removes an entry that Kafka has acknowledged; its subject may open the next revision. Returns 0 if the case is still open,
-- because Redis has lost its conclusion: a recovery must find it open.
--@include due-now
--@include awaiting
--@include decided
--@include kept-bytes
--@key outbox
--@key due
--@key thread
--@key case
--@key journal
--@key lost
--@key comments
--@key sample
--@key authors
--@key images
--@key revisions
--@key erased
--@key decided
--@key answers           of the request, if it was asked
--@arg entry             its id in the stream
--@arg group             the outbox's consumer group
--@arg id                the case's; empty if the entry is no verdict
--@arg number            of the verdict that was published; empty if it is a proposal
--@arg protocol
--@arg member
--@arg is_asked          1 if it was asked apart from the stream
--@arg keep_journal      ms; so the next two
--@arg keep_after_final
--@arg keep_tombstone
--@arg now               wall time, ms
-- Whether every protocol that was asked has answered: nobody reads the question any more.
local function is_answered()
  local protocols = redis.call('HGET', answers, 'protocols')
  if not protocols then return false end
  for _, asked in ipairs(cjson.decode(protocols)) do
    if redis.call('HEXISTS', answers, 'verdict:' .. asked) == 0 then return false end
  end
  return true
end
redis.call('XACK', outbox, group, entry)
redis.call('XDEL', outbox, entry)
redis.call('HDEL', erased, entry)
if id == '' then return 1 end
if redis.call('HGET', case, 'status') == 'open' then return 0 end
-- Each case of a request has a copy of its words.
if is_asked == '1' then redis.call('UNLINK', case, journal, lost)
else for _, key in ipairs({ case, journal, lost }) do redis.call('PEXPIRE', key, keep_journal) end end
-- The thread's own number may be that of a later case.
if number ~= '' and redis.call('HEXISTS', thread, 'rev:' .. protocol) == 1 then
  if tonumber(number) > tonumber(redis.call('HGET', revisions, protocol) or '0') then
    redis.call('HSET', revisions, protocol, number)
    redis.call('HSET', thread, 'last:' .. protocol, number)
  end
  redis.call('PEXPIRE', revisions, keep_tombstone)
end
local was_decided = redis.call('HGET', decided, 'deciding:' .. protocol) == id
if was_decided then
  redis.call('HDEL', decided, 'deciding:' .. protocol)
  keep_decided(decided, keep_tombstone)
end
local was_open = redis.call('HGET', thread, 'open:' .. protocol) == id
if was_decided or was_open then
  if was_open then redis.call('HDEL', thread, 'open:' .. protocol) end
  -- The retraction of a subject that was deleted while a publisher had this verdict.
  local fields = { 'retractionId:' .. protocol, 'retractionVerdict:' .. protocol, 'retractionTranscript:' .. protocol }
  local retraction_id, verdict, transcript = unpack(redis.call('HMGET', thread, unpack(fields)))
  if retraction_id then
    redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', retraction_id, 'member', member, 'protocol', protocol,
      'verdict', verdict, 'transcript', transcript)
    redis.call('HDEL', thread, unpack(fields))
  end
  if redis.call('HEXISTS', thread, 'open:' .. protocol) == 0 and redis.call('HDEL', thread, 'again:' .. protocol) == 1 then
    due_now(thread, due, member, now)
  end
end
if redis.call('HEXISTS', thread, 'deleted') == 1 then return 1 end
local is_busy = is_due(due, member) or is_awaiting(thread)
local account = account_of(thread, member)
if is_asked == '1' and not is_busy and is_answered() then
  redis.call('UNLINK', thread, comments, sample, authors, images)
  forget_kept(account, member)
elseif redis.call('HEXISTS', thread, 'final') == 1 and not is_busy then
  for _, key in ipairs({ thread, comments, sample, authors, images }) do redis.call('PEXPIRE', key, keep_after_final) end
  end_kept(account, member, now, keep_after_final)
  end_story(thread, now, keep_after_final)
else
  if redis.call('PERSIST', thread) == 1 then
    endless_kept(account, member)
    end_story(thread, now)
  end
  for _, key in ipairs({ comments, sample, authors, images }) do redis.call('PERSIST', key) end
end
return 1
