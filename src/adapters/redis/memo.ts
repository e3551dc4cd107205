import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Looked, Memo } from '../../ports/memo.ts'
import { memberOf } from './keys.ts'
import { luaOn } from './lua.ts'

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
local function note(at, index, questions, kept_ms)
  if #questions == 0 then return end
  local longest, late = 0, {}
  local noted = redis.call('ZMSCORE', index, unpack(questions))
  for i, question in ipairs(questions) do
    -- Mostly it stands there already: a look that finds answers then writes nothing.
    if not noted[i] or tonumber(noted[i]) < at + kept_ms[i] - 1000 then
      late[#late + 1] = at + kept_ms[i]
      late[#late + 1] = question
      longest = math.max(longest, kept_ms[i])
    end
  end
  if #late == 0 then return end
  redis.call('ZADD', index, 'GT', unpack(late))
  redis.call('ZREMRANGEBYSCORE', index, '-inf', '(' .. at)
  if redis.call('PTTL', index) < longest then redis.call('PEXPIRE', index, longest) end
end
`

/** By question two keys, its answer and its lease, and one argument. */
const LOOK = `${NOTE}
local index, gone = KEYS[1], KEYS[2]
local asker, lease_ms, record_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local noted = redis.call('EXISTS', gone) == 0
local at = now()
local answers = {}
for i = 3, #KEYS, 2 do answers[#answers + 1] = KEYS[i] end
local held_answers = redis.call('MGET', unpack(answers))
local said, questions, kept_ms = {}, {}, {}
for i, answer in ipairs(answers) do
  local lease = KEYS[2 * i + 2]
  local state, detail, keep_ms = 'mine', '', record_ms
  local known = held_answers[i]
  if known then
    state, detail, keep_ms = 'known', known, redis.call('PTTL', answer)
  elseif noted then
    local held = redis.call('HMGET', lease, 'asker', 'until')
    local left = held[1] and held[1] ~= asker and tonumber(held[2]) - at or 0
    if left > 0 then
      state, detail, keep_ms = 'asked', tostring(left), redis.call('PTTL', lease)
    else
      redis.call('HSET', lease, 'asker', asker, 'until', at + lease_ms)
      redis.call('PEXPIRE', lease, record_ms)
    end
  end
  questions[i], kept_ms[i] = ARGV[i + 3], keep_ms
  said[2 * i - 1], said[2 * i] = state, detail
end
if noted then note(at, index, questions, kept_ms) end
return said
`

/** By question two keys, its answer and its lease, and two arguments, its name and the entry. */
const KEEP = `${NOTE}
local index, asker, keep_ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local said, questions, kept_ms = {}, {}, {}
for i = 1, (#KEYS - 1) / 2 do
  local answer, lease, question, entry = KEYS[2 * i], KEYS[2 * i + 1], ARGV[2 * i + 1], ARGV[2 * i + 2]
  if redis.call('HGET', lease, 'asker') == asker then
    redis.call('SET', answer, entry, 'PX', keep_ms)
    redis.call('DEL', lease)
    questions[#questions + 1], kept_ms[#kept_ms + 1] = question, keep_ms
    said[i] = 1
  else
    said[i] = redis.call('GET', answer) == entry and 1 or 0
  end
end
note(now(), index, questions, kept_ms)
return said
`

const SHARE = `${NOTE}
local index, gone = KEYS[1], KEYS[2]
if redis.call('EXISTS', gone) == 1 then return 1 end
local questions, kept_ms = {}, {}
for i = 1, #ARGV do
  local left = redis.call('PTTL', KEYS[i + 2])
  if left > 0 then questions[#questions + 1], kept_ms[#kept_ms + 1] = ARGV[i], left end
end
note(now(), index, questions, kept_ms)
return 1
`

const GIVE_UP = `
for _, lease in ipairs(KEYS) do
  if redis.call('HGET', lease, 'asker') == ARGV[1] then redis.call('DEL', lease) end
end
return 1
`

const EXTEND = `${NOTE}
local asker, lease_ms, record_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local said = {}
for i, lease in ipairs(KEYS) do
  said[i] = 0
  if redis.call('HGET', lease, 'asker') == asker then
    redis.call('HSET', lease, 'until', now() + lease_ms)
    redis.call('PEXPIRE', lease, record_ms)
    said[i] = 1
  end
end
return said
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

/** The number of keys is the first argument of most. */
const SOURCES = {
  look: { lua: LOOK },
  keep: { lua: KEEP },
  share: { lua: SHARE },
  giveUp: { lua: GIVE_UP },
  extend: { lua: EXTEND },
  forget: { lua: FORGET, keys: 4 },
}

/** How long a lapsed lease is remembered, in ms: longer than any call, so that its late answer is kept after all. */
const LATE_ANSWER_MS = 900_000
/** Questions forgotten in one step: long enough to be quick, short enough not to hold up Redis. */
const FORGOTTEN_AT_ONCE = 500

const looked = z.array(z.string())
const flags = z.array(z.number())
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
  const scripts = luaOn(client, SOURCES)
  const answerAt = (key: string) => under(`memo:answer:${key}`)
  const leaseAt = (key: string) => under(`memo:lease:${key}`)
  const indexOf = (member: string) => under(`memo:of:${member}`)
  const goneAt = (member: string) => under(`memo:gone:${member}`)

  return {
    async look(keys, asker, leaseMs, subject) {
      const member = memberOf(subject)
      const at = [indexOf(member), goneAt(member), ...keys.flatMap((key) => [answerAt(key), leaseAt(key)])]
      const said = await scripts.look(at.length, ...at, asker, leaseMs, leaseMs + LATE_ANSWER_MS, ...keys)
      return inPairs(looked.parse(said)).map(lookedOf)
    },
    async keep(answers, asker, keepMs, subject) {
      const at = [indexOf(memberOf(subject)), ...answers.flatMap(({ key }) => [answerAt(key), leaseAt(key)])]
      const entries = answers.flatMap(({ key, entry }) => [key, JSON.stringify(entry)])
      return flags.parse(await scripts.keep(at.length, ...at, asker, keepMs, ...entries)).map((flag) => flag === 1)
    },
    async share(keys, subject) {
      const member = memberOf(subject)
      const at = [indexOf(member), goneAt(member), ...keys.map(answerAt)]
      await scripts.share(at.length, ...at, ...keys)
    },
    async giveUp(keys, asker) {
      await scripts.giveUp(keys.length, ...keys.map(leaseAt), asker)
    },
    async extend(keys, asker, leaseMs) {
      const given = [asker, leaseMs, leaseMs + LATE_ANSWER_MS]
      const said = await scripts.extend(keys.length, ...keys.map(leaseAt), ...given)
      return flags.parse(said).map((flag) => flag === 1)
    },
    async forget(subject, quietMs) {
      const member = memberOf(subject)
      for (let erased = 0; ; ) {
        const at = [indexOf(member), goneAt(member), answerAt(''), leaseAt('')]
        const [taken, answers] = forgotten.parse(await scripts.forget(...at, FORGOTTEN_AT_ONCE, quietMs))
        erased += answers
        if (taken < FORGOTTEN_AT_ONCE) return erased
      }
    },
  }
}

function inPairs(said: readonly string[]): [string, string][] {
  return Array.from({ length: said.length / 2 }, (_, nth) => [said[2 * nth] ?? '', said[2 * nth + 1] ?? ''])
}

function lookedOf([state, detail]: readonly [string, string]): Looked {
  if (state === 'known') return { state, entry: memoEntry.parse(JSON.parse(detail)) }
  return state === 'mine' ? { state } : { state: 'asked', waitMs: Number(detail) }
}
