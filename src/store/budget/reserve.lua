-- Reserves an upper bound of a call in all its accounts, or in none. Returns { 'granted' }, also when it is sent twice, or
-- { 'refused', account (from 1), unit (1 tokens, 2 money), why, ms until it may have room (-1: never) }.
--@include budget-accounts
--@key open
--@key ticket
--@key root              what accounts and tickets are named under
--@key asking            tenants by when they asked last
--@arg tenant
--@arg id                the ticket's
--@arg tokens
--@arg nanos             nano US dollars
--@arg lease             ms after which the call counts as spent
--@arg soon              ms to wait where calls in flight may leave room
--@arg shared            ms of the period whose budget tenants share; empty where none has a part of it
--@arg budgets[].name
--@arg budgets[].period       ms; 0 for an account that is never closed
--@arg budgets[].keep         how long such a one is kept, ms
--@arg budgets[].max_tokens   empty is no limit; so the next
--@arg budgets[].max_nanos
--@arg budgets[].share        of a tenant's part of what all have: how much is open to it at once while others ask; else empty
if redis.call('EXISTS', ticket) == 1 then return { 'granted' } end
local lease_ms, amounts, now = tonumber(lease), { tonumber(tokens), tonumber(nanos) }, redis_now()
for _, overdue in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', whole(now), 'LIMIT', 0, 100)) do
  close_ticket(root .. 'ticket:' .. overdue, 'overdue')
  redis.call('ZREM', open, overdue)
end
local accounts, refusal = {}, nil
-- If several refuse, the refusal with the longest wait is returned.
local function refuse(at, unit, why, wait)
  if refusal and (refusal[5] < 0 or (wait >= 0 and wait <= refusal[5])) then return end
  refusal = { 'refused', at, unit, why, wait }
end
-- Also who has a limit of its own, and no share, spends what others share.
if shared ~= '' then
  local window = tonumber(shared)
  redis.call('ZREMRANGEBYSCORE', asking, '-inf', '(' .. whole((math.floor(now / window) - 1) * window))
  redis.call('ZADD', asking, whole(now), tenant)
  keep_for(asking, 2 * window)
end
for at, budget in ipairs(budgets) do
  local period, keep = tonumber(budget.period), tonumber(budget.keep)
  local limits = { budget.max_tokens, budget.max_nanos }
  local key, left = root .. 'account:' .. budget.name, -1
  if period > 0 then
    key = key .. ':' .. whole(math.floor(now / period))
    left = period - now % period
    keep = left + lease_ms
  end
  local part = 1
  if budget.share ~= '' and redis.call('ZCARD', asking) > 1 then
    part = budget.share + (1 - budget.share) * (now % period) / period
  end
  local known, sums = sums_of(key)
  accounts[at] = { key = key, keep = keep, closes = period > 0 and known, sums = sums }
  for unit, wanted in ipairs(amounts) do
    local whole_limit, used, out = tonumber(limits[unit]), sums[unit], sums[unit + 2]
    local limit = whole_limit and whole_limit * part
    if limit and used + wanted > limit then
      if wanted > whole_limit and budget.share == '' then refuse(at, unit, 'too-large', -1)
      elseif used - out + wanted > limit then refuse(at, unit, 'spent', left)
      else refuse(at, unit, 'in-flight', left < 0 and tonumber(soon) or math.min(tonumber(soon), left)) end
    end
  end
end
if refusal then return refusal end
local longest, fields = 0, { 'state', 'open', 'tokens', whole(tokens), 'nanos', whole(nanos) }
for at, account in ipairs(accounts) do
  book(account.key, account.sums, amounts[1], amounts[2], amounts[1], amounts[2])
  -- A period's account got its expiry with the period's first call.
  if not account.closes then keep_for(account.key, account.keep) end
  fields[2 * at + 5], fields[2 * at + 6] = at, account.key
  longest = math.max(longest, account.keep)
end
redis.call('HSET', ticket, unpack(fields))
redis.call('PEXPIRE', ticket, whole(longest))
redis.call('ZADD', open, whole(now + lease_ms), id)
keep_for(open, longest)
return { 'granted' }
