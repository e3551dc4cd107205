-- For a subject that a store without losses would have forgotten: keeps its revision numbers, and erases what an earlier state
-- of this store still has, open cases included. Returns 0 if the thread stays: it restarted with a later post, was deleted, or
-- has a revision that was not published.
--@include due
--@include drop-case
--@include kept-bytes
--@include story
--@key thread
--@key due
--@key open
--@key unworked
--@key case_prefix
--@key journal_prefix
--@key lost_prefix
--@key revisions
--@key comments
--@key sample
--@key authors
--@key images
--@key orphans
--@arg member
--@arg keep              how long the revisions' numbers are kept, ms
--@arg forgotten         when the thread would have been forgotten, ms
--@arg published[].protocol
--@arg published[].revision
local prefixes = { case = case_prefix, journal = journal_prefix, lost = lost_prefix }
for _, verdict in ipairs(published) do
  if tonumber(redis.call('HGET', revisions, verdict.protocol) or '0') < tonumber(verdict.revision) then
    redis.call('HSET', revisions, verdict.protocol, verdict.revision)
    redis.call('PEXPIRE', revisions, keep)
  end
end
local came = string.match(redis.call('HGET', thread, 'postPlace') or '', ' (%-?%d+)$')
if not came or tonumber(came) > tonumber(forgotten) or redis.call('HEXISTS', thread, 'deleted') == 1 then return 0 end
for _, verdict in ipairs(published) do
  if tonumber(redis.call('HGET', thread, 'rev:' .. verdict.protocol) or '0') > tonumber(verdict.revision) then return 0 end
end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  local id = string.match(field, '^open:') and redis.call('HGET', thread, field)
  if id and redis.call('HGET', case_prefix .. id, 'status') == 'open' then
    drop_case(open, unworked, prefixes, member, id)
  end
end
leave_story(thread, member, forgotten)
redis.call('UNLINK', thread, comments, sample, authors, images, orphans)
forget_kept(account_of(thread, member), member)
not_due(due, member)
return 1
