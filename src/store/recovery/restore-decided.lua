-- Puts what people decided of a subject beside its thread again, unless that or a later decision is known. Returns how much of it
-- was not known: nothing of a subject that was deleted. An open case that would end as a proposal which was published is dropped,
-- as it would end with other content under the same id; its subject is due at once.
--@include case-id
--@include decided
--@include place
--@include due-now
--@include drop-case
--@key thread
--@key decided
--@key outbox
--@key due
--@key open
--@key unworked
--@key case_prefix
--@key journal_prefix
--@key lost_prefix
--@arg member
--@arg now               wall time, ms
--@arg keep              how long is kept what people decided of which nothing stands, ms
--@arg all[].protocol
--@arg all[].verdict     the id of the verdict that it brought about; empty if there is none
--@arg all[].stands      1 if it is a human verdict that stands
--@arg all[].revision    the number of the last verdict that people brought about
--@arg all[].label       empty if it has none
--@arg all[].of          the decision's PARTITION@OFFSET
--@arg all[].by
--@arg all[].at          when it arrived, ms
--@arg all[].place       its place
--@arg all[].became      what came of it, and what its repeats have in common with it, JSON; empty if that is not known
--@arg all[].asked       what reviews were asked for, each between line feeds
--@arg all[].proposal    the highest number that machines' rulings have had; 0 for none
--@arg all[].untold      1 if what came of it is not on its topic
if redis.call('HEXISTS', thread, 'deleted') == 1 then return 0 end
local prefixes = { case = case_prefix, journal = journal_prefix, lost = lost_prefix }
local restored = 0
local function is_live()
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if string.match(field, '^rev:') then return true end
  end
  return false
end
for _, one in ipairs(all) do
  local protocol = one.protocol
  local function set(name, value)
    if value == '' then redis.call('HDEL', decided, name .. ':' .. protocol)
    else redis.call('HSET', decided, name .. ':' .. protocol, value) end
  end
  local number = redis.call('HGET', decided, 'proposal:' .. protocol)
  if tonumber(one.proposal) > tonumber(number or '0') then set('proposal', one.proposal) end
  local own = redis.call('HGET', thread, 'rev:' .. protocol)
  if own and tonumber(own) < tonumber(one.proposal) then redis.call('HSET', thread, 'rev:' .. protocol, one.proposal) end
  if not own and is_live() then
    -- Its verdict has left the topic, and others of the thread have not: nothing was forgotten.
    redis.call('HSET', thread, 'rev:' .. protocol, math.max(tonumber(one.revision), tonumber(one.proposal)), 'last:' .. protocol,
      one.revision, 'seen:' .. protocol, -1, 'final:' .. protocol, 1)
  end
  local id = redis.call('HGET', thread, 'open:' .. protocol)
  local case_number = id and tonumber(number_in(id))
  if case_number and case_number <= tonumber(one.proposal) and redis.call('HGET', case_prefix .. id, 'status') == 'open' then
    drop_case(open, unworked, prefixes, member, id)
    redis.call('HDEL', thread, 'open:' .. protocol, 'again:' .. protocol)
    redis.call('HSET', thread, 'seen:' .. protocol, -1)
    if redis.call('HEXISTS', thread, 'post') == 1 then due_now(thread, due, member, now) end
  end
  if not was_handled(redis.call('HGET', decided, 'last:' .. protocol), one.place) then
    set('id', one.stands == '1' and one.verdict or '')
    set('top', one.verdict)
    set('rev', one.revision)
    set('label', one.label)
    set('of', one.of)
    set('by', one.by)
    set('became', one.became)
    set('asked', one.asked)
    set('last', one.place)
    -- Messages from before it are no reason to look at it again.
    set('since', one.at)
    -- It was published; what machines said last stands on the topic alone.
    for _, name in ipairs({ 'deciding', 'machine' }) do set(name, '') end
    restored = restored + 1
    if one.untold == '1' then
      redis.call('XADD', outbox, '*', 'kind', 'outcome', 'member', member, 'protocol', protocol,
        'outcome', one.stands == '1' and 'stands' or 'withdrawn', 'of', one.of, 'revision', one.verdict == '' and 0 or one.revision,
        'label', one.label, 'by', one.by, 'at', one.at)
    end
  end
end
if #all > 0 then keep_decided(decided, keep) end
return restored
