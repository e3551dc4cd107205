--@include time
-- By call a hash budget:ticket:ID (state, tokens, nanos, 1 to 3: its accounts), by account a hash budget:account:NAME (tokens
-- and nanos used; tokens-out and nanos-out, the part in flight), and budget:open, a sorted set of tickets in flight by the end
-- of their lease. Sums are sent as text: a large Lua number would be written with an exponent. They are exact up to 2^53:
-- 9 million US dollars an account.
local function whole(number) return string.format('%.0f', number + 0) end
-- Keeps a key longer than is needed, so that most calls need not set its expiry again.
local function keep_for(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, whole(ms * 1.25)) end
end
local function sums_of(account)
  local sums = redis.call('HMGET', account, 'tokens', 'nanos', 'tokens-out', 'nanos-out')
  return sums[1] and true, { tonumber(sums[1] or 0), tonumber(sums[2] or 0), tonumber(sums[3] or 0), tonumber(sums[4] or 0) }
end
local function book(account, sums, tokens, nanos, tokens_out, nanos_out)
  redis.call('HSET', account, 'tokens', whole(sums[1] + tokens), 'nanos', whole(sums[2] + nanos),
    'tokens-out', whole(sums[3] + tokens_out), 'nanos-out', whole(sums[4] + nanos_out))
end
-- Ends a ticket: what it reserved is replaced by what was spent, or kept where that is unknown. Returns its state before.
local function close_ticket(ticket, state, tokens, nanos)
  local fields = redis.call('HMGET', ticket, 'state', 'tokens', 'nanos', '1', '2', '3')
  local before = fields[1]
  if not before or before == 'settled' then return before end
  local bound, bound_nanos = tonumber(fields[2]), tonumber(fields[3])
  local out, nanos_out = 0, 0
  if before == 'open' then out, nanos_out = bound, bound_nanos end
  for at = 4, 6 do
    local account = fields[at]
    if account then
      local known, sums = sums_of(account)
      if known then book(account, sums, (tokens or bound) - bound, (nanos or bound_nanos) - bound_nanos, -out, -nanos_out) end
    end
  end
  redis.call('HSET', ticket, 'state', state)
  return before
end
