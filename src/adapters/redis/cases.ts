import type { Redis } from 'ioredis'
import { z } from 'zod'
import { call, caseRecord, journalEntry } from '../../domain/case.ts'
import {
  type CaseStore,
  type LostCall,
  type Outbox,
  type OutboxEntry,
  StandsStill,
  type TakenCase,
  type UnpublishedCase,
} from '../../ports/cases.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Keys, memberOf, PUBLISHERS } from './keys.ts'
import type { Stamp } from './lineage.ts'
import { pairs } from './pairs.ts'
import { scriptsOn } from './scripts.ts'

const takenReply = z.tuple([z.string(), z.string(), z.string(), z.array(z.string()), z.array(z.string())])
const unpublishedReply = z.tuple([
  z.enum(['open', 'concluded']),
  z.string(),
  z.string(),
  z.string(),
  z.array(z.string()),
  z.array(z.string()),
])
const partedReply = z.tuple([z.array(z.string()), z.array(z.string())])
const lostCall = call.extend({ key: z.string() })

/** Open cases and their journals in Redis: a hash for the case, one for its journal, a list of calls without an answer. */
export function redisCases(client: Redis, keys: Keys, clock: Clock, stamp: () => Stamp = () => ['', 0, '']): CaseStore {
  const scripts = scriptsOn(client)

  async function take(
    id: string,
    now: number | '',
    known?: Pick<TakenCase, 'run' | 'record'>,
  ): Promise<TakenCase | null> {
    const reply = await scripts.takeCase(
      keys.case(id),
      keys.journal(id),
      keys.lost(id),
      keys.open,
      keys.lineage,
      id,
      now,
      known === undefined ? '' : `${known.run}@${known.record.openedAt}`,
      ...stamp(),
    )
    if (reply === null) return null
    if (reply === 'still') throw new StandsStill()
    const [record, epoch, run, journal, lost] = takenReply.parse(reply)
    return {
      record: record === '' && known !== undefined ? known.record : caseRecord.parse(JSON.parse(record)),
      epoch: Number(epoch),
      run: Number(run),
      ...journalOf(journal, lost),
    }
  }

  return {
    take: (id, known) => take(id, clock(), known),
    peek: (id) => take(id, ''),
    isCurrent: async (id, run) => {
      const [status, current] = await client.hmget(keys.case(id), 'status', 'run')
      return status === 'open' && current === String(run)
    },
    async unpublished(id) {
      const reply = await scripts.readUnpublished(keys.case(id), keys.journal(id), keys.lost(id))
      if (reply === null) return null
      const [status, record, epoch, run, journal, lost] = unpublishedReply.parse(reply)
      const held: UnpublishedCase = {
        record: caseRecord.parse(JSON.parse(record)),
        epoch: Number(epoch),
        run: Number(run),
        ...journalOf(journal, lost),
        concluded: status === 'concluded',
      }
      return held
    },
    async restartUnpublished(
      { record: { id, protocol, tenant, subjectId, kind }, epoch, run, journal, concluded },
      restart,
    ) {
      const member = memberOf({ tenant, postId: subjectId, kind })
      const done = await scripts.beginOver(
        keys.thread(member),
        keys.case(id),
        keys.journal(id),
        keys.lost(id),
        keys.open,
        keys.outbox,
        keys.erased,
        id,
        member,
        protocol,
        restart.version,
        concluded ? 'concluded' : 'open',
        epoch,
        run,
        journal.size,
        clock(),
        PUBLISHERS,
        JSON.stringify(restart.record),
        restart.seen ?? '',
        restart.journal.size,
        ...[...restart.journal].flatMap(([key, entry]) => [key, JSON.stringify(entry)]),
        ...restart.lostCalls.map((one) => JSON.stringify(one)),
      )
      return done === 'begun-over' ? 'restarted' : z.enum(['in-flight', 'changed']).parse(done)
    },
    async restart(id, epoch, record) {
      return (await scripts.restartCase(keys.case(id), keys.journal(id), epoch, JSON.stringify(record))) === 1
    },
    async answer(id, run, key, entry) {
      const written = await scripts.answerAsk(keys.case(id), keys.journal(id), run, key, JSON.stringify(entry))
      return z.enum(['stored', 'exists', 'stale']).parse(written)
    },
    async loseCalls(id, calls) {
      if (calls.length === 0) return
      await scripts.loseCalls(keys.case(id), keys.lost(id), ...calls.map((call) => JSON.stringify(call)))
    },
    async conclude({ id, protocol, tenant, subjectId, kind }, epoch, { verdict, transcript, carry }) {
      const member = memberOf({ tenant, postId: subjectId, kind })
      const won = await scripts.concludeCase(
        keys.case(id),
        keys.open,
        keys.unworked,
        keys.outbox,
        keys.thread(member),
        keys.lineage,
        id,
        epoch,
        protocol,
        member,
        verdict,
        transcript,
        carry ?? '',
        ...stamp(),
      )
      return won === 1
    },
    idle: (idleMs, limit, skip = 0) => client.zrangebyscore(keys.open, '-inf', clock() - idleMs, 'LIMIT', skip, limit),
    countOpen: () => client.zcard(keys.open),
    async part(worked) {
      const [back, unworked] = partedReply.parse(await scripts.partOpen(keys.open, keys.unworked, ...worked))
      return { back, unworked }
    },
  }
}

/** What of a case stands beside its record. */
function journalOf(journal: readonly string[], lost: readonly string[]): Pick<TakenCase, 'journal' | 'lostCalls'> {
  return {
    journal: new Map(pairs(journal).map(([key, json]) => [key, journalEntry.parse(JSON.parse(json))])),
    lostCalls: lost.map((json): LostCall => lostCall.parse(JSON.parse(json))),
  }
}

/** So many times longer than for an entry that another can send is waited for one that was erased. */
const ERASED_WAIT = 6

const erasedEntry = z.tuple([z.number(), z.string(), z.string(), z.string()])

const rows = z.array(z.tuple([z.string(), z.array(z.string()).nullable()]))
/** The one stream's name and its entries: RESP3's map, flattened. */
const streamReply = z.tuple([z.string(), rows])
const claimReply = z.tuple([z.string(), rows]).rest(z.unknown())

/** The outbox as a Redis stream with one consumer group. `blocking` is a connection of its own: its reads wait. */
export function redisOutbox(
  client: Redis,
  blocking: Redis,
  keys: Keys,
  settings: { keepJournalMs: number; keepThreadMs: number; keepRevisionsMs: number; clock: Clock },
): Outbox {
  const scripts = scriptsOn(client)
  /** What `done` needs and the publisher does not: the thread of each verdict that was handed out. */
  const members = new Map<string, { member: string; protocol: string }>()

  async function withGroup<Result>(read: () => Promise<Result>): Promise<Result> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOGROUP'))) throw error
      await client.xgroup('CREATE', keys.outbox, PUBLISHERS, '0', 'MKSTREAM').catch((busy: unknown) => {
        if (!(busy instanceof Error && busy.message.startsWith('BUSYGROUP'))) throw busy
      })
      return read()
    }
  }

  const entriesOf = (given: z.infer<typeof rows>) =>
    given.flatMap(([id, flat]): OutboxEntry[] => {
      if (flat === null) return []
      const field = Object.fromEntries(pairs(flat))
      if (field.kind === 'dead-letter')
        return [{ id, kind: 'dead-letter', key: field.key ?? '', letter: field.letter ?? '' }]
      if (field.kind !== 'verdict') return [{ id, kind: 'unknown', json: JSON.stringify(field) }]
      members.set(id, { member: field.member ?? '', protocol: field.protocol ?? '' })
      const { case: caseId = '', verdict = '', transcript = '' } = field
      return [{ id, kind: 'verdict', caseId, verdict, transcript }]
    })

  const release = (entry: string, caseId: string, protocol: string, member: string) =>
    scripts.doneEntry(
      keys.outbox,
      keys.due,
      keys.thread(member),
      keys.case(caseId),
      keys.journal(caseId),
      keys.lost(caseId),
      keys.comments(member),
      keys.sample(member),
      keys.authors(member),
      keys.revisions(member),
      keys.erased,
      entry,
      PUBLISHERS,
      caseId,
      protocol,
      member,
      settings.keepJournalMs,
      settings.keepThreadMs,
      settings.keepRevisionsMs,
      settings.clock(),
    )

  /** What this version understands of them. */
  const erased = async () =>
    Object.entries(await client.hgetall(keys.erased)).flatMap(([entry, json]) => {
      const read = erasedEntry.safeParse(JSON.parse(json))
      if (!read.success) return []
      const [at, ...rest] = read.data
      return [{ entry, at, rest }]
    })

  /** Without those that were erased while they were on their way to us: nobody sends them any more. */
  async function standing(entries: OutboxEntry[]): Promise<OutboxEntry[]> {
    const handed = new Set(entries.map(({ id }) => id))
    if (handed.size === 0) return entries
    const gone = (await erased()).filter(({ entry }) => handed.has(entry))
    for (const { entry, rest } of gone) await release(entry, ...rest)
    return entries.filter(({ id }) => !gone.some(({ entry }) => entry === id))
  }

  /** ms since 1970, by the clock of the scripts that note erased entries. */
  async function redisTime(): Promise<number> {
    const [seconds, micros] = await client.time()
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }

  /**
   * A publisher that was handed an entry which was erased, and is gone, says no more that it is done. One that only stands still
   * would send it when it goes on, and nobody can do so in its place: it is waited for longer.
   */
  async function releaseErased(idleMs: number): Promise<void> {
    for (const { entry, at, rest } of await erased())
      if (at <= (await redisTime()) - ERASED_WAIT * idleMs) await release(entry, ...rest)
  }

  return {
    async putDeadLetters(letters) {
      const batch = client.pipeline()
      for (const { key, letter } of letters)
        batch.xadd(keys.outbox, '*', 'kind', 'dead-letter', 'key', key, 'letter', letter)
      for (const [error] of (await batch.exec()) ?? []) if (error !== null) throw error
    },
    async next(publisher, limit, waitMs) {
      const reply = await withGroup(() =>
        blocking.call(
          'XREADGROUP',
          'GROUP',
          PUBLISHERS,
          publisher,
          'COUNT',
          limit,
          ...(waitMs > 0 ? ['BLOCK', waitMs] : []),
          'STREAMS',
          keys.outbox,
          '>',
        ),
      )
      if (reply === null) return []
      return standing(entriesOf(streamReply.parse(reply)[1]))
    },
    async adopt(publisher, limit, idleMs) {
      await releaseErased(idleMs)
      const reply = await withGroup(() =>
        client.call('XAUTOCLAIM', keys.outbox, PUBLISHERS, publisher, idleMs, '0', 'COUNT', limit),
      )
      return entriesOf(claimReply.parse(reply)[1])
    },
    async keep(publisher, ids) {
      if (ids.length === 0) return
      await client.call('XCLAIM', keys.outbox, PUBLISHERS, publisher, 0, ...ids, 'JUSTID')
      for (const { entry, rest } of await erased())
        if (ids.includes(entry)) await client.hset(keys.erased, entry, JSON.stringify([await redisTime(), ...rest]))
    },
    async done(entries) {
      await Promise.all(
        entries.map((entry) => {
          const { member = '', protocol = '' } = members.get(entry.id) ?? {}
          members.delete(entry.id)
          return release(entry.id, entry.kind === 'verdict' ? entry.caseId : '', protocol, member)
        }),
      )
    },
    async leave(publisher) {
      await scripts.forgetConsumers(keys.outbox, PUBLISHERS, 0, publisher)
    },
    async forget(idleMs) {
      await scripts.forgetConsumers(keys.outbox, PUBLISHERS, idleMs, '')
    },
    size: () => client.xlen(keys.outbox),
    async oldest() {
      const [first] = await client.xrange(keys.outbox, '-', '+', 'COUNT', 1)
      // An entry's id begins with the time at which it was made.
      return first === undefined ? null : Number.parseInt(first[0], 10)
    },
  }
}
