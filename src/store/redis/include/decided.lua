-- What people decided of a subject, a hash (decided:MEMBER). By protocol: id: (the human verdict that stands; absent if none does),
-- top: (the last verdict that people brought about: that one, or what took its place), label: (its label), rev: (its number), of: (the
-- decision's PARTITION@OFFSET), by:, deciding: (that verdict, until it is published), last: (the place of the last decision that was
-- handled), became: (what came of that one, and what its repeats have in common with it, JSON), asked: (what a review was asked for beneath it), machine: (the machines' last ruling beneath it, JSON),
-- proposal: (the highest number of a proposal), ahead: (it was decided before its subject came: nothing was forgotten), and since: (after a recovery: what was sent before is known to who decided).
local function keep_decided(decided, keep)
  for _, field in ipairs(redis.call('HKEYS', decided)) do
    if string.match(field, '^id:') or string.match(field, '^deciding:') then return redis.call('PERSIST', decided) end
  end
  redis.call('PEXPIRE', decided, keep)
end
-- Calls back with each protocol and its value of this kind.
local function each_decided(decided, kind, take)
  local fields = redis.call('HGETALL', decided)
  for i = 1, #fields, 2 do
    local protocol = string.match(fields[i], '^' .. kind .. ':(.+)$')
    if protocol then take(protocol, fields[i + 1]) end
  end
end
-- Asks for a review of a verdict, once for each thing that speaks against it. Without `asked` it is not remembered: a decision is
-- handled once anyway, and of one subject many may be refused.
local function ask_review(outbox, decided, about, asked)
  if asked then
    local field = 'asked:' .. about.protocol
    local before = redis.call('HGET', decided, field) or ''
    if string.find(before, '\n' .. asked .. '\n', 1, true) then return end
    redis.call('HSET', decided, field, before .. '\n' .. asked .. '\n')
  end
  redis.call('XADD', outbox, '*', 'kind', 'review', 'member', about.member, 'protocol', about.protocol, 'why', about.why,
    'verdict', about.verdict, 'proposal', about.proposal or '', 'label', about.label or '', 'of', about.of or '',
    'by', about.by or '', 'at', about.at)
end
