import type { Redis } from 'ioredis'
import { z } from 'zod'
import { call, caseRecord, type JournalEntry, journalEntry } from '../../contracts/facts/case.ts'
import {
  type CaseStore,
  type CaseSubject,
  CaseWithheld,
  type KnownCase,
  type LostCall,
  type OverridingVerdict,
  StoreSuspended,
  type TakenCase,
  type UnpublishedCase,
} from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { shownMember } from '../erasure/redis.ts'
import { type FencingToken, NO_FENCING } from '../redis/incarnation.ts'
import { caseKeys, type Keys, memberOf, PUBLISHERS, threadKeys } from '../redis/keys.ts'
import { packed } from '../redis/packed.ts'
import { pairs, script } from '../redis/script.ts'

// The rules are in the Lua beside this file, which these methods call.

const CASE = ['case', 'journal', 'lost'] as const

const takeCase = script('case/take', {
  keys: [...CASE, 'open', 'incarnation', 'owners'],
  args: ['id', 'now', 'known', 'incarnationId', 'watermark', 'serverRun', 'answered[]'],
})
const readUnpublished = script('case/read-unpublished', { keys: CASE })
const restartUnpublished = script('case/restart-unpublished', {
  keys: [...CASE, 'thread', 'open', 'outbox', 'erased', 'withheld', 'decided'],
  args: [
    'id',
    'member',
    'protocol',
    'version',
    'status',
    'epoch',
    'run',
    'journaled',
    'now',
    'group',
    'record',
    'seen',
    'shown',
    'withhold',
    'answers[].key',
    'answers[].entry',
    'lostCalls[]',
  ],
})
const withhold = script('case/withhold', { keys: ['case'], args: ['run', 'ms'] })
const restart = script('case/restart', { keys: ['case', 'journal'], args: ['epoch', 'record'] })
const answer = script('case/answer', {
  keys: ['case', 'journal', 'owners', 'shownPrefix'],
  args: ['run', 'key', 'entry', 'now', 'keepShown', 'shownTo', 'shown[]'],
})
const noteUnanswered = script('case/note-unanswered', {
  keys: ['unanswered', 'incarnation'],
  args: ['protocol', 'at', 'incarnationId'],
})
const loseCalls = script('case/lose-calls', { keys: ['case', 'lost'], args: ['calls[]'] })
const conclude = script('case/conclude', {
  keys: ['case', 'open', 'unworked', 'outbox', 'thread', 'incarnation', 'owners', 'decided'],
  args: [
    'id',
    'epoch',
    'protocol',
    'member',
    'verdict',
    'transcript',
    'carry',
    'beneath',
    'label',
    'opposed[]',
    'again',
    'now',
    'incarnationId',
    'watermark',
    'serverRun',
  ],
})
const partition = script('case/partition', { keys: ['open', 'unworked'], args: ['protocols[]'] })

const takenReply = z.tuple([z.string(), z.string(), z.string(), z.array(z.string()), z.array(z.string())])
const unpublishedReply = z.tuple([
  z.enum(['open', 'concluded']),
  z.string(),
  z.string(),
  z.string(),
  z.array(z.string()),
  z.array(z.string()),
])
const withheld = script('case/is-withheld', { keys: ['case', 'owners'] })
const answerReply = z.tuple([z.enum(['stored', 'exists', 'stale', 'deleted']), z.number()])
const concludeReply = z.union([z.number(), z.literal('verdict'), z.tuple([z.string(), z.string()])])
const partitionReply = z.tuple([z.array(z.string()), z.array(z.string())])
const lostCall = call.extend({ key: z.string() })

/** How long it is known which cases were shown something, in ms: as long as a store may hold what was made of it. */
const KEEP_SHOWN_MS = 172_800_000

/** Open cases and their journals in Redis: a hash for the case, one for its journal, a list of calls without an answer. */
export function redisCases(
  client: Redis,
  keys: Keys,
  clock: Clock,
  token: () => FencingToken = NO_FENCING,
  { keepShownMs } = { keepShownMs: KEEP_SHOWN_MS },
): CaseStore {
  const unpublished = (id: string) => unpublishedCase(client, keys, id)

  return {
    async take(id, known) {
      const reply = await takeCase(client, {
        ...caseKeys(keys, id),
        open: keys.open,
        incarnation: keys.incarnation,
        owners: keys.deletedOwners,
        id,
        now: clock(),
        ...token(),
        known: known === undefined ? '' : `${known.run}@${known.record.openedAt}`,
        answered: [...(known?.journal.keys() ?? [])],
      })
      if (reply === null) return null
      if (reply === 'suspended') throw new StoreSuspended()
      if (reply === 'withheld') throw new CaseWithheld()
      return takenOf(takenReply.parse(reply), known)
    },
    async peek(id) {
      const read = await unpublished(id)
      if (read === null || read.concluded) return null
      const { concluded: _, ...taken } = read
      return taken
    },
    recordLength: (id) => client.hstrlen(keys.case(id), 'record'),
    isOpen: openTogether(client, keys),
    isWithheld: async (id) => (await withheld(client, { case: keys.case(id), owners: keys.deletedOwners })) === 1,
    unpublished,
    async withhold(id, run, ms) {
      await withhold(client, { case: keys.case(id), run, ms })
    },
    async restartUnpublished(
      { record: { id, protocol, tenant, subjectId, kind }, epoch, run, journal, concluded },
      restarted,
    ) {
      const member = memberOf({ tenant, postId: subjectId, kind })
      const done = await restartUnpublished(client, {
        ...caseKeys(keys, id),
        thread: keys.thread(member),
        open: keys.open,
        outbox: keys.outbox,
        erased: keys.erased,
        withheld: keys.withheld,
        decided: keys.decided(member),
        id,
        member,
        protocol,
        version: restarted.version,
        status: concluded ? 'concluded' : 'open',
        epoch,
        run,
        journaled: journal.size,
        now: clock(),
        group: PUBLISHERS,
        record: JSON.stringify(restarted.record),
        seen: restarted.seen,
        shown: ownersIn(restarted.journal.values()).join(' '),
        withhold: restarted.withheld ?? false,
        answers: [...restarted.journal].map(([key, entry]) => ({ key, entry: JSON.stringify(entry) })),
        lostCalls: restarted.lostCalls.map((one) => JSON.stringify(one)),
      })
      return z.enum(['restarted', 'in-flight', 'changed']).parse(done)
    },
    async restart(id, epoch, record) {
      const given = { case: keys.case(id), journal: keys.journal(id), epoch, record: JSON.stringify(record) }
      return (await restart(client, given)) === 1
    },
    async answer(id, run, key, entry, shownTo) {
      const shown = ownersIn([entry])
      if (shown.length > 0 && shownTo === undefined) throw new Error(`whose case is ${id}? It was shown something`)
      const [outcome, answers] = answerReply.parse(
        await answer(client, {
          case: keys.case(id),
          journal: keys.journal(id),
          owners: keys.deletedOwners,
          shownPrefix: keys.shown(''),
          run,
          key,
          entry: JSON.stringify(entry),
          now: clock(),
          keepShown: keepShownMs,
          shown,
          shownTo: shownTo === undefined ? '' : memberOfShown(id, shownTo),
        }),
      )
      return { outcome, answers }
    },
    async loseCalls(id, calls) {
      if (calls.length === 0) return
      const given = { case: keys.case(id), lost: keys.lost(id), calls: calls.map((one) => JSON.stringify(one)) }
      await loseCalls(client, given)
    },
    conclude: concluding(client, keys, clock, token),
    idle: (idleMs, limit, skip = 0) => client.zrangebyscore(keys.open, '-inf', clock() - idleMs, 'LIMIT', skip, limit),
    async noteUnanswered(protocol, at) {
      const { unanswered, incarnation } = keys
      await noteUnanswered(client, { unanswered, incarnation, protocol, at, incarnationId: token().incarnationId })
    },
    async unansweredUntil(protocol) {
      const at = await client.hget(keys.unanswered, protocol)
      return at === null ? null : Number(at)
    },
    countOpen: () => client.zcard(keys.open),
    openIds: () => client.zrange(keys.open, '0', '-1'),
    async partitionByProtocol(worked) {
      const given = { open: keys.open, unworked: keys.unworked, protocols: worked }
      const [back, unworked] = partitionReply.parse(await partition(client, given))
      return { back, unworked }
    },
  }
}

/** Ends cases with a verdict, or beneath one that people brought about with a proposal. */
function concluding(client: Redis, keys: Keys, clock: Clock, token: () => FencingToken): CaseStore['conclude'] {
  return async ({ id, protocol, tenant, subjectId, kind }, epoch, end) => {
    const { carry, again = false, label, opposed = [], verdict, transcript, proposal } = end
    const member = memberOf({ tenant, postId: subjectId, kind })
    const { open, unworked, outbox, incarnation, deletedOwners: owners } = keys
    const { thread, decided } = threadKeys(keys, member)
    const touched = { case: keys.case(id), open, unworked, outbox, thread, decided, incarnation, owners }
    const given = { ...touched, id, epoch, protocol, member, carry, label, opposed, again }
    for (let above: OverridingVerdict | null = null; ; ) {
      const written = above === null ? { verdict, transcript } : proposal(above)
      const reply = concludeReply.parse(
        await conclude(client, {
          ...given,
          ...written,
          transcript: await packed(written.transcript),
          beneath: above?.id ?? '',
          now: clock(),
          ...token(),
        }),
      )
      if (typeof reply === 'number') return reply === 1
      above = reply === 'verdict' ? null : { id: reply[0], label: reply[1] === '' ? null : reply[1] }
    }
  }
}

function memberOfShown(caseId: string, { protocol, tenant, subjectId, kind }: CaseSubject): string {
  return shownMember({ ref: { tenant, postId: subjectId, kind }, protocol, caseId })
}

/** The owners of what these answers show, each once. */
function ownersIn(entries: Iterable<JournalEntry>): string[] {
  return [...new Set([...entries].flatMap(({ shown = [] }) => shown.map(({ owner }) => owner)))]
}

/** Whether asks are open. Those of one case that are looked at together, as those of a job are, are read together. */
function openTogether(client: Redis, keys: Keys): CaseStore['isOpen'] {
  const batches = new Map<
    string,
    { readonly asked: string[]; readonly read: Promise<(key: string, run: number) => boolean> }
  >()

  async function read(id: string, asked: readonly string[]) {
    // Others that are about to ask in this step come before this continues.
    await null
    batches.delete(id)
    const [[status, run], answers] = await Promise.all([
      client.hmget(keys.case(id), 'status', 'run'),
      client.hmget(keys.journal(id), ...asked),
    ])
    return (key: string, wanted: number) =>
      status === 'open' && run === String(wanted) && answers[asked.indexOf(key)] === null
  }

  return async (id, run, key) => {
    const asked = batches.get(id)?.asked ?? []
    asked.push(key)
    const batch = batches.get(id) ?? { asked, read: read(id, asked) }
    batches.set(id, batch)
    return (await batch.read)(key, run)
  }
}

/** A case that is open, or whose verdict waits for Kafka; null if there is none. */
async function unpublishedCase(client: Redis, keys: Keys, id: string): Promise<UnpublishedCase | null> {
  const reply = await readUnpublished(client, caseKeys(keys, id))
  if (reply === null) return null
  const [status, record, epoch, run, journal, lost] = unpublishedReply.parse(reply)
  return {
    record: caseRecord.parse(JSON.parse(record)),
    epoch: Number(epoch),
    run: Number(run),
    ...journalOf(journal, lost),
    concluded: status === 'concluded',
  }
}

/** A case that was taken over, with what the caller has of it already. */
function takenOf(
  [json, epoch, run, answers, lost]: z.infer<typeof takenReply>,
  known: KnownCase | undefined,
): TakenCase {
  const { journal, lostCalls } = journalOf(answers, lost)
  const taken = { epoch: Number(epoch), run: Number(run), lostCalls }
  if (json !== '' || known === undefined) return { record: caseRecord.parse(JSON.parse(json)), ...taken, journal }
  return { ...taken, record: known.record, journal: new Map([...known.journal, ...journal]) }
}

/** What is stored of a case besides its record. */
function journalOf(journal: readonly string[], lost: readonly string[]): Pick<TakenCase, 'journal' | 'lostCalls'> {
  return {
    journal: new Map(pairs(journal).map(([key, json]) => [key, journalEntry.parse(JSON.parse(json))])),
    lostCalls: lost.map((json): LostCall => lostCall.parse(JSON.parse(json))),
  }
}
