import type { Redis } from 'ioredis'
import { z } from 'zod'
import {
  type Account,
  accountsOf,
  amountOf,
  type BudgetSettings,
  type Budgets,
  booked,
  ROOM_SOON_MS,
} from '../../ports/budgets.ts'
import { luaOn } from './lua.ts'

/**
 * By call a hash `budget:ticket:ID` (state, tokens, nanos, 1 to 3: its accounts), by account a hash `budget:account:NAME`
 * (tokens and nanos used; tokens-out and nanos-out, the part in flight), and `budget:open`, a sorted set of tickets in
 * flight by the end of their lease. Sums go as text: a large Lua number would be written with an exponent. They are exact
 * up to 2^53: 9 million US dollars an account.
 */
const SHARED = `
local function whole(number) return string.format('%.0f', number + 0) end
local function time()
  local seconds, micros = unpack(redis.call('TIME'))
  return seconds * 1000 + math.floor(micros / 1000)
end
-- For longer than is needed, so that most calls need not say it again.
local function keep_for(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, whole(ms * 1.25)) end
end
local function sums_of(account)
  local held = redis.call('HMGET', account, 'tokens', 'nanos', 'tokens-out', 'nanos-out')
  return held[1] and true, { tonumber(held[1] or 0), tonumber(held[2] or 0), tonumber(held[3] or 0), tonumber(held[4] or 0) }
end
local function book(account, sums, tokens, nanos, tokens_out, nanos_out)
  redis.call('HSET', account, 'tokens', whole(sums[1] + tokens), 'nanos', whole(sums[2] + nanos),
    'tokens-out', whole(sums[3] + tokens_out), 'nanos-out', whole(sums[4] + nanos_out))
end
local function land(ticket, state, tokens, nanos)
  local held = redis.call('HMGET', ticket, 'state', 'tokens', 'nanos', '1', '2', '3')
  if not held[1] or held[1] == 'settled' then return held[1] end
  local bound, bound_nanos = tonumber(held[2]), tonumber(held[3])
  local out, nanos_out = 0, 0
  if held[1] == 'open' then out, nanos_out = bound, bound_nanos end
  for at = 4, 6 do
    if held[at] then
      local known, sums = sums_of(held[at])
      if known then book(held[at], sums, (tokens or bound) - bound, (nanos or bound_nanos) - bound_nanos, -out, -nanos_out) end
    end
  end
  redis.call('HSET', ticket, 'state', state)
  return held[1]
end
`

const RESERVE = `${SHARED}
local open, ticket, root = unpack(KEYS)
local id, tokens, nanos = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local lease, soon = tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('EXISTS', ticket) == 1 then return { 'granted' } end
local now = time()
for _, late in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', whole(now), 'LIMIT', 0, 100)) do
  land(root .. 'ticket:' .. late, 'overdue')
  redis.call('ZREM', open, late)
end
local accounts, refusal = {}, nil
local function refuse(at, unit, why, wait)
  if refusal and (refusal[5] < 0 or (wait >= 0 and wait <= refusal[5])) then return end
  refusal = { 'refused', at, unit, why, wait }
end
for at = 6, #ARGV, 5 do
  local name, per, keep = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local limits = { ARGV[at + 3], ARGV[at + 4] }
  local key, left = root .. 'account:' .. name, -1
  if per > 0 then
    key = key .. ':' .. whole(math.floor(now / per))
    left = per - now % per
    keep = left + lease
  end
  local known, sums = sums_of(key)
  table.insert(accounts, { key = key, keep = keep, closes = per > 0 and known, sums = sums })
  for unit, wanted in ipairs({ tokens, nanos }) do
    local limit, used, out = tonumber(limits[unit]), sums[unit], sums[unit + 2]
    if limit and used + wanted > limit then
      if wanted > limit then refuse(#accounts, unit, 'too-large', -1)
      elseif used - out + wanted > limit then refuse(#accounts, unit, 'spent', left)
      else refuse(#accounts, unit, 'in-flight', left < 0 and soon or math.min(soon, left)) end
    end
  end
end
if refusal then return refusal end
local longest, purchase = 0, { 'state', 'open', 'tokens', whole(tokens), 'nanos', whole(nanos) }
for at, account in ipairs(accounts) do
  book(account.key, account.sums, tokens, nanos, tokens, nanos)
  -- One that is closed at its time was told so when it was opened.
  if not account.closes then keep_for(account.key, account.keep) end
  purchase[2 * at + 5], purchase[2 * at + 6] = at, account.key
  longest = math.max(longest, account.keep)
end
redis.call('HSET', ticket, unpack(purchase))
redis.call('PEXPIRE', ticket, whole(longest))
redis.call('ZADD', open, whole(now + lease), id)
keep_for(open, longest)
return { 'granted' }
`

const SETTLE = `${SHARED}
local open, ticket = unpack(KEYS)
local was = land(ticket, 'settled', tonumber(ARGV[2]), tonumber(ARGV[3]))
if not was then return 'unknown' end
redis.call('ZREM', open, ARGV[1])
if was ~= 'settled' then redis.call('PEXPIRE', ticket, ARGV[4]) end
return 'settled'
`

const TOTAL = `${SHARED}
local key = KEYS[1] .. 'account:' .. ARGV[1] .. ':' .. whole(math.floor(time() / tonumber(ARGV[2])))
return redis.call('HMGET', key, 'tokens', 'nanos', 'tokens-out', 'nanos-out')
`

const SOURCES = {
  reserve: { lua: RESERVE, keys: 3 },
  settle: { lua: SETTLE, keys: 2 },
  total: { lua: TOTAL, keys: 1 },
}

const refusedReply = z.tuple([
  z.literal('refused'),
  z.number(),
  z.number(),
  z.enum(['in-flight', 'spent', 'too-large']),
  z.number(),
])
const reservedReply = z.union([z.tuple([z.literal('granted')]), refusedReply])
const settledReply = z.enum(['settled', 'unknown'])
const totalReply = z.array(z.coerce.number()).length(4)

/** A settled ticket stays this long, so that a reservation sent twice is not booked after it. */
const KEEP_SETTLED_MS = 60_000

/** Budgets in Redis. `under` puts a name under this Gavel's hash tag; every key expires soon after its account is closed. */
export function redisBudgets(client: Redis, under: (name: string) => string, settings: BudgetSettings): Budgets {
  const scripts = luaOn(client, SOURCES)
  const [open, root] = [under('budget:open'), under('budget:')]
  const ticketKey = (ticket: string) => under(`budget:ticket:${ticket}`)
  const [everything] = accountsOf(settings, { caseId: '', tenant: '' }).filter(({ scope }) => scope === 'total')

  return {
    async reserve({ ticket, caseId, tenant, atMost, leaseMs }) {
      const accounts = accountsOf(settings, { caseId, tenant })
      if (accounts.length === 0) return { granted: true }
      const { tokens, nanoUsd } = booked(atMost)
      const reply = reservedReply.parse(
        await scripts.reserve(
          open,
          ticketKey(ticket),
          root,
          ticket,
          tokens,
          nanoUsd,
          leaseMs,
          ROOM_SOON_MS,
          ...accounts.flatMap((account) => argumentsOf(account, settings)),
        ),
      )
      if (reply[0] === 'granted') return { granted: true }
      const [, at, unit, why, wait] = reply
      return {
        granted: false,
        scope: accounts[at - 1]?.scope ?? 'total',
        unit: unit === 1 ? 'tokens' : 'usd',
        why,
        renewsInMs: wait < 0 ? null : wait,
      }
    },

    async settle(ticket, spent) {
      const { tokens, nanoUsd } = booked(spent)
      return settledReply.parse(await scripts.settle(open, ticketKey(ticket), ticket, tokens, nanoUsd, KEEP_SETTLED_MS))
    },

    async total() {
      if (everything === undefined) return null
      const [tokens = 0, nanoUsd = 0, tokensOut = 0, nanoUsdOut = 0] = totalReply.parse(
        await scripts.total(root, everything.name, everything.perMs ?? 0),
      )
      return {
        used: amountOf({ tokens, nanoUsd }),
        inFlight: amountOf({ tokens: tokensOut, nanoUsd: nanoUsdOut }),
      }
    },
  }
}

function argumentsOf({ name, perMs, limit }: Account, { keepVerdictMs }: BudgetSettings): (string | number)[] {
  return [name, perMs ?? 0, keepVerdictMs, limit.tokens ?? '', limit.nanoUsd ?? '']
}
