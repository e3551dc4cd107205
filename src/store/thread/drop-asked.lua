-- Erases a request: its thread, its cases with their journals, its verdicts in the outbox and its answer, of which is left that it
-- was erased. Returns 1; 0 if nothing is known of it.
--@include due
--@include drop-case
--@include kept-bytes
--@include withdraw
--@key thread
--@key comments
--@key images
--@key revisions
--@key answers
--@key hook_content      what webhooks are to be sent of it
--@key requests          what was asked under the same subject's id
--@key due
--@key open
--@key unworked
--@key outbox
--@key erased
--@key case_prefix
--@key journal_prefix
--@key lost_prefix
--@arg member
--@arg group             the outbox's consumer group
--@arg scope             what stands behind the protocol's name in the ids of its cases, up to the revision's number
local was_known = redis.call('EXISTS', thread, answers) > 0
local prefixes = { case = case_prefix, journal = journal_prefix, lost = lost_prefix }
local function drop_revisions(protocol, last)
  for number = 1, tonumber(last) do
    local id = protocol .. scope .. number
    -- A publisher that has its verdict puts it nowhere, since the answer is erased.
    if redis.call('HGET', case_prefix .. id, 'status') == 'concluded' then
      withdraw(case_prefix .. id, outbox, erased, group, id, protocol, member)
    end
    drop_case(open, unworked, prefixes, member, id)
  end
end
local fields = redis.call('HGETALL', thread)
for i = 1, #fields, 2 do
  local protocol = string.match(fields[i], '^rev:(.+)$')
  if protocol then drop_revisions(protocol, fields[i + 1]) end
end
local account = account_of(thread, member)
for _, id in ipairs(redis.call('HKEYS', hook_content)) do set_content(account, hook_content, id) end
redis.call('UNLINK', thread, comments, images, revisions)
for _, part in ipairs({ member, answer_part(member) }) do forget_kept(account, part) end
not_due(due, member)
redis.call('SREM', requests, member)
for _, field in ipairs(redis.call('HKEYS', answers)) do
  if string.match(field, '^verdict:') or string.match(field, '^transcript:') then redis.call('HDEL', answers, field) end
end
if redis.call('EXISTS', answers) == 1 then
  redis.call('HSET', answers, 'erased', 1)
  redis.call('HDEL', answers, 'subject', 'hook')
end
return was_known and 1 or 0
