import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../domain/thread.ts'
import type { Looked, Memo } from '../../ports/memo.ts'
import { memberOf } from './keys.ts'
import { pairs } from './pairs.ts'
import { script } from './script.ts'

const look = script('memo/look', {
  keys: ['index', 'gone', 'questions[].answer', 'questions[].lease'],
  args: ['asker', 'leaseMs', 'recordMs', 'questions[].name'],
})
const keep = script('memo/keep', {
  keys: ['index', 'questions[].answer', 'questions[].lease'],
  args: ['asker', 'keepMs', 'questions[].name', 'questions[].entry'],
})
const share = script('memo/share', { keys: ['index', 'gone', 'questions[].answer'], args: ['questions[].name'] })
const giveUp = script('memo/give-up', { keys: ['leases[]'], args: ['asker'] })
const extend = script('memo/extend', { keys: ['leases[]'], args: ['asker', 'leaseMs', 'recordMs'] })
const forget = script('memo/forget', {
  keys: ['index', 'gone', 'answerPrefix', 'leasePrefix'],
  args: ['limit', 'quietMs'],
})

/** How long an expired lease is remembered, in ms: longer than any call, so that a late answer is still kept. */
const LATE_ANSWER_MS = 900_000
/** Questions forgotten in one step: enough to be fast, few enough not to block Redis. */
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

/** The memo in Redis. `under` makes a key from a name; all keys must share one hash tag. */
export function redisMemo(client: Redis, under: (name: string) => string): Memo {
  const answerAt = (key: string) => under(`memo:answer:${key}`)
  const leaseAt = (key: string) => under(`memo:lease:${key}`)
  const indexOf = (member: string) => under(`memo:of:${member}`)
  const goneAt = (member: string) => under(`memo:gone:${member}`)
  const subjectKeys = (subject: ThreadRef) => ({ index: indexOf(memberOf(subject)), gone: goneAt(memberOf(subject)) })
  const question = (key: string) => ({ name: key, answer: answerAt(key), lease: leaseAt(key) })

  return {
    async look(keys, asker, leaseMs, subject) {
      const times = { leaseMs, recordMs: leaseMs + LATE_ANSWER_MS }
      const reply = await look(client, { ...subjectKeys(subject), asker, ...times, questions: keys.map(question) })
      return pairs(looked.parse(reply)).map(lookedOf)
    },
    async keep(answers, asker, keepMs, subject) {
      const questions = answers.map(({ key, entry }) => ({ ...question(key), entry: JSON.stringify(entry) }))
      const reply = await keep(client, { ...subjectKeys(subject), asker, keepMs, questions })
      return flags.parse(reply).map((flag) => flag === 1)
    },
    async share(keys, subject) {
      return (await share(client, { ...subjectKeys(subject), questions: keys.map(question) })) === 1
    },
    async giveUp(keys, asker) {
      await giveUp(client, { leases: keys.map(leaseAt), asker })
    },
    async extend(keys, asker, leaseMs) {
      const times = { leaseMs, recordMs: leaseMs + LATE_ANSWER_MS }
      const reply = await extend(client, { leases: keys.map(leaseAt), asker, ...times })
      return flags.parse(reply).map((flag) => flag === 1)
    },
    async forget(subject, quietMs) {
      const prefixes = { answerPrefix: answerAt(''), leasePrefix: leaseAt('') }
      const given = { ...subjectKeys(subject), ...prefixes, limit: FORGOTTEN_AT_ONCE, quietMs }
      for (let erased = 0; ; ) {
        const [taken, answers] = forgotten.parse(await forget(client, given))
        erased += answers
        if (taken < FORGOTTEN_AT_ONCE) return erased
      }
    },
  }
}

function lookedOf([state, detail]: readonly [string, string]): Looked {
  if (state === 'known') return { state, entry: memoEntry.parse(JSON.parse(detail)) }
  return state === 'mine' ? { state } : { state: 'asked', waitMs: Number(detail) }
}
