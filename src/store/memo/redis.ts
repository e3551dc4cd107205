import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { frameOf, type KeptAnswer, type Memo, type MemoLookup } from '../../contracts/ports/memo.ts'
import { memberOf } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'

// The rules are in the Lua beside this file, which these methods call.

const lookUp = script('memo/look-up', {
  keys: ['index', 'gone', 'frame'],
  args: ['name', 'subject', 'holder', 'leaseMs', 'rememberMs', 'overwrite', 'items[]'],
})
const share = script('memo/share', { keys: ['index', 'gone', 'frame'], args: ['name', 'subject', 'items[]'] })
const keep = script('memo/keep', {
  keys: ['frames[].index', 'frames[].frame'],
  args: ['keepMs', 'frames[].name', 'frames[].holder', 'frames[].count', 'items[].name', 'items[].entry'],
})
const release = script('memo/release', { keys: ['frame'], args: ['holder', 'items[]'] })
const releaseUnlessAwaited = script('memo/release-unless-awaited', { keys: ['frame'], args: ['holder', 'items[]'] })
const renew = script('memo/renew', {
  keys: ['frames[].frame'],
  args: ['leaseMs', 'rememberMs', 'frames[].holder', 'frames[].count', 'items[]'],
})
const forget = script('memo/forget', {
  keys: ['index', 'gone', 'framePrefix'],
  args: ['subject', 'limit', 'quietMs'],
})

/** How long an expired lease is remembered, in ms: longer than any call, so that a late answer is still kept. */
const LATE_ANSWER_MS = 900_000
/** Leases renewed in one step: few enough not to block Redis. */
const RENEWED_AT_ONCE = 500
/** Questions looked at in one step of forgetting: enough to be fast, few enough not to block Redis. */
const FORGOTTEN_AT_ONCE = 500

const lookedUp = z.array(z.string())
const flags = z.array(z.number())
const forgotten = z.tuple([z.number(), z.number()])
const memoEntry = z.object({
  answer: z.unknown(),
  raw: z.string().nullable(),
  model: z.string(),
  promptTokens: z.number(),
  completionTokens: z.number(),
})

/** Key of a sorted set: the frames with questions about a thread. Without it the memo knows nothing of the thread. */
export function askedAbout(under: (name: string) => string, member: string): string {
  return under(`memo:of:${member}`)
}

/**
 * The memo in Redis: a hash for each prompt, with its questions as fields (`frameOf`), so that a batch is looked up and
 * kept in a few commands. `under` makes a key from a name; all keys must share one hash tag.
 */
export function redisMemo(client: Redis, under: (name: string) => string): Memo {
  const keep = keepTogether(client)
  const frameAt = (name: string) => under(`memo:frame:${name}`)
  const subjectKeys = (subject: ThreadRef) => {
    const member = memberOf(subject)
    return { index: askedAbout(under, member), gone: under(`memo:gone:${member}`), subject: shortHash(member) }
  }

  return {
    lookUp(keys, holder, leaseMs, subject, { overwrite } = { overwrite: false }) {
      const times = { leaseMs, rememberMs: leaseMs + LATE_ANSWER_MS }
      return byFrame(keys, itself, async (name, questions) => {
        const items = questions.map(({ item }) => item)
        const given = { ...subjectKeys(subject), frame: frameAt(name), name, holder, ...times, overwrite, items }
        return pairs(lookedUp.parse(await lookUp(client, given))).map(lookupOf)
      })
    },
    keep(answers, holder, keepMs, subject) {
      const { index } = subjectKeys(subject)
      return byFrame(answers, keyOf, (name, kept) => {
        const items = kept.map(({ item, of: { entry } }) => ({ name: item, entry }))
        return keep({ index, frame: frameAt(name), name, holder, items }, keepMs)
      })
    },
    async share(keys, subject) {
      const shared = await byFrame(keys, itself, async (name, questions) => {
        const items = questions.map(({ item }) => item)
        const done = await share(client, { ...subjectKeys(subject), frame: frameAt(name), name, items })
        return questions.map(() => done === 1)
      })
      return shared.every((one) => one)
    },
    async release(keys, holder) {
      await byFrame(keys, itself, async (name, questions) => {
        await release(client, { frame: frameAt(name), holder, items: questions.map(({ item }) => item) })
        return questions
      })
    },
    async releaseUnlessAwaited(keys, holder) {
      const abandoned = await byFrame(keys, itself, async (name, questions) => {
        const items = questions.map(({ item }) => item)
        const done = await releaseUnlessAwaited(client, { frame: frameAt(name), holder, items })
        return questions.map(() => done === 1)
      })
      return abandoned.every((one) => one)
    },
    async renew(leased, leaseMs) {
      const times = { leaseMs, rememberMs: leaseMs + LATE_ANSWER_MS }
      const renewed: boolean[] = []
      for (let from = 0; from < leased.length; from += RENEWED_AT_ONCE) {
        const some = leased.slice(from, from + RENEWED_AT_ONCE).map(({ key, holder }) => ({ holder, ...frameOf(key) }))
        const frames: { frame: string; holder: string; count: number }[] = []
        for (const { frame, holder } of some) {
          const last = frames.at(-1)
          if (last?.frame === frameAt(frame) && last.holder === holder) last.count++
          else frames.push({ frame: frameAt(frame), holder, count: 1 })
        }
        const reply = await renew(client, { ...times, frames, items: some.map(({ item }) => item) })
        renewed.push(...flags.parse(reply).map((flag) => flag === 1))
      }
      return renewed
    },
    async forget(subject, quietMs) {
      const given = { ...subjectKeys(subject), framePrefix: frameAt(''), limit: FORGOTTEN_AT_ONCE, quietMs }
      for (let erased = 0; ; ) {
        const [more, answers] = forgotten.parse(await forget(client, given))
        erased += answers
        if (more === 0) return erased
      }
    },
  }
}

function lookupOf([state, detail]: readonly [string, string]): MemoLookup {
  if (state === 'known') return { state, entry: memoEntry.parse(JSON.parse(detail)) }
  return state === 'leased' ? { state } : { state: 'leased-by-other', expiresInMs: Number(detail) }
}

/** By which an answer names a subject that knows it: two with the same hash lose their answers together. */
function shortHash(member: string): string {
  return hash('sha256', member, 'base64url').slice(0, 10)
}

const itself = (key: string) => key
const keyOf = ({ key }: KeptAnswer) => key

/** Runs a step for each prompt of these questions; returns the results in the order of the questions. */
async function byFrame<Of, Result>(
  all: readonly Of[],
  keyOf: (one: Of) => string,
  step: (frame: string, some: readonly { readonly of: Of; readonly item: string }[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const questions = all.map((of, at) => ({ of, at, ...frameOf(keyOf(of)) }))
  const [first] = questions
  if (first === undefined) return []
  if (questions.every(({ frame }) => frame === first.frame)) return step(first.frame, questions)
  const results: Result[] = []
  await Promise.all(
    [...Map.groupBy(questions, ({ frame }) => frame)].map(async ([frame, some]) => {
      for (const [nth, result] of (await step(frame, some)).entries()) results[some[nth]?.at ?? 0] = result
    }),
  )
  return results
}

/** Answers to questions of one frame, by one holder. */
interface KeptFrame {
  readonly index: string
  readonly frame: string
  readonly name: string
  readonly holder: string
  readonly items: readonly { readonly name: string; readonly entry: string }[]
}

interface WaitingFrame extends KeptFrame {
  resolve(kept: boolean[]): void
  reject(error: unknown): void
}

/** Answers stored in one step: few enough not to block Redis. */
const KEPT_AT_ONCE = 200

/**
 * Stores answers, all that one turn of the event loop brings in one step: under load a script costs more than what it
 * stores.
 */
function keepTogether(client: Redis): (kept: KeptFrame, keepMs: number) => Promise<boolean[]> {
  const waiting = new Map<number, WaitingFrame[]>()

  async function store(frames: readonly WaitingFrame[], keepMs: number): Promise<void> {
    try {
      const given = { keepMs, frames: frames.map(rowOf), items: frames.flatMap(({ items }) => items) }
      const stored = flags.parse(await keep(client, given)).map((flag) => flag === 1)
      let from = 0
      for (const { items, resolve } of frames) {
        resolve(stored.slice(from, from + items.length))
        from += items.length
      }
    } catch (error) {
      for (const { reject } of frames) reject(error)
    }
  }

  function storeAll(): void {
    for (const [keepMs, all] of waiting) {
      let [some, items]: [WaitingFrame[], number] = [[], 0]
      for (const one of all) {
        if (some.length > 0 && items + one.items.length > KEPT_AT_ONCE) {
          void store(some, keepMs)
          ;[some, items] = [[], 0]
        }
        some.push(one)
        items += one.items.length
      }
      void store(some, keepMs)
    }
    waiting.clear()
  }

  return (kept, keepMs) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(storeAll)
      const some = waiting.get(keepMs) ?? []
      some.push({ ...kept, resolve, reject })
      waiting.set(keepMs, some)
    })
}

function rowOf({ index, frame, name, holder, items }: KeptFrame) {
  return { index, frame, name, holder, count: items.length }
}
