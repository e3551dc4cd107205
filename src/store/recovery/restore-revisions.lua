-- Raises a thread's revisions to those on the verdicts topic. An open case whose revision was published is dropped: it would
-- end with other content under the same id. What was to be judged after it is due at once. If all messages are read again and
-- the thread has no post, it starts empty. Returns how many revisions were raised and cases dropped.
--@include due-now
--@include drop-case
--@key thread
--@key due
--@key open
--@key unworked
--@key case_prefix
--@key journal_prefix
--@key lost_prefix
--@key revisions
--@key outbox
--@key comments
--@key sample
--@key authors
--@key images
--@key orphans
--@arg member
--@arg group             the outbox's consumer group
--@arg keep              how long the revisions' numbers are kept, ms
--@arg now               wall time, ms
--@arg all_again         1 if every message that the topics hold is read again
--@arg published[].protocol
--@arg published[].revision
--@arg published[].final         1 if the verdict was a final one
--@arg published[].deleted       1 if it was a retraction
--@arg published[].contested     1 if it was published with two contents: the next revision has to settle which
local prefixes = { case = case_prefix, journal = journal_prefix, lost = lost_prefix }
local raised, given_up = 0, 0
if redis.call('HEXISTS', thread, 'deleted') == 1 then return { 0, 0 } end
-- Otherwise messages since it was forgotten would hide earlier ones.
if all_again == '1' and redis.call('HEXISTS', thread, 'post') == 0 then
  redis.call('UNLINK', thread, comments, sample, authors, images, orphans)
  forget_kept(account_of(thread, member), member)
  not_due(due, member)
end
for _, verdict in ipairs(published) do
  local protocol, revision = verdict.protocol, tonumber(verdict.revision)
  local known = tonumber(redis.call('HGET', thread, 'rev:' .. protocol) or '0')
  local is_behind = known < revision or (verdict.contested == '1' and known == revision)
  local id = redis.call('HGET', thread, 'open:' .. protocol)
  local status = id and redis.call('HGET', case_prefix .. id, 'status')
  if id and not status then redis.call('HDEL', thread, 'open:' .. protocol)
  elseif status == 'open' and known <= revision then
    drop_case(open, unworked, prefixes, member, id)
    redis.call('HDEL', thread, 'open:' .. protocol, 'again:' .. protocol)
    given_up, is_behind = given_up + 1, true
  elseif status == 'concluded' and known <= revision then
    -- It was published, with this content or another: what waits in the outbox is not sent again.
    local entry = redis.call('HGET', case_prefix .. id, 'entry')
    if entry then
      redis.call('XDEL', outbox, entry)
      -- A publisher that has it learns from this that it is not to be sent (outbox/keep-back.lua).
      redis.call('XACK', outbox, group, entry)
      redis.call('DEL', case_prefix .. id, journal_prefix .. id, lost_prefix .. id)
      redis.call('HDEL', thread, 'open:' .. protocol)
      if redis.call('HDEL', thread, 'again:' .. protocol) == 1 then is_behind = true end
    end
  end
  if verdict.deleted == '1' then
    for _, field in ipairs({ 'rev:', 'seen:', 'final:', 'carry:', 'last:', 'ruling:' }) do redis.call('HDEL', thread, field .. protocol) end
    redis.call('HDEL', revisions, protocol)
  elseif tonumber(redis.call('HGET', revisions, protocol) or '0') < revision then
    -- It was published, and outlives the thread.
    redis.call('HSET', revisions, protocol, verdict.revision)
    redis.call('PEXPIRE', revisions, keep)
  end
  if verdict.deleted ~= '1' and tonumber(redis.call('HGET', thread, 'last:' .. protocol) or '0') < revision then
    -- The next revision supersedes this one; what machines said last stands on the topic alone.
    redis.call('HSET', thread, 'last:' .. protocol, verdict.revision)
    redis.call('HDEL', thread, 'ruling:' .. protocol)
  end
  if verdict.deleted ~= '1' and is_behind then
    redis.call('HSET', thread, 'rev:' .. protocol, verdict.revision, 'seen:' .. protocol, -1, 'final:' .. protocol,
      verdict.final)
    redis.call('HDEL', thread, 'carry:' .. protocol)
    raised = raised + 1
  end
end
if redis.call('HEXISTS', thread, 'post') == 0 then redis.call('PEXPIRE', thread, keep)
elseif raised > 0 then due_now(thread, due, member, now) end
return { raised, given_up }
