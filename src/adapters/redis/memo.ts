import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Memo } from '../../ports/memo.ts'
import { memberOf } from './keys.ts'

/**
 * An answer is a string. A lease is a hash of asker and `until` (Redis time, ms) that outlives its lease, so that a late
 * answer is kept if nobody asked again, and is not if the question was forgotten. A subject's index is a sorted set of
 * questions by the time at which they expire.
 */
const NOTE = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function note(index, question, ms)
  local at = now()
  -- Mostly it stands there already: a look that finds an answer then writes nothing.
  local noted = redis.call('ZSCORE', index, question)
  if noted and tonumber(noted) >= at + ms - 1000 then return end
  redis.call('ZADD', index, 'GT', at + ms, question)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. at)
  if redis.call('PTTL', index) < ms then redis.call('PEXPIRE', index, ms) end
end
`

const LOOK = `${NOTE}
local answer, lease, index, gone = unpack(KEYS)
local question, asker, lease_ms, record_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local noted = redis.call('EXISTS', gone) == 0
local known = redis.call('GET', answer)
if known then
  if noted then note(index, question, redis.call('PTTL', answer)) end
  return { 'known', known }
end
if not noted then return { 'mine', '' } end
local held = redis.call('HMGET', lease, 'asker', 'until')
local left = held[1] and held[1] ~= asker and tonumber(held[2]) - now() or 0
if left > 0 then
  note(index, question, redis.call('PTTL', lease))
  return { 'asked', tostring(left) }
end
redis.call('HSET', lease, 'asker', asker, 'until', now() + lease_ms)
redis.call('PEXPIRE', lease, record_ms)
note(index, question, record_ms)
return { 'mine', '' }
`

const KEEP = `${NOTE}
local answer, lease, index = unpack(KEYS)
local question, asker, entry, keep_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', lease, 'asker') ~= asker then
  return redis.call('GET', answer) == entry and 1 or 0
end
redis.call('SET', answer, entry, 'PX', keep_ms)
redis.call('DEL', lease)
note(index, question, keep_ms)
return 1
`

const SHARE = `${NOTE}
local answer, index, gone = unpack(KEYS)
local left = redis.call('PTTL', answer)
if left > 0 and redis.call('EXISTS', gone) == 0 then note(index, ARGV[1], left) end
return 1
`

const GIVE_UP = `
if redis.call('HGET', KEYS[1], 'asker') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`

const EXTEND = `${NOTE}
local lease = KEYS[1]
local asker, lease_ms, record_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if redis.call('HGET', lease, 'asker') ~= asker then return 0 end
redis.call('HSET', lease, 'until', now() + lease_ms)
redis.call('PEXPIRE', lease, record_ms)
return 1
`

/** At most so many questions of a subject a step; returns how many it took up, and how many answers went. */
const FORGET = `
local index, gone, answer_prefix, lease_prefix = unpack(KEYS)
local most, quiet_ms = ARGV[1], tonumber(ARGV[2])
if quiet_ms > 0 then redis.call('SET', gone, 1, 'PX', quiet_ms) end
local popped = redis.call('ZPOPMIN', index, most)
local answers = 0
for i = 1, #popped, 2 do
  answers = answers + redis.call('DEL', answer_prefix .. popped[i])
  redis.call('DEL', lease_prefix .. popped[i])
end
return { #popped / 2, answers }
`

const SCRIPTS = {
  memoLook: { lua: LOOK, numberOfKeys: 4 },
  memoKeep: { lua: KEEP, numberOfKeys: 3 },
  memoShare: { lua: SHARE, numberOfKeys: 3 },
  memoGiveUp: { lua: GIVE_UP, numberOfKeys: 1 },
  memoExtend: { lua: EXTEND, numberOfKeys: 1 },
  memoForget: { lua: FORGET, numberOfKeys: 4 },
}
type Scripts = Record<keyof typeof SCRIPTS, (...args: (string | number)[]) => Promise<unknown>>

/** How long a lapsed lease is remembered, in ms: longer than any call, so that its late answer is kept after all. */
const LATE_ANSWER_MS = 900_000
/** Questions forgotten in one step: long enough to be quick, short enough not to hold up Redis. */
const FORGOTTEN_AT_ONCE = 500

const looked = z.tuple([z.enum(['known', 'mine', 'asked']), z.string()])
const forgotten = z.tuple([z.number(), z.number()])
const memoEntry = z.object({
  answer: z.unknown(),
  raw: z.string().nullable(),
  model: z.string(),
  promptTokens: z.number(),
  completionTokens: z.number(),
})

/** The memo in Redis. `under` makes a key of a name; all of them must share one hash tag. */
export function redisMemo(client: Redis, under: (name: string) => string): Memo {
  const scripts = client as Redis & Scripts
  for (const [name, script] of Object.entries(SCRIPTS)) if (!(name in client)) client.defineCommand(name, script)
  const answerAt = (key: string) => under(`memo:answer:${key}`)
  const leaseAt = (key: string) => under(`memo:lease:${key}`)
  const indexOf = (member: string) => under(`memo:of:${member}`)
  const goneAt = (member: string) => under(`memo:gone:${member}`)

  return {
    async look(key, asker, leaseMs, subject) {
      const member = memberOf(subject)
      const at = [answerAt(key), leaseAt(key), indexOf(member), goneAt(member)]
      const said = await scripts.memoLook(...at, key, asker, leaseMs, leaseMs + LATE_ANSWER_MS)
      const [state, detail] = looked.parse(said)
      if (state === 'known') return { state, entry: memoEntry.parse(JSON.parse(detail)) }
      return state === 'mine' ? { state } : { state, waitMs: Number(detail) }
    },
    async keep(key, asker, entry, keepMs, subject) {
      const at = [answerAt(key), leaseAt(key), indexOf(memberOf(subject))]
      return (await scripts.memoKeep(...at, key, asker, JSON.stringify(entry), keepMs)) === 1
    },
    async share(key, subject) {
      const member = memberOf(subject)
      await scripts.memoShare(answerAt(key), indexOf(member), goneAt(member), key)
    },
    async giveUp(key, asker) {
      await scripts.memoGiveUp(leaseAt(key), asker)
    },
    async extend(key, asker, leaseMs) {
      return (await scripts.memoExtend(leaseAt(key), asker, leaseMs, leaseMs + LATE_ANSWER_MS)) === 1
    },
    async forget(subject, quietMs) {
      const member = memberOf(subject)
      for (let erased = 0; ; ) {
        const at = [indexOf(member), goneAt(member), answerAt(''), leaseAt('')]
        const [taken, answers] = forgotten.parse(await scripts.memoForget(...at, FORGOTTEN_AT_ONCE, quietMs))
        erased += answers
        if (taken < FORGOTTEN_AT_ONCE) return erased
      }
    },
  }
}
