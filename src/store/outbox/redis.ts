import type { Redis } from 'ioredis'
import { z } from 'zod'
import { requestIn, revisionIn } from '../../contracts/facts/verdict-id.ts'
import type { Outbox, OutboxEntry } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { caseKeys, type Keys, outboxPlace, PUBLISHERS, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import { adoptedEntries, readEntries, type StoredEntry, type VerdictOf } from './redis-entries.ts'

const done = script('outbox/done', {
  keys: [
    'outbox',
    'due',
    'thread',
    'case',
    'journal',
    'lost',
    'comments',
    'sample',
    'authors',
    'images',
    'revisions',
    'erased',
    'decided',
    'answers',
  ],
  args: [
    'entry',
    'group',
    'id',
    'number',
    'protocol',
    'member',
    'isAsked',
    'keepJournal',
    'keepAfterFinal',
    'keepTombstone',
    'now',
  ],
})
const keepBack = script('outbox/keep-back', {
  keys: ['outbox', 'case', 'owners'],
  args: ['entry', 'group', 'shown', 'tried'],
})
const keptBack = z.enum(['sendable', 'gone', 'withheld', 'kept-back'])
const forgetConsumers = script('outbox/forget-consumers', { keys: ['stream'], args: ['group', 'idle', 'only'] })

/** An erased entry is waited for this many times longer than one that another publisher can adopt and send. */
const ERASED_WAIT = 6

const NONE: ReadonlySet<string> = new Set()

const erasedEntry = z.tuple([z.number(), z.string(), z.string(), z.string()])

interface OutboxSettings {
  readonly keepJournalMs: number
  readonly keepAfterFinalMs: number
  readonly keepTombstoneMs: number
  /** All of it, where it was asked apart from the stream. */
  readonly keepAnswersMs?: number
  readonly clock: Clock
}

/** Removes an entry from the outbox permanently; its subject may then open the next revision. */
function releaser(client: Redis, keys: Keys, settings: OutboxSettings) {
  const stream = {
    keepJournal: settings.keepJournalMs,
    keepAfterFinal: settings.keepAfterFinalMs,
    keepTombstone: settings.keepTombstoneMs,
  }
  const keepAnswers = settings.keepAnswersMs ?? settings.keepAfterFinalMs
  const asked = {
    keepJournal: Math.min(settings.keepJournalMs, keepAnswers),
    keepAfterFinal: keepAnswers,
    keepTombstone: keepAnswers,
  }
  return (entry: string, id: string, { member, protocol, number }: Omit<VerdictOf, 'shown'>) =>
    done(client, {
      ...threadKeys(keys, member),
      ...caseKeys(keys, id),
      ...outboxPlace(keys, entry),
      due: keys.due,
      erased: keys.erased,
      group: PUBLISHERS,
      id,
      number,
      protocol,
      member,
      answers: keys.answers(member),
      isAsked: requestIn(id) !== null,
      ...(requestIn(id) === null ? stream : asked),
      now: settings.clock(),
    })
}
type Release = ReturnType<typeof releaser>

/** Entries that were erased while a publisher had them. */
function erasedEntries(client: Redis, keys: Keys, release: Release) {
  /** The entries that this version understands. */
  const all = async () =>
    Object.entries(await client.hgetall(keys.erased)).flatMap(([entry, json]) => {
      const read = erasedEntry.safeParse(JSON.parse(json))
      if (!read.success) return []
      const [at, caseId, protocol, member] = read.data
      return [{ entry, at, caseId, of: { protocol, member, number: String(revisionIn(caseId) ?? '') } }]
    })

  /** ms since 1970, by the clock of the scripts that note erased entries. */
  async function redisTime(): Promise<number> {
    const [seconds, micros] = await client.time()
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  return {
    /** Filters out entries that were erased while they were being handed to this publisher: these are never sent. */
    async without(entries: OutboxEntry[]): Promise<OutboxEntry[]> {
      const handed = new Set(entries.map(({ id }) => id))
      if (handed.size === 0) return entries
      const gone = (await all()).filter(({ entry }) => handed.has(entry))
      for (const { entry, caseId, of } of gone) await release(entry, caseId, of)
      return entries.filter(({ id }) => !gone.some(({ entry }) => entry === id))
    },
    /** Records that their publisher is still working on these. */
    async touch(ids: readonly string[]): Promise<void> {
      for (const { entry, caseId, of } of await all())
        if (ids.includes(entry)) {
          const noted = [await redisTime(), caseId, of.protocol, of.member]
          await client.hset(keys.erased, entry, JSON.stringify(noted))
        }
    },
    /**
     * Releases erased entries whose publisher has sent no heartbeat for long: a dead one never reports that it is done.
     * One that is only suspended would still send its entry, and no other publisher can send it instead, so it is waited
     * for longer than for entries that can be adopted.
     */
    async releaseOverdue(idleMs: number): Promise<void> {
      for (const { entry, at, caseId, of } of await all())
        if (at <= (await redisTime()) - ERASED_WAIT * idleMs) await release(entry, caseId, of)
    },
  }
}

/** The outbox as a Redis stream with one consumer group. `blocking` is a separate connection, since its reads block. */
export function redisOutbox(client: Redis, blocking: Redis, keys: Keys, settings: OutboxSettings): Outbox {
  const release = releaser(client, keys, settings)
  const erased = erasedEntries(client, keys, release)
  /** By entry: the thread that each handed-out verdict is about. */
  const handedOut = new Map<string, VerdictOf>()

  async function withGroup<Result>(read: () => Promise<Result>): Promise<Result> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOGROUP'))) throw error
      for (const stream of [keys.outbox, keys.letters])
        await client.xgroup('CREATE', stream, PUBLISHERS, '0', 'MKSTREAM').catch((busy: unknown) => {
          if (!(busy instanceof Error && busy.message.startsWith('BUSYGROUP'))) throw busy
        })
      return read()
    }
  }

  /** Whether each may be sent; verdicts of withheld cases that nobody can have sent are taken out of the outbox, and their cases begin again. */
  async function keepBackWithheld(
    read: readonly StoredEntry[],
    tried: ReadonlySet<string>,
  ): Promise<z.infer<typeof keptBack>[]> {
    return Promise.all(
      read.map(async ({ entry, of }) => {
        const shown = of?.shown === true && (entry.kind === 'verdict' || entry.kind === 'proposal')
        const caseId = 'caseId' in entry ? entry.caseId : ''
        const given = { ...outboxPlace(keys, entry.id), case: keys.case(caseId), owners: keys.deletedOwners }
        const state = { group: PUBLISHERS, shown, tried: tried.has(entry.id) }
        return keptBack.parse(await keepBack(client, { ...given, ...state }))
      }),
    )
  }

  /** Without the verdicts of withheld cases. */
  async function withoutWithheld(read: readonly StoredEntry[]): Promise<StoredEntry[]> {
    const shown = read.filter(({ of }) => of?.shown === true)
    const found = await keepBackWithheld(shown, NONE)
    const withheld = new Set(shown.filter((_, at) => found[at] !== 'sendable').map(({ entry }) => entry.id))
    return read.filter(({ entry }) => !withheld.has(entry.id))
  }

  async function countVerdicts(): Promise<number> {
    // What waits for an erased entry to be released has left the stream, and is not done.
    const [waiting, erasedWhileSent] = await Promise.all([client.xlen(keys.outbox), client.hlen(keys.erased)])
    return waiting + erasedWhileSent
  }

  async function oldestIn(stream: string): Promise<number | null> {
    const [first] = await client.xrange(stream, '-', '+', 'COUNT', 1)
    // An entry's id begins with its creation time.
    return first === undefined ? null : Number.parseInt(first[0], 10)
  }

  function handOut(read: readonly StoredEntry[]): OutboxEntry[] {
    for (const { entry, of } of read) if (of !== null) handedOut.set(entry.id, of)
    return read.map(({ entry }) => entry)
  }

  return {
    async putDeadLetters(letters) {
      const batch = client.pipeline()
      for (const { key, letter } of letters)
        batch.xadd(keys.letters, '*', 'kind', 'dead-letter', 'key', key, 'letter', letter)
      for (const [error] of (await batch.exec()) ?? []) if (error !== null) throw error
    },
    async putAppealOutcomes(outcomes) {
      const batch = client.pipeline()
      for (const one of outcomes) batch.xadd(keys.outbox, '*', 'kind', 'appeal', 'outcome', JSON.stringify(one))
      for (const [error] of (await batch.exec()) ?? []) if (error !== null) throw error
    },
    async next(publisher, limit, waitMs, { withLetters = true } = {}) {
      const block = waitMs > 0 ? ['BLOCK', waitMs] : []
      const streams = withLetters ? [keys.outbox, keys.letters, '>', '>'] : [keys.outbox, '>']
      const reply = await withGroup(() =>
        blocking.call('XREADGROUP', 'GROUP', PUBLISHERS, publisher, 'COUNT', limit, ...block, 'STREAMS', ...streams),
      )
      return erased.without(handOut(await withoutWithheld(await readEntries(reply, keys.letters))))
    },
    async adopt(publisher, limit, idleMs) {
      await erased.releaseOverdue(idleMs)
      const adoptFrom = async (stream: string) => {
        const claim = () => client.call('XAUTOCLAIM', stream, PUBLISHERS, publisher, idleMs, '0', 'COUNT', limit)
        return handOut(await adoptedEntries(await withGroup(claim), stream === keys.letters))
      }
      return [...(await adoptFrom(keys.outbox)), ...(await adoptFrom(keys.letters))]
    },
    async stillToSend(entries, tried) {
      const left = await erased.without([...entries])
      const found = await keepBackWithheld(
        left.map((entry) => ({ entry, of: handedOut.get(entry.id) ?? null })),
        tried,
      )
      const those = (wanted: 'sendable' | 'withheld') => left.filter((_, at) => found[at] === wanted)
      const still = { sendable: those('sendable'), withheld: those('withheld') }
      const isLeft = new Set([...still.sendable, ...still.withheld].map(({ id }) => id))
      for (const { id } of entries) if (!isLeft.has(id)) handedOut.delete(id)
      return still
    },
    async heartbeat(publisher, ids) {
      const places = Map.groupBy(
        ids.map((id) => outboxPlace(keys, id)),
        ({ outbox }) => outbox,
      )
      for (const [stream, those] of places) {
        const entries = those.map(({ entry }) => entry)
        await client.call('XCLAIM', stream, PUBLISHERS, publisher, 0, ...entries, 'JUSTID')
      }
      if (ids.length > 0) await erased.touch(ids)
    },
    async done(entries) {
      await Promise.all(
        entries.map((entry) => {
          const of = handedOut.get(entry.id) ?? { member: '', protocol: '', number: '' }
          handedOut.delete(entry.id)
          return release(entry.id, 'caseId' in entry ? entry.caseId : '', of)
        }),
      )
    },
    async leave(publisher) {
      for (const stream of [keys.outbox, keys.letters])
        await forgetConsumers(client, { stream, group: PUBLISHERS, idle: 0, only: publisher })
    },
    async forget(idleMs) {
      for (const stream of [keys.outbox, keys.letters])
        await forgetConsumers(client, { stream, group: PUBLISHERS, idle: idleMs, only: '' })
    },
    async size() {
      const [verdicts, letters] = await Promise.all([countVerdicts(), client.xlen(keys.letters)])
      return verdicts + letters
    },
    async oldest() {
      const times = await Promise.all([oldestIn(keys.outbox), oldestIn(keys.letters)])
      const known = times.filter((time) => time !== null)
      return known.length === 0 ? null : Math.min(...known)
    },
    async backlog() {
      const [verdicts, letters, oldestVerdict] = await Promise.all([
        countVerdicts(),
        client.xlen(keys.letters),
        oldestIn(keys.outbox),
      ])
      return { verdicts, letters, oldestVerdict }
    },
  }
}
