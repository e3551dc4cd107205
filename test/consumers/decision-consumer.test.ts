import { describe, expect, it, vi } from 'vitest'
import { decisionsConsumer } from '../../consumers/decision-consumer.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type { HandleBatch, IncomingMessage, MessageBatch } from '../../src/contracts/ports/topic.ts'
import { decisionHandler } from '../../src/judging/engine/decision-handler.ts'
import { router } from '../../src/judging/engine/routes.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { citable } from '../../src/protocols/clauses.ts'
import { readPolicy } from '../../src/protocols/policy.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { TEXTS } from '../bystander/registry.ts'
import { ARRIVAL, MINUTE, postOf, RULES, T0, thread } from '../contracts/samples.ts'
import { openCase, type Stores, takeCase } from '../contracts/stores.ts'
import { protocolNamed } from '../support/parts.ts'
import { aVerdict, WRITES } from '../support/verdicts.ts'

const SAID = { subjectId: 'p1', protocol: 'rumor', label: 'good', against: 1, by: 'ann', why: 'Ticket 88.' }
const AT = new Date(T0).toISOString()
/** Of the same id as the post that is judged. */
const COMMENT = { subjectKind: 'comment', postId: 'p9' }

const POLICY = readPolicy('p.md', '## H1 Threats\n- threats\n## H2 Slurs\n- slurs\n# Allowed\n## A1 News\n- news\n')
/** For tenants but acme, which has none. */
const policyFor = (tenant: string) => (tenant === 'acme' ? null : citable(POLICY, 'bad'))

/** The consumer over stores in memory, in which rumor has judged p1. */
async function reading(over: Partial<Protocol> = {}) {
  const memory = memoryStores(() => T0)
  const stores: Stores = { ...memory, pass: async () => {}, close: async () => {} }
  const protocols = [
    protocolNamed('rumor', { labels: ['good', 'bad'], policyFor, ...over }),
    protocolNamed('hate', { subject: 'post' }),
  ]
  const routes = router(protocols, { hate: [{ langs: ['en'] }] }, () => 0)
  const reports: string[] = []
  const report = (name: string, event: object) => {
    if (name.startsWith('decision')) reports.push(`${name} ${JSON.stringify(event)}`)
  }
  let handle: HandleBatch = async () => {}
  const { decisions, threads, outbox } = memory
  const context = { clock: () => T0 + 5_000, report }
  const consumer = decisionsConsumer({
    ...context,
    decisions,
    outbox,
    limits: { maxMessageBytes: 1 << 20, maxAhead: 5 * MINUTE },
    decide: decisionHandler({ ...context, decisions, threads, protocols, routes, writes: WRITES }),
    store: { whenRecovered: async (work) => void (await work()), untilStored: async (work) => void (await work()) },
    reader: {
      start: async (given) => {
        handle = given
      },
      positions: async () => [],
      setPaused: () => {},
      downSince: null,
      close: async () => {},
    },
  })
  await consumer.start()
  await threads.putPost(thread('p1'), postOf(thread('p1')), { ...ARRIVAL, atOnce: true }, RULES)
  const entries = async (): Promise<OutboxEntry[]> => {
    const all = await outbox.next('the publisher', 100, 10)
    await outbox.done(all)
    return [...all]
  }
  const conclude = async (label: string) => {
    const record = await openCase(stores, thread('p1'))
    const { epoch } = await takeCase(stores, record.id)
    const verdict = JSON.stringify(aVerdict(AT, { id: record.id, subjectId: 'p1', label, revision: record.revision }))
    await stores.cases.conclude(record, epoch, {
      label,
      verdict,
      transcript: '{}',
      carry: null,
      again: false,
      proposal: (above) => {
        throw new Error(`beneath ${above.id}`)
      },
    })
  }
  await conclude('good')
  await entries()
  let offset = 0
  const sendAll = async (
    all: readonly (readonly [value: object | string, change?: Partial<IncomingMessage>])[],
    heartbeat = async () => {},
  ) => {
    const messages = all.map(([value, change = {}]) => {
      const body = Buffer.from(typeof value === 'string' ? value : JSON.stringify({ at: AT, ...value }))
      const place = { topic: 'decisions', partition: 0, offset: String(offset++), timestamp: T0 + offset }
      return { ...place, key: 'p1', value: body, headers: {}, ...change }
    })
    const batch: MessageBatch = { topic: 'decisions', partition: 0, messages, next: String(offset), atEnd: true }
    await handle(batch, heartbeat, () => {})
  }
  const send = async (value: object | string, change: Partial<IncomingMessage> = {}, heartbeat = async () => {}) => {
    await sendAll([[value, change]], heartbeat)
    return decisions.told(`0@${offset - 1}`)
  }
  return { send, sendAll, entries, conclude, reports, threads, decisions }
}

describe('what people decide', () => {
  it('is carried out, and counted where it overrules', async () => {
    const { send, entries, reports } = await reading()
    expect(await send({ ...SAID, label: 'bad' })).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
    expect((await entries()).map(({ kind }) => kind)).toEqual(['verdict', 'outcome'])
    expect(await send({ ...SAID, against: 2, by: 'ben' })).toMatchObject({ outcome: 'stands' })
    expect(reports.map((line) => line.includes('"overrules":true'))).toEqual([true, false])
  })

  it('says in which language the post was that a person decided on, also where no ruling of machines is kept', async () => {
    const { send, entries, threads } = await reading()
    await threads.putPost(thread('p1'), postOf(thread('p1'), { lang: 'pt_br' }), { ...ARRIVAL, atOnce: true }, RULES)
    await send({ ...SAID, label: 'bad' })
    const verdicts = (await entries()).flatMap((entry) => (entry.kind === 'verdict' ? [JSON.parse(entry.verdict)] : []))
    expect(verdicts.map(({ id, lang }: Verdict) => [id, lang])).toEqual([['rumor~p1~r2', 'pt-BR']])
  })

  it('names the policy and the clauses that it cites, with the post’s own words, and without them once it is gone', async () => {
    const { send, entries, threads } = await reading()
    const verdicts = async () =>
      (await entries()).flatMap((entry) => (entry.kind === 'verdict' ? [JSON.parse(entry.verdict) as Verdict] : []))
    const text = 'WE  know where you live.'
    await threads.putPost(thread('p1'), { ...postOf(thread('p1')), text }, { ...ARRIVAL, atOnce: true }, RULES)
    const clauses = [
      { id: 'H1', quote: 'we know', of: 'no field' },
      { id: 'H2', quote: null },
    ]
    expect(await send({ ...SAID, label: 'bad', clauses })).toMatchObject({ outcome: 'stands' })
    expect(await verdicts()).toMatchObject([
      { label: 'bad', policy: { name: 'p' }, clauses: [{ id: 'H1', quote: 'WE  know' }, { id: 'H2' }], degraded: [] },
    ])
    const gone = { ...SAID, subjectId: 'p9', against: 0, label: 'bad', force: true, clauses }
    expect(await send(gone, { key: 'p9' })).toMatchObject({ outcome: 'stands' })
    expect(await verdicts()).toMatchObject([
      {
        clauses: [{ id: 'H1' }, { id: 'H2' }],
        degraded: [expect.stringMatching(/^quotations of the post/)],
        faults: ['evidence'],
      },
    ])
    expect(await send({ ...SAID, against: 2, label: 'bad' })).toMatchObject({ outcome: 'stands' })
    expect((await verdicts())[0]).not.toHaveProperty('clauses')
  })

  it('cites clauses of the variant that judges its subject, and of no other policy', async () => {
    const other = readPolicy('o.md', '## X1 Abuse\n- abuse\n')
    const variant = protocolNamed('rumor', { labels: ['good', 'bad'], policyFor: () => citable(other, 'bad') })
    const { send } = await reading({ variantFor: ({ postId }) => (postId === 'p1' ? variant : undefined) })
    const of = (id: string) => ({ ...SAID, label: 'bad', clauses: [{ id }] })
    expect(await send(of('H1'))).toMatchObject({ outcome: 'refused' })
    expect(await send(of('X1'))).toMatchObject({ outcome: 'stands' })
  })

  it('that cites something else is another decision, and the same one again counts once', async () => {
    const { send, entries } = await reading()
    const one = { ...SAID, label: 'bad', clauses: [{ id: 'H1' }] }
    expect(await send(one)).toMatchObject({ outcome: 'stands' })
    // The reply to the one that was carried out.
    expect(await send(one)).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
    await entries()
    expect(await send({ ...one, clauses: [{ id: 'H2' }] })).toMatchObject({ outcome: 'late' })
  })

  it('is told by the store for as long as its account says, also where nobody knows the subject', async () => {
    const { send, decisions } = await reading()
    // This keeps it for a minute.
    const tell = vi.spyOn(decisions, 'tell')
    expect(await send({ ...SAID, subjectId: 'p9' }, { key: 'p9' })).toEqual({ outcome: 'unknown' })
    expect(tell).not.toHaveBeenCalled()
    await send('{')
    expect(tell).toHaveBeenCalledOnce()
  })

  it.each<[string, object | string, Partial<IncomingMessage>, string, RegExp]>([
    ['is no JSON', '{', {}, 'not-json', /JSON/],
    ['is a tombstone', SAID, { value: null }, 'invalid', /no value/],
    ['stands under another key', SAID, { key: 'p2' }, 'invalid', /the key is not the subjectId/],
    ['stands under none', SAID, { key: null }, 'invalid', /the key is not the subjectId/],
    [
      'names an unknown protocol, or one that is off',
      { ...SAID, protocol: 'safety' },
      {},
      'invalid',
      /no protocol of this name is on/,
    ],
    ['names a label that is none', { ...SAID, label: 'worse' }, {}, 'invalid', /none of rumor's: good, bad/],
    ['names a kind that is not judged', { ...SAID, kind: 'reply' }, {}, 'invalid', /rumor judges no such subjects/],
    ['names a comment', { ...SAID, ...COMMENT }, { key: 'p9' }, 'invalid', /rumor judges no such subjects/],
    ['names a comment under the comment’s id', { ...SAID, ...COMMENT }, {}, 'invalid', /the key is not/],
    ['names a comment without its post', { ...SAID, subjectKind: 'comment' }, {}, 'invalid', /beside its post/],
    ['names a kind by its other word', { ...SAID, subjectKind: 'reply' }, {}, 'invalid', /rumor judges no such/],
    ['has neither label nor withdrawal', { ...SAID, label: undefined }, {}, 'invalid', /either a label or/],
    ['has both', { ...SAID, withdraw: true }, {}, 'invalid', /either a label or/],
    [
      'withdraws as a second opinion',
      { ...SAID, label: undefined, withdraw: true, opinion: true },
      {},
      'invalid',
      /opinion has a label/,
    ],
    [
      'has a golden item’s key, and is no opinion',
      { ...SAID, golden: 'key' },
      {},
      'invalid',
      /golden: needs "opinion"/,
    ],
    ['is against half a revision', { ...SAID, against: 1.5 }, {}, 'invalid', /against/],
    ['is by nobody', { ...SAID, by: '' }, {}, 'invalid', /by/],
    ['has no reason', { ...SAID, why: '  ' }, {}, 'invalid', /why/],
    ['has a reason that is too long', { ...SAID, why: 'x'.repeat(2_001) }, {}, 'invalid', /why/],
    ['has half a character', { ...SAID, why: 'so \ud800' }, {}, 'invalid', /why/],
    [
      'cites a clause that there is none of',
      { ...SAID, label: 'bad', clauses: [{ id: 'H9' }] },
      {},
      'invalid',
      /clauses: "H9", which is no clause of the policy; p has H1, H2$/,
    ],
    [
      'cites a clause that allows',
      { ...SAID, label: 'bad', clauses: [{ id: 'A1' }] },
      {},
      'invalid',
      /"A1", which forbids nothing/,
    ],
    [
      'quotes what is not in the post',
      { ...SAID, label: 'bad', clauses: [{ id: 'H1', quote: 'we will come' }] },
      {},
      'invalid',
      /H1 with words that are not in the post/,
    ],
    [
      'cites for a label that finds nothing wrong',
      { ...SAID, clauses: [{ id: 'H1' }] },
      {},
      'invalid',
      /the label bad alone cites clauses/,
    ],
    [
      'cites where there is no policy',
      { ...SAID, tenant: 'acme', label: 'bad', force: true, clauses: [{ id: 'H1' }] },
      {},
      'invalid',
      /rumor judges by no policy here/,
    ],
    [
      'cites in a withdrawal',
      { ...SAID, label: undefined, withdraw: true, clauses: [{ id: 'H1' }] },
      {},
      'invalid',
      /a withdrawal cites nothing/,
    ],
    ['cites an empty list', { ...SAID, label: 'bad', clauses: [] }, {}, 'invalid', /clauses/],
    ['is of tomorrow', { ...SAID, at: new Date(T0 + 24 * 60 * MINUTE).toISOString() }, {}, 'future', /./],
    ['is on what nobody knows', { ...SAID, subjectId: 'p9' }, { key: 'p9' }, 'unjudgeable', /nothing is known/],
    [
      'is in a protocol that does not judge it',
      { ...SAID, protocol: 'hate', label: 'good' },
      {},
      'unjudgeable',
      /hate does not judge/,
    ],
  ])('is a dead letter where it %s, and its writer is told', async (_, value, change, reason, detail) => {
    const { send, entries } = await reading()
    const told = await send(value, change)
    expect(['refused', 'unknown']).toContain(told?.outcome)
    const [letter, ...more] = await entries()
    expect(more).toEqual([])
    expect(JSON.parse(letter?.kind === 'dead-letter' ? String(letter.letter) : '{}')).toMatchObject({
      topic: 'decisions',
      partition: 0,
      offset: '0',
      reason,
      detail: expect.stringMatching(detail),
    })
  })

  it('waits for a verdict that is on its way out, says for how long, and stays in its group meanwhile', async () => {
    const { send, entries, conclude, reports, threads } = await reading()
    await threads.putPost(
      thread('p1'),
      { ...postOf(thread('p1')), text: 'edited' },
      { ...ARRIVAL, atOnce: true },
      RULES,
    )
    await conclude('good')
    let beats = 0
    const told = await send({ ...SAID, against: 2 }, {}, async () => {
      if (++beats === 2) await entries()
    })
    expect(told).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r3' })
    expect(reports.slice(0, -1)).toEqual([
      'decision:waits {"partition":0,"seconds":4.999}',
      'decision:waits {"partition":0,"seconds":4.999}',
      expect.stringContaining('decision:handled'),
    ])
    expect(reports.at(-1)).toBe('decision:waits {"partition":0,"seconds":0}')
  })

  it('holds up no decision on another subject while it waits, and the next one on its own', async () => {
    const { sendAll, entries, conclude, threads, decisions } = await reading()
    const post = { ...postOf(thread('p1')), text: 'edited' }
    await threads.putPost(thread('p1'), post, { ...ARRIVAL, atOnce: true }, RULES)
    await threads.putPost(thread('p2'), postOf(thread('p2')), { ...ARRIVAL, atOnce: true }, RULES)
    await conclude('good')
    const own = { ...SAID, against: 2 }
    const told = () => Promise.all([0, 1, 2].map(async (offset) => (await decisions.told(`0@${offset}`))?.outcome))
    let [looks, meanwhile] = [0, [] as unknown[]]
    await sendAll([[own], [own], [{ ...SAID, subjectId: 'p2', against: 0 }, { key: 'p2' }]], async () => {
      if (++looks !== 3) return
      meanwhile = await told()
      await entries()
    })
    expect(meanwhile).toEqual([undefined, undefined, 'stands'])
    expect(await told()).toEqual(['stands', 'stands', 'stands'])
  })

  it('waits no longer where its partition has moved to another process', async () => {
    const { send, conclude, reports, threads } = await reading()
    const post = { ...postOf(thread('p1')), text: 'edited' }
    await threads.putPost(thread('p1'), post, { ...ARRIVAL, atOnce: true }, RULES)
    await conclude('good')
    const moved = send({ ...SAID, against: 2 }, {}, async () => {
      throw new Error('the group is rebalanced')
    })
    await expect(moved).rejects.toThrow('rebalanced')
    expect(reports).toEqual([
      'decision:waits {"partition":0,"seconds":4.999}',
      'decision:waits {"partition":0,"seconds":0}',
    ])
  })

  it('may have the worst words and names, which are published as they are', async () => {
    for (const { name, make } of TEXTS) {
      const { send, entries } = await reading()
      const [why, by] = [make(2_000).slice(0, 2_000).toWellFormed(), make(60).toWellFormed()]
      const told = await send({ ...SAID, why, by })
      if (why.trim() === '') {
        expect(told, name).toMatchObject({ outcome: 'refused' })
        continue
      }
      expect(told, name).toMatchObject({ outcome: 'stands' })
      const [entry] = await entries()
      const verdict: Verdict = JSON.parse(entry?.kind === 'verdict' ? entry.verdict : '{}')
      expect(verdict.rationale === why && verdict.decision?.by === by, name).toBe(true)
    }
  })
})
