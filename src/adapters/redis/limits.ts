import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { LIMIT_DEFAULTS, type LimitSettings, type Limits, mustFit, type Ticket } from '../../ports/limits.ts'
import { luaOn } from './lua.ts'

/**
 * Per scope: a hash with the window (calls and tokens in all, and by bucket c123 and t123 from `oldest` to `newest`), a
 * sorted set of calls in flight by the end of their lease, and those in line, by when they came and by when they lose
 * their place, as TOKENS|ASKER. A bucket is a six-hundredth of the window and leaves only when its last moment has left:
 * never too early, and at most 0.2 % late. All times are Redis' own, in ms.
 */
const WINDOW = `
local function redis_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
-- What the window holds, without what has left it, and what one of its buckets holds.
local function slide(window, first, span, at)
  local held = redis.call('HMGET', window, 'calls', 'tokens', 'oldest', 'newest', 'c' .. at, 't' .. at)
  local calls, tokens = tonumber(held[1] or '0'), tonumber(held[2] or '0')
  local oldest, newest = tonumber(held[3] or '0'), tonumber(held[4] or '0')
  local slid = { key = window, calls = calls, tokens = tokens, oldest = oldest, newest = newest, at = at,
    at_calls = tonumber(held[5] or '0'), at_tokens = tonumber(held[6] or '0') }
  if oldest >= first and newest <= first + 2 * span then return slid end
  if newest < first or newest > first + 2 * span then
    redis.call('DEL', window)
    return { key = window, calls = 0, tokens = 0, at = at, at_calls = 0, at_tokens = 0 }
  end
  local gone = {}
  for bucket = oldest, first - 1 do
    gone[#gone + 1] = 'c' .. bucket
    gone[#gone + 1] = 't' .. bucket
  end
  local left = redis.call('HMGET', window, unpack(gone))
  for i = 1, #left, 2 do
    slid.calls = slid.calls - (left[i] or 0)
    slid.tokens = slid.tokens - (left[i + 1] or 0)
  end
  redis.call('HDEL', window, unpack(gone))
  redis.call('HSET', window, 'calls', slid.calls, 'tokens', slid.tokens, 'oldest', first)
  slid.oldest = first
  return slid
end
-- Keys are told how long to live once a bucket, for a bucket longer. The clock may have gone back to a bucket and on again.
local function begins(slid) return slid.newest ~= slid.at or slid.at_calls == 0 end
local function record(slid, calls, tokens, keep)
  redis.call('HSET', slid.key, 'calls', slid.calls + calls, 'tokens', slid.tokens + tokens,
    'oldest', math.min(slid.oldest or slid.at, slid.at), 'newest', slid.at,
    'c' .. slid.at, slid.at_calls + calls, 't' .. slid.at, slid.at_tokens + tokens)
  if begins(slid) then redis.call('PEXPIRE', slid.key, keep) end
end
`

const RESERVE = `${WINDOW}
local id, asker, need, width, span, lease, recheck, late = unpack(ARGV, 1, 8)
need, width, span, lease = tonumber(need), tonumber(width), tonumber(span), tonumber(lease)
local ticket = KEYS[1]
local known = redis.call('GET', ticket)
if known then return { 1, string.match(known, '^%S+') } end

local now = redis_now()
local bucket = math.floor(now / width)
local first, whole = bucket - span, span * width
local me = need .. '|' .. asker

local function when_left(window, oldest, over_calls, over_tokens, until_bucket)
  if not oldest then return whole end
  local at = oldest
  while at <= until_bucket do
    local fields = {}
    for one = at, math.min(at + 49, until_bucket) do
      fields[#fields + 1] = 'c' .. one
      fields[#fields + 1] = 't' .. one
    end
    local held = redis.call('HMGET', window, unpack(fields))
    for i = 1, #held, 2 do
      over_calls = over_calls - (held[i] or 0)
      over_tokens = over_tokens - (held[i + 1] or 0)
      if over_calls <= 0 and over_tokens <= 0 then return (at + 1 + span) * width - now end
      at = at + 1
    end
  end
  return whole
end

local function tokens_ahead(line, rank)
  if rank == 0 then return 0 end
  local some = redis.call('ZRANGE', line, 0, math.min(rank, 32) - 1)
  local sum = 0
  for _, one in ipairs(some) do sum = sum + string.match(one, '^%d+') end
  return sum * rank / #some
end

local scopes, wait, longest = {}, nil, nil
for i = 1, (#KEYS - 1) / 4 do
  local window, places, line, due = unpack(KEYS, 4 * i - 2, 4 * i + 1)
  local max_calls, max_tokens, max_places =
    tonumber(ARGV[3 * i + 6]), tonumber(ARGV[3 * i + 7]), tonumber(ARGV[3 * i + 8])
  local slid = slide(window, first, span, bucket)
  local calls, tokens, oldest = slid.calls, slid.tokens, slid.oldest
  redis.call('ZREMRANGEBYSCORE', places, '-inf', now)
  local in_flight = redis.call('ZCARD', places)
  local rank, length = nil, redis.call('ZCARD', line)
  local head_calls, head_tokens = 0, 0
  if length > 0 then
    local lapsed = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 100)
    if #lapsed > 0 then
      redis.call('ZREM', due, unpack(lapsed))
      length = length - redis.call('ZREM', line, unpack(lapsed))
    end
    rank = redis.call('ZRANK', line, me) or nil
    local head = redis.call('ZRANGE', line, 0, 0)[1]
    if head and head ~= me then head_calls, head_tokens = 1, tonumber(string.match(head, '^%d+')) end
  end
  scopes[i] = { slid = slid, places = places, in_flight = in_flight }
  local full = max_places and in_flight >= max_places
  local lacks = max_calls and calls + head_calls + 1 > max_calls
    or max_tokens and tokens + head_tokens + need > max_tokens
  if full or lacks then
    local place = rank or length
    local patience = math.min(whole, recheck * (1 + place / 4))
    local this = patience
    if lacks then
      local until_bucket = in_flight > 0 and math.floor((now + patience) / width) - span or bucket
      this = when_left(window, oldest, max_calls and calls + place + 1 - max_calls or 0,
        max_tokens and tokens + tokens_ahead(line, place) + need - max_tokens or 0, until_bucket)
      if in_flight > 0 then this = math.min(this, patience) end
    end
    this = math.ceil(math.max(1, this))
    if not rank then redis.call('ZADD', line, now, me) end
    redis.call('ZADD', due, now + this + late, me)
    redis.call('PEXPIRE', line, whole + late)
    redis.call('PEXPIRE', due, whole + late)
    if not wait or this > wait then wait, longest = this, i end
  elseif rank then
    redis.call('ZREM', line, me)
    redis.call('ZREM', due, me)
  end
end
if wait then return { 0, wait, longest } end

local at = math.floor(now)
redis.call('SET', ticket, at .. ' ' .. bucket .. ' ' .. need, 'PX', whole + lease)
for _, scope in ipairs(scopes) do
  record(scope.slid, 1, need, whole + 2 * width)
  redis.call('ZADD', scope.places, now + lease, id)
  -- One whose last member went is a new key.
  if scope.in_flight == 0 or begins(scope.slid) then redis.call('PEXPIRE', scope.places, lease + 2 * width) end
end
return { 1, tostring(at) }
`

/** Used both to settle and to refund (`back` is 1): the ticket goes, so that doing it again does nothing. */
const SETTLE = `${WINDOW}
local id, used, back, width, span = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local known = redis.call('GETDEL', KEYS[1])
if not known then return 0 end
local granted, reserved = string.match(known, '^%S+ (%S+) (%S+)$')
granted = tonumber(granted)
local bucket = math.floor(redis_now() / width)
local more = used - reserved
for i = 2, #KEYS, 2 do
  local window, places = KEYS[i], KEYS[i + 1]
  redis.call('ZREM', places, id)
  local slid = slide(window, bucket - span, span, more > 0 and bucket or granted)
  if more > 0 then record(slid, 0, more, (span + 2) * width)
  elseif slid.oldest and granted >= slid.oldest and (more < 0 or back > 0) then
    redis.call('HSET', window, 'calls', slid.calls - back, 'tokens', slid.tokens + more,
      'c' .. granted, slid.at_calls - back, 't' .. granted, slid.at_tokens + more)
  end
end
return 1
`

const KEEP = `
local id, lease, whole, width = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('PEXPIRE', KEYS[1], whole + lease) == 0 then return 0 end
local time = redis.call('TIME')
local ends = time[1] * 1000 + time[2] / 1000 + lease
for i = 2, #KEYS do
  redis.call('ZADD', KEYS[i], ends, id)
  redis.call('PEXPIRE', KEYS[i], lease + 2 * width)
end
return 1
`

/** The number of keys is the first argument of each. */
const SOURCES = { reserve: { lua: RESERVE }, settle: { lua: SETTLE }, keep: { lua: KEEP } }

const reserved = z.union([z.tuple([z.literal(1), z.coerce.number()]), z.tuple([z.literal(0), z.number(), z.number()])])
const BUCKETS = 600

/**
 * Limits in Redis, by its clock. `under` makes keys that all share one hash tag. A ticket's id makes a reservation
 * repeatable: sent twice after a lost reply, it takes room once.
 */
export function redisLimits(
  client: Redis,
  under: (name: string) => string,
  given: Partial<LimitSettings> = {},
): Limits {
  const settings = { ...LIMIT_DEFAULTS, ...given }
  const { leaseMs, recheckMs, lateMs } = settings
  const width = Math.ceil(settings.windowMs / BUCKETS)
  const span = Math.ceil(settings.windowMs / width)
  const scripts = luaOn(client, SOURCES)
  const keys = {
    ticket: (id: string) => under(`ticket:${id}`),
    window: (scope: string) => under(`window:${scope}`),
    places: (scope: string) => under(`places:${scope}`),
    line: (scope: string) => under(`line:${scope}`),
    due: (scope: string) => under(`due:${scope}`),
  }

  async function end({ id, scopes }: Ticket, tokens: number, callsBack: 0 | 1): Promise<void> {
    const touched = [keys.ticket(id), ...scopes.flatMap((name) => [keys.window(name), keys.places(name)])]
    await scripts.settle(touched.length, ...touched, id, tokens, callsBack, width, span)
  }

  return {
    async reserve(scopes, { asker, tokens }) {
      mustFit(scopes, tokens)
      const id = randomUUID()
      const names = scopes.map(({ name }) => name)
      const touched = [
        keys.ticket(id),
        ...names.flatMap((name) => [keys.window(name), keys.places(name), keys.line(name), keys.due(name)]),
      ]
      const reply = reserved.parse(
        await scripts.reserve(
          touched.length,
          ...touched,
          ...[id, asker, tokens, width, span, leaseMs, recheckMs, lateMs],
          ...scopes.flatMap(({ limits }) => [
            limits.callsPerMinute ?? '',
            limits.tokensPerMinute ?? '',
            limits.inFlight ?? '',
          ]),
        ),
      )
      if (reply[0] === 1) return { granted: true, ticket: { id, scopes: names, tokens, at: reply[1] } }
      return { granted: false, waitMs: reply[1], scope: names[reply[2] - 1] ?? '' }
    },
    settle: (ticket, tokens) => end(ticket, tokens, 0),
    refund: (ticket) => end(ticket, 0, 1),
    async keep(tickets) {
      await Promise.all(
        tickets.map(({ id, scopes }) => {
          const touched = [keys.ticket(id), ...scopes.map(keys.places)]
          return scripts.keep(touched.length, ...touched, id, leaseMs, settings.windowMs, width)
        }),
      )
    },
  }
}
