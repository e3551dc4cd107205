-- Ends a case and puts its verdict into the outbox. Returns 0, with nothing done, unless the caller took the case last, its
-- fencing token is valid, and the case may go out. A case that a person's decision came before ends as a proposal: with nothing
-- done, the verdict above it and its label are returned if the caller does not know that, and `verdict` if that is so no more.
--@include case-id
--@include decided
--@include open-counts
--@include fencing
--@include withheld
--@include story
--@key case
--@key open
--@key unworked
--@key outbox
--@key thread
--@key incarnation
--@key owners
--@key decided
--@arg id
--@arg epoch             the caller's
--@arg protocol
--@arg member
--@arg verdict           JSON
--@arg transcript        JSON, as packed.ts packs it
--@arg carry             JSON, what is left to the next revision; empty if nothing
--@arg beneath           the verdict above it, if this is a proposal; else empty
--@arg label             empty if it has none
--@arg opposed[]         labels that contradict one another
--@arg again             1 if the thread is due once more as soon as that is published
--@arg now               wall time, ms
--@arg incarnation_id
--@arg watermark
--@arg server_run
if not holds(incarnation, incarnation_id, watermark, server_run) then return 0 end
local status, latest = unpack(redis.call('HMGET', case, 'status', 'epoch'))
if status ~= 'open' or latest ~= epoch then return 0 end
if is_withheld(case, owners) then return 0 end
local human, top, said = unpack(redis.call('HMGET', decided, 'id:' .. protocol, 'top:' .. protocol, 'label:' .. protocol))
said = said or ''
local last = redis.call('HGET', thread, 'rev:' .. protocol)
local number = number_in(id)
-- Beneath a verdict that stands; or with a number that is behind the one that was published again when it was taken back.
local is_beneath = top and (human or (last and number and tonumber(number) < tonumber(last)))
if is_beneath and beneath ~= top then return { top, said } end
if not is_beneath and beneath ~= '' then return 'verdict' end
local why, decision
verdict, why, decision = tell_story(thread, member, { by = is_beneath and 'proposal' or 'machine', protocol = protocol, label = label,
  id = id, verdict = verdict, opposed = opposed, now = now })
local at = string.format('%.0f', redis_now())
local fields = { 'kind', is_beneath and 'proposal' or 'verdict', 'case', id, 'member', member, 'protocol', protocol, 'verdict', verdict,
  'transcript', transcript }
-- Before it is sent a publisher looks whether that was deleted.
if redis.call('HEXISTS', case, 'shown') == 1 then
  fields[#fields + 1] = 'shown'
  fields[#fields + 1] = 1
end
local entry = redis.call('XADD', outbox, '*', unpack(fields))
redis.call('HSET', case, 'status', 'concluded', 'entry', entry)
if redis.call('ZREM', open, id) == 1 then count_open(open, member, -1) end
redis.call('ZREM', unworked, id)
-- The machines' last ruling, for the withdrawal of a human verdict. What may quote other subjects is not kept.
local kept = redis.call('HEXISTS', case, 'shown') == 0 and verdict or nil
if is_beneath then
  -- It is never a verdict's, nor another proposal's, also when the thread is forgotten.
  local highest = redis.call('HGET', decided, 'proposal:' .. protocol)
  if tonumber(number) > tonumber(highest or '0') then redis.call('HSET', decided, 'proposal:' .. protocol, number) end
end
local holder, name = human and decided or thread, (human and 'machine:' or 'ruling:') .. protocol
if human or not is_beneath then
  if not kept then redis.call('HDEL', holder, name)
  elseif human or redis.call('EXISTS', thread) == 1 then redis.call('HSET', holder, name, kept) end
end
if human and label ~= '' and label ~= said then
  ask_review(outbox, decided, { member = member, protocol = protocol, why = 'differs', verdict = human,
    proposal = proposal_id(id), label = label, at = at }, 'differs ' .. label)
end
if why then
  ask_review(outbox, decided, { member = member, protocol = protocol, why = why, verdict = id, label = decision, at = at })
end
if carry == '' then redis.call('HDEL', thread, 'carry:' .. protocol)
else redis.call('HSET', thread, 'carry:' .. protocol, carry) end
if again == '1' and redis.call('HGET', thread, 'open:' .. protocol) == id then
  redis.call('HSET', thread, 'again:' .. protocol, 1, 'seen:' .. protocol, 0)
end
return 1
