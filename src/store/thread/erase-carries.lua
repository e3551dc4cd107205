-- Replaces what revisions left to the next (their carry) and deletes the keys of published cases; returns `erased`. Returns
-- `opened` if a case is open that the caller does not know, `changed` if a carry is not as it was read; either leaves the
-- carries as they were. A ruling that is published again in place of a human verdict goes on without its words, unless a publisher
-- has it, and its subject is judged anew.
--@include withdraw
--@include due-now
--@key thread
--@key due
--@key outbox
--@key case_prefix
--@key hook_content      what webhooks are to be sent of it
--@key hook_root         what the keys of all deliveries begin with
--@key decided
--@key case_keys[]       case, journal and lost calls of published cases
--@arg member
--@arg group             the outbox's consumer group
--@arg now
--@arg open_ids[]        the open cases that the caller knows
--@arg changes[].protocol
--@arg changes[].before  the carry as it was read
--@arg changes[].after   empty if nothing is left of it
--@arg restored[].protocol
--@arg restored[].id     the ruling that is on its way out again
--@arg restored[].entry  its entry, as it was read
--@arg restored[].verdict  it without its words, JSON
for _, key in ipairs(case_keys) do redis.call('UNLINK', key) end
-- What is on its way to receivers goes on without its words.
for _, id in ipairs(redis.call('HKEYS', hook_content)) do
  set_content(account_of(thread, member), hook_content, id, redis.call('HGET', hook_root .. 'delivery:' .. id, 'bare'))
end
-- Rulings may quote what was deleted.
for _, field in ipairs(redis.call('HKEYS', thread)) do
  if string.match(field, '^ruling:') then redis.call('HDEL', thread, field) end
end
for _, field in ipairs(redis.call('HKEYS', decided)) do
  if string.match(field, '^machine:') then redis.call('HDEL', decided, field) end
end
-- A deleted post has no carry left, even if a publisher still has its last verdict.
if redis.call('HEXISTS', thread, 'deleted') == 1 then return 'erased' end
local known = {}
for _, id in ipairs(open_ids) do known[id] = true end
for _, field in ipairs(redis.call('HKEYS', thread)) do
  if string.match(field, '^open:') and not known[redis.call('HGET', thread, field)] then return 'opened' end
end
local read = {}
for _, one in ipairs(restored) do read[one.protocol] = one.id .. ' ' .. one.entry end
for _, field in ipairs(redis.call('HKEYS', decided)) do
  local protocol = string.match(field, '^deciding:(.+)$')
  if protocol and redis.call('HEXISTS', decided, 'id:' .. protocol) == 0 then
    local id = redis.call('HGET', decided, field)
    if read[protocol] ~= id .. ' ' .. (redis.call('HGET', case_prefix .. id, 'entry') or '') then return 'changed' end
  end
end
for _, change in ipairs(changes) do
  if redis.call('HGET', thread, 'carry:' .. change.protocol) ~= change.before then return 'changed' end
end
for _, change in ipairs(changes) do
  if change.after == '' then redis.call('HDEL', thread, 'carry:' .. change.protocol)
  else redis.call('HSET', thread, 'carry:' .. change.protocol, change.after) end
end
local last_ms, last_number = parse_entry(last_delivered(outbox, group))
for _, one in ipairs(restored) do
  local ms, number = parse_entry(one.entry)
  local waits = ms and (ms > last_ms or (ms == last_ms and number > last_number))
  local found = waits and redis.call('XRANGE', outbox, one.entry, one.entry)[1]
  if found then
    local fields = found[2]
    for i = 1, #fields, 2 do
      if fields[i] == 'verdict' then fields[i + 1] = one.verdict end
    end
    redis.call('XDEL', outbox, one.entry)
    redis.call('HSET', case_prefix .. one.id, 'entry', redis.call('XADD', outbox, '*', unpack(fields)))
  end
  if redis.call('HEXISTS', thread, 'rev:' .. one.protocol) == 1 then redis.call('HSET', thread, 'seen:' .. one.protocol, -1) end
end
if #restored > 0 and redis.call('HEXISTS', thread, 'post') == 1 then due_now(thread, due, member, tonumber(now)) end
-- No case opens with a carry, or with what is shown with it of other threads, that was read before.
local may_be_shown = string.find(member, '^[^:]*/comment:') or redis.call('HEXISTS', thread, 'story') == 1
local is_shown = may_be_shown and redis.call('HEXISTS', thread, 'post') == 1
if #changes > 0 or is_shown then redis.call('HINCRBY', thread, 'deletions', 1) end
return 'erased'
