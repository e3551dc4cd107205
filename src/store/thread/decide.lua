-- Carries out a person's decision, once. Replies `suspended` if the data are not those that the caller knows, `duplicate` if it was
-- handled before, at this place or, where an acknowledgement was lost, at another, `deleted`, `unknown` (nothing is known of the subject), `waiting` (a verdict is on its way out), `noted` (a second
-- opinion), `late` with the number of the verdict that it was to be against, `changed` with what the caller needs to write the
-- verdict, or `stands` or `withdrawn` with the id of the verdict that was put into the outbox, if one was.
--@include case-id
--@include decided
--@include fencing
--@include place
--@include due-now
--@include story
--@key thread
--@key revisions
--@key decided
--@key due
--@key outbox
--@key incarnation
--@key case_prefix
--@key told
--@arg member
--@arg protocol
--@arg of                the decision's PARTITION@OFFSET
--@arg place             its place
--@arg same              what its repeats at other places have in common with it
--@arg withdraw          1 if it takes a human verdict back
--@arg against           the revision that the person saw
--@arg force             1 if it stands whatever came since
--@arg opinion           1 if it is a second opinion
--@arg golden            1 if that is of a golden item, which disputes nothing
--@arg label
--@arg by
--@arg at                when it arrived, ms
--@arg now               wall time, ms
--@arg keep              how long is kept what people decided of which nothing stands, ms
--@arg keep_told         how long the outcome of a decision can be read, ms
--@arg told_bytes        that this takes
--@arg scope             what the ids of the subject's verdicts have before their number
--@arg number            the verdict's, as the caller has read it; empty at first
--@arg machine           the machines' last ruling, likewise; beneath the human verdict, if one stands
--@arg verdict           JSON; empty to have the subject judged anew
--@arg transcript        JSON
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not holds(incarnation, incarnation_id, watermark, server_run) then return { 'suspended' } end
local function tell(outcome, ...)
  local reply = { outcome, ... }
  redis.call('SET', told, cjson.encode(reply), 'PX', keep_told)
  local account = account_of(thread, member)
  set_kept(account, told_part(of), tonumber(told_bytes))
  end_kept(account, told_part(of), now, keep_told)
  return reply
end
local function of_protocol(name) return redis.call('HGET', decided, name .. ':' .. protocol) end
local last = of_protocol('last')
if was_handled(last, place) then return { 'duplicate' } end
-- Read again after a crash, it stays what its dead letter says, whatever has come of the subject meanwhile.
local earlier = redis.call('GET', told)
if earlier and cjson.decode(earlier)[1] == 'unknown' then return { 'unknown' } end
local before = of_protocol('became')
if before and cjson.decode(before).same == same then
  redis.call('HSET', decided, 'last:' .. protocol, later_places(last, place))
  tell(unpack(cjson.decode(before).reply))
  return { 'duplicate' }
end
local gone, post, expired, base, thread_number, open_id, was_last =
  unpack(redis.call('HMGET', thread, 'deleted', 'post', 'expired', 'base', 'rev:' .. protocol, 'open:' .. protocol, 'last:' .. protocol))
if gone then return tell('deleted') end
local function number_of(text) return tonumber(text or '0') end
local standing, top_number = of_protocol('id'), number_of(of_protocol('rev'))
local published = math.max(number_of(redis.call('HGET', revisions, protocol)), number_of(was_last), top_number)
if published == 0 and not open_id then published = number_of(thread_number) end
if published == 0 and not post and force ~= '1' then return tell('unknown') end
local function handled(...)
  redis.call('HSET', decided, 'last:' .. protocol, later_places(last, place), 'became:' .. protocol, cjson.encode({ same = same, reply = { ... } }))
  keep_decided(decided, keep)
  return tell(...)
end
if opinion == '1' then
  local said = of_protocol('label')
  if standing and said ~= label and golden ~= '1' then
    ask_review(outbox, decided, { member = member, protocol = protocol, why = 'disputed', verdict = standing, label = label,
      of = of, by = by, at = at })
  end
  return handled('noted')
end
local is_open = open_id and redis.call('HGET', case_prefix .. open_id, 'status') == 'open'
-- What was decided is on its way to the topic, and is the last one as soon as it is there.
if of_protocol('deciding') or (open_id and not is_open) then return { 'waiting' } end
local wanted = withdraw == '1' and top_number or published
if (withdraw == '1' and not standing) or (tonumber(against) ~= wanted and force ~= '1') then
  ask_review(outbox, decided, { member = member, protocol = protocol, why = 'refused',
    verdict = scope .. string.format('%.0f', published), label = withdraw == '1' and '' or label, of = of, by = by, at = at })
  return handled('late', string.format('%.0f', published))
end
local next = math.max(published, number_of(thread_number), number_of(base), number_of(of_protocol('proposal'))) + 1
local is_first = next == 1 and not post
if is_first then next = math.floor(tonumber(now) / 1000) end
local is_live = post and not expired
local ruling = redis.call('HGET', thread, 'ruling:' .. protocol)
local kept = (standing and of_protocol('machine') or not standing and ruling) or ''
if number == '' or tonumber(number) ~= next or kept ~= machine or (verdict == '' and not is_live) then
  return { 'changed', string.format('%.0f', next), string.format('%.0f', published), kept, is_live and 1 or 0 }
end
local id, outcome = scope .. number, withdraw == '1' and 'withdrawn' or 'stands'
if withdraw == '1' then
  for _, name in ipairs({ 'id:', 'machine:' }) do redis.call('HDEL', decided, name .. protocol) end
  -- What machines said last, also for a later decision.
  if post and kept ~= '' then redis.call('HSET', thread, 'ruling:' .. protocol, kept)
  else redis.call('HDEL', thread, 'ruling:' .. protocol) end
else
  if not standing then
    if ruling then redis.call('HSET', decided, 'machine:' .. protocol, ruling)
    else redis.call('HDEL', decided, 'machine:' .. protocol) end
  end
  redis.call('HSET', decided, 'id:' .. protocol, id)
end
redis.call('HDEL', decided, 'asked:' .. protocol)
verdict = tell_story(thread, member, { by = withdraw == '1' and 'withdrawal' or 'person', protocol = protocol, label = label, id = id,
  verdict = verdict, opposed = {}, now = now })
local of_story = redis.call('HGET', thread, 'story')
if of_story then redis.call('HSET', decided, 'story:' .. protocol, of_story) end
if is_first then redis.call('HSET', decided, 'ahead:' .. protocol, 1) end
redis.call('HSET', decided, 'of:' .. protocol, of, 'by:' .. protocol, by)
if verdict ~= '' then
  redis.call('HSET', decided, 'top:' .. protocol, id, 'label:' .. protocol, label, 'rev:' .. protocol, number,
    'deciding:' .. protocol, id)
  local entry = redis.call('XADD', outbox, '*', 'kind', 'verdict', 'case', id, 'member', member, 'protocol', protocol,
    'verdict', verdict, 'transcript', transcript)
  -- A deletion finds it by that, and takes it back or follows it.
  redis.call('HSET', case_prefix .. id, 'status', 'concluded', 'entry', entry)
  if post then redis.call('HSET', thread, 'rev:' .. protocol, number, 'last:' .. protocol, number) end
end
if withdraw == '1' and is_live and (verdict == '' or is_open) then
  -- Judged anew, or once more after the case that ends beneath what took the place of the human verdict.
  local is_last = is_open and verdict == '' and number_in(open_id) == thread_number
  if not is_last then
    redis.call('HSET', thread, 'seen:' .. protocol, -1)
    if is_open then redis.call('HSET', thread, 'again:' .. protocol, 1) else due_now(thread, due, member, now) end
  end
end
redis.call('XADD', outbox, '*', 'kind', 'outcome', 'member', member, 'protocol', protocol, 'outcome', outcome, 'of', of,
  'revision', verdict == '' and 0 or number, 'label', label, 'by', by, 'at', at)
return handled(outcome, verdict == '' and '' or id)
