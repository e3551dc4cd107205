import { createHash } from 'node:crypto'
import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import type { CaseEnd, OutboxEntry } from '../../../src/contracts/ports/cases.ts'
import type {
  Arrival,
  CommentChange,
  MessagePlace,
  ThreadRules,
  ThreadState,
} from '../../../src/contracts/ports/threads.ts'
import { aheadByProtocols, aheadByReach } from '../../../src/judging/threads/head-start.ts'
import {
  callOf,
  endOf,
  entryOf,
  HOUR,
  MINUTE,
  postOf,
  RULES,
  recordOf,
  retractionOf,
  T0,
  thread,
} from '../../contracts/samples.ts'
import type { Stores } from '../../contracts/stores.ts'
import { type ChangeStep, type PlaceStep, PROTOCOLS, type Protocol, type RoomStep, type Step } from './history-steps.ts'

export const REFS = [thread('p', 'a'), thread('p', 'b'), thread('q~c', 'a', 'comment'), thread('r', 'a', 'reply')]

export interface HistoryRules {
  maxComments: number
  maxPerAuthor: number | null
  maxUnnamed: number | null
  counts: readonly number[]
  reopen: boolean
  ranks: number
}

/** Runs a history's steps on one store, one after the other; each gives what the store said, without what no two can share. */
export function runOn(
  stores: Pick<Stores, 'threads' | 'cases' | 'outbox' | 'decisions'>,
  clock: { now: number },
  given: HistoryRules,
) {
  const { threads, cases, outbox, decisions } = stores
  const stale = new Map<number, ThreadState | null>()
  let keyVersion = 1
  let inHand: OutboxEntry[] = []
  let offset = 0

  const rules = (): ThreadRules => {
    const version = keyVersion
    const rank = (id: string) => createHash('sha256').update(`${version} ${id}`).digest().readUIntBE(0, 6) % given.ranks
    const { maxComments, maxPerAuthor, maxUnnamed, counts, reopen } = given
    const limits = { maxComments, maxPerAuthor, maxUnnamed }
    return { ...RULES, ...limits, counts, reopen, rank: (_, id) => rank(id), samplingKeyVersion: `key ${version}` }
  }
  const refOf = (at: number) => REFS[at] ?? thread('none')
  /** Lets the tenant hold no more than that, and then it does not. Deletions are never refused, nor is a post's reach. */
  const within = async <Said>(ref: ThreadRef, room: RoomStep, put: (most: number | null) => Promise<Said>) => {
    if (room === null) return put(null)
    const before = await threads.heldBy(ref.tenant, clock.now)
    const said = await put(before + room)
    const after = await threads.heldBy(ref.tenant, clock.now)
    if (said !== 'duplicate' && after > before + Math.max(room, 0))
      throw new Error(`${ref.tenant} was lifted over its share: ${after}`)
    return said
  }
  const openIdOf = async (at: number, protocol: string) =>
    (await threads.read(refOf(at)))?.revisions.get(protocol)?.openId ?? null
  /** The protocol's open case, which is opened where there is none. */
  const caseOf = async (at: number, protocol: Protocol, final = false) => {
    const none = { waiting: [], dormant: [], absent: [] }
    if ((await openIdOf(at, protocol)) === null)
      await open({ do: 'open', thread: at, stale: false, cases: [protocol], ...none, next: !final, final })
    return openIdOf(at, protocol)
  }

  const open = async (step: Extract<Step, { do: 'open' }>) => {
    const state = step.stale ? (stale.get(step.thread) ?? null) : await threads.read(refOf(step.thread))
    if (state === null) return 'unread'
    const cases = step.cases.map((protocol) => ({
      record: recordOf(state, protocol, { final: step.final, openedAt: clock.now }),
      seen: state.version,
    }))
    const opening = {
      cases,
      waiting: step.waiting.filter((one) => !step.cases.includes(one)),
      dormant: step.dormant,
      absent: step.absent,
      final: step.final,
      nextDue: step.next ? clock.now + HOUR + step.thread : null,
    }
    return threads.open(state, opening)
  }

  const judge = async ({ thread: at, protocol, final }: Extract<Step, { do: 'judge' }>) => {
    const id = await caseOf(at, protocol, final)
    const taken = id === null ? null : await cases.take(id)
    if (taken !== null) await cases.conclude(taken.record, taken.epoch, ending(taken.record, `label ${at % 2}`))
    await handOut('one')
    await done({ do: 'done', which: 0, all: true, forget: true })
    return id
  }

  const restartUnpublished = async (at: number, protocol: Protocol, changed: boolean, unseen: boolean) => {
    const id = await caseOf(at, protocol)
    const read = id === null ? null : await cases.unpublished(id)
    const state = await threads.read(refOf(at))
    if (read === null || state === null) return 'none'
    const { epoch, run, concluded } = read
    const journal = new Map([...read.journal].filter(([key]) => key !== '0.0'))
    const lostCalls = [{ key: '0.0', ...callOf(`lost of ${epoch}`) }]
    const version = state.version - (changed ? 1 : 0)
    const record = { ...read.record, carry: null, restartedAtEpoch: epoch + 1 }
    const done = await cases.restartUnpublished(read, {
      record,
      journal,
      lostCalls,
      version,
      seen: unseen ? null : version,
    })
    return { epoch, run, concluded, done }
  }

  const handOut = async (publisher: string) => {
    const entries = await outbox.next(publisher, 1_000, 0)
    inHand = inOrder([...inHand, ...entries])
    return contentsOf(entries)
  }
  const done = async ({ which, all, forget }: Extract<Step, { do: 'done' }>) => {
    if (inHand.length === 0) await handOut('one')
    const some = all ? inHand : inHand.filter((_, at) => at === which % inHand.length)
    await outbox.done(some)
    // Who is told to forget nothing says later once more that they are done.
    if (forget) inHand = inHand.filter((entry) => !some.includes(entry))
    return contentsOf(some)
  }

  const decide = async (step: Extract<Step, { do: 'decide' }>) => {
    const { thread: at, protocol, withdraw, wrong, repeated, force, opinion } = step
    const ref = refOf(at)
    // Of what has no post the stores know different things: one forgets, the other does not (test/contracts/decisions.ts).
    if ((await threads.read(ref))?.post == null && (await threads.statusOf(ref)) !== 'deleted') return 'no post'
    const published = await decisions.published(ref, protocol)
    const last = withdraw ? ((await decisions.decided(ref)).get(protocol)?.revision ?? 0) : published
    if (!repeated) offset++
    const place = { partition: at, offset: String(offset), timestamp: T0 + offset }
    const label = withdraw ? null : `label ${step.label}`
    const scope = retractionOf(ref)(protocol, 0).caseId.slice(0, -1)
    const given = {
      ref,
      protocol,
      place,
      same: `${at} ${label} ${withdraw} ${wrong}`,
      withdraw,
      label,
      against: last + (wrong ? 1 : 0),
      force,
      opinion,
      by: 'ann',
      why: '',
    }
    return decisions.decide(given, scope, clock.now, (on) =>
      withdraw && on.machine === null && on.isLive
        ? null
        : {
            label: withdraw ? 'restored' : label,
            verdict: JSON.stringify({
              schema: 2,
              story: null,
              rationale: 'words',
              evidence: [],
              on: [on.number, on.published, on.machine, on.isLive, label],
            }),
            transcript: '{}',
          },
    )
  }

  const ofCase = async (step: Extract<Step, { protocol: Protocol; thread: number }>): Promise<unknown> => {
    const { thread: at, protocol } = step
    if (step.do === 'judge') return judge(step)
    if (step.do === 'decide') return decide(step)
    if (step.do === 'restart unpublished') return restartUnpublished(at, protocol, step.changed, step.unseen)
    const id = await caseOf(at, protocol)
    if (id === null) return 'none'
    if (step.do === 'take') return cases.take(id)
    const held = await cases.peek(id)
    if (step.do === 'answer') return cases.answer(id, held?.run ?? 0, `0.${step.key}`, entryOf(step.text))
    if (step.do === 'lose') return cases.loseCalls(id, [{ key: '0.1', ...callOf(`call ${step.call}`, 'failed') }])
    if (held === null) return 'not open'
    const epoch = held.epoch - (step.fenced ? 1 : 0)
    if (step.do === 'restart') return cases.restart(id, epoch, { ...held.record, restartedAt: clock.now })
    const carry = step.carry ? JSON.stringify({ scores: clock.now }) : null
    return cases.conclude(held.record, epoch, {
      ...ending(held.record, step.carry ? 'label 0' : null, carry),
      again: step.again,
    })
  }

  const onThread = async (
    step: Exclude<Extract<Step, { thread: number }>, { protocol: Protocol }>,
  ): Promise<unknown> => {
    const ref = refOf(step.thread)
    switch (step.do) {
      case 'post':
        return within(ref, step.room, (most) =>
          threads.putPost(
            ref,
            postOf(ref, {
              text: wordsOf(step.text),
              createdAt: T0 + 3 * step.thread,
              ...((step.reach ?? 0) > 0 && { reach: 10 ** (15 * (step.reach ?? 0)) + 0.5 }),
            }),
            arrivalOf(step, clock.now),
            rules(),
            most,
          ),
        )
      case 'reach':
        return threads.raiseReach(ref, aheadByReach(10 ** (2 * step.reach)), { keepMs: HOUR, now: clock.now })
      case 'comments':
        return within(ref, step.changes.some(({ deleted }) => deleted) ? null : step.room, (most) =>
          threads.putComments(
            ref,
            step.changes.map((change) => changeOf(step.thread, change)),
            clock.now,
            rules(),
            most,
          ),
        )
      case 'flood':
        return threads.putComments(ref, flood(step), clock.now, rules())
      case 'delete': {
        // Both ways are taken: half of the threads are first tried as unknown ones.
        const unknown = (most: number | null) => threads.deleteUnknown([ref], clock.now, most)
        const [done] = step.thread % 2 === 0 ? await within(ref, step.room, unknown) : []
        return done === true ? 'deleted' : threads.deletePost(ref, retractionOf(ref))
      }
      case 'expire':
        return threads.expireOrphans(ref, (origin) => ({ key: origin.offset, letter: JSON.stringify(origin) }))
      case 'open':
        return open(step)
      case 'erase left': {
        const openIds = await Promise.all(PROTOCOLS.map((protocol) => openIdOf(step.thread, protocol)))
        return threads.eraseLeft(ref, {
          openIds: step.known ? openIds.filter((id) => id !== null) : [],
          without: (_, carry) => (step.keep ? carry : null),
          caseId: (protocol, revision) => retractionOf(ref)(protocol, revision).caseId,
          now: clock.now,
        })
      }
      case 'link':
        return threads.linkReply(ref, thread(`r${step.reply}`, ref.tenant, 'reply'), { most: 3, now: clock.now })
    }
  }

  return async (step: Step): Promise<unknown> => {
    if ('thread' in step) {
      if (step.do === 'judge' || step.do === 'comments') stale.set(step.thread, await threads.read(refOf(step.thread)))
      return 'protocol' in step ? ofCase(step) : onThread(step)
    }
    switch (step.do) {
      case 'nothing':
        return 'nothing'
      case 'new key':
        return ++keyVersion
      case 'hand out':
        return handOut(step.publisher)
      case 'done':
        return done(step)
      case 'adopt':
        return contentsOf(await outbox.adopt(step.publisher, 1_000, 0))
      case 'pause':
        return threads.pause(step.protocol)
      case 'resume':
        return threads.resume(step.protocol, clock.now)
      case 'wake':
        return threads.wake(step.protocol, clock.now)
      case 'order due':
        return threads.orderDue(clock.now + 2 * HOUR, clock.now, 100, step.hold ? HOUR : 0)
      case 'part': {
        const { back, unworked } = await cases.partitionByProtocol(step.worked)
        return { back: back.sort(), unworked: unworked.sort() }
      }
      case 'due':
        return threads.due(Number.POSITIVE_INFINITY, step.limit, step.maxOpen)
    }
  }
}

/** Entries' contents without their ids: stores number them, and order what one step puts, each in its own way. */
function contentsOf(entries: readonly OutboxEntry[]): unknown[] {
  return inOrder(entries).map((entry) => contentOf(entry))
}

/** Some are noted by the server's own time. */
function contentOf({ id: _, ...content }: OutboxEntry): object {
  if ('review' in content) return { ...content, review: { ...content.review, at: '' } }
  return 'outcome' in content ? { ...content, outcome: { ...content.outcome, at: '' } } : content
}

function inOrder(entries: readonly OutboxEntry[]): OutboxEntry[] {
  const content = (entry: OutboxEntry) => JSON.stringify(contentOf(entry))
  return entries.toSorted((a, b) => (content(a) < content(b) ? -1 : 1))
}

/** The end of a case whose verdict leaves room for its story. */
function ending(record: Parameters<typeof endOf>[0], label: string | null, carry: string | null = null): CaseEnd {
  const end = endOf(record, 'so it is', carry)
  const placed = <Texts extends { verdict: string }>(texts: Texts): Texts => ({
    ...texts,
    verdict: texts.verdict.replace('{', '{"schema":2,"story":null,'),
  })
  const opposed = ['label 0', 'label 1']
  return { ...placed(end), label, opposed, proposal: (above) => placed(end.proposal(above)) }
}

/** Of different lengths, in characters and in bytes. */
function wordsOf(text: number): string {
  return `${text}${'ö'.repeat(40 * text)}`
}

function placeOf(place: PlaceStep): { place: MessagePlace } | object {
  if (place === null) return {}
  const { topic, partition, offset, anew } = place
  const at = { partition, offset: String(offset), timestamp: (anew ? 9_000 : 1_000) + offset }
  return { place: topic === null ? at : { topic, ...at } }
}

function arrivalOf(step: Extract<Step, { do: 'post' }>, now: number): Arrival {
  const { routing, place, reach = 0 } = step
  return {
    now,
    reachAhead: aheadByReach(reach),
    protocolAhead: aheadByProtocols([{ lateCost: routing === 'both' ? 4 : 1 }]),
    firstDue: T0 + 15 * MINUTE + step.thread,
    ...placeOf(place),
    judges: routing === 'both' ? 2 : 1,
    story: ['s', null, 't', 's'][step.text] ?? null,
    threaded: routing === 'threaded' || routing === 'both',
    atOnce: routing === 'both' || routing === 'alone',
    ...(step.text === 3 ? { notBefore: T0 + 7 * MINUTE + step.thread } : {}),
  }
}

/** The same message has the same times wherever it comes; those of two threads are never the same. */
function changeOf(at: number, { deleted, id: number, text, author, time, place }: ChangeStep): CommentChange {
  const id = `c${String(number).padStart(2, '0')}`
  const createdAt =
    T0 + 3 * at + (time === 'early' ? (number + 1) * 100 + text * 10 : RULES.finalAge + (time === 'edge' ? 0 : 1))
  const from = { topic: 'comments', partition: 3, offset: `${number}`, timestamp: T0, raw: 'words', bytes: 5 }
  const reached = text % 2 === 0 ? undefined : createdAt + 150
  if (deleted) return { kind: 'deleted', id, createdAt, reached, ...placeOf(place) }
  const comment = { id, text: wordsOf(text), ...(author === null ? {} : { author }), createdAt }
  return { kind: 'said', comment, origin: () => from, reached, ...placeOf(place) }
}

function flood({ thread: at, deleted }: Extract<Step, { do: 'flood' }>): CommentChange[] {
  const one = { deleted, text: 0, author: null, time: 'early', place: null } as const
  return Array.from({ length: 24 }, (_, id) => changeOf(at, { ...one, id }))
}
