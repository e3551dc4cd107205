import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  ANSWERS_OF_OPEN,
  ANY_WAITS,
  APPEALS,
  boundsOn,
  joinedAppeal,
  OF_SUBJECT,
  OPEN_APPEALS,
  REOPENED,
  takenAppeal,
  UNTOLD_APPEALS,
  WAITING_FOR_ACTION,
} from '../../src/record/appeal-rows.ts'
import { rebuild } from '../../src/record/rebuild.ts'
import { at, CONTEXT, feed } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aVerdict } from '../support/verdicts.ts'

type Said = { readonly topic: 'verdicts' | 'decisions' | 'appeals'; readonly value: object; readonly seconds: number }

/** A subject's life: rulings of machines, appeals of three parties, and answers, which may name any appeal before them. */
function lifeOf(steps: readonly { what: number; label: boolean; who: number; named: number }[]): Said[] {
  const said: Said[] = []
  const appeals: string[] = []
  let [revision, decisions, isHuman] = [0, 0, false]
  const ruled = (label: string, seconds: number, more = {}) => {
    revision++
    const verdict = aVerdict(at(seconds), { subjectId: 'p', revision, label, decidedBy: 'consensus', ...more })
    said.push({ topic: 'verdicts', value: verdict, seconds })
  }
  ruled('rumor', 1)
  for (const [nth, { what, label, who, named }] of steps.entries()) {
    const seconds = 10 * (nth + 1)
    const own = label ? 'rumor' : 'non-rumor'
    if (what === 0 && !isHuman) ruled(own, seconds)
    else if (what === 1 && appeals.length > 0) {
      isHuman = true
      const by = ['ann', 'ben', 'cay'][who] ?? ''
      const of = `0@${decisions++}`
      const answers = { appeals: appeals.slice(named % appeals.length), code: 'context' }
      const decision = { subjectId: 'p', protocol: 'rumor', label: own, against: revision, by, why: 'w', ...answers }
      said.push({ topic: 'decisions', value: { ...decision, at: at(seconds) }, seconds })
      ruled(own, seconds + 1, { decidedBy: 'human', decision: { by, against: null, of } })
    } else {
      const id = `e${nth}`
      appeals.push(id)
      const party = who === 0 ? { by: 'author', contact: 'a' } : { by: 'notifier', contact: `n${who}` }
      const appeal = { id, verdictId: `rumor~p~r${1 + (named % revision)}`, text: 'No.', ...party, at: at(seconds) }
      said.push({ topic: 'appeals', value: appeal, seconds })
    }
  }
  return said
}

/** What is told of each appeal, and which wait, once a record has read all, topic by topic in this order of turns. */
async function toldIn(said: readonly Said[], turns: readonly Said['topic'][]) {
  const record = await recordInMemory()
  try {
    const topics = feed(record)
    const left = Map.groupBy(said, ({ topic }) => topic)
    const told: [string, string][] = []
    const look = async (now: number) => {
      for (const { outcome: of } of await record.untoldAppeals(now, 100))
        told.push([of.id, `${of.outcome} ${of.verdict ?? ''}`])
    }
    for (const topic of [...turns, ...said.map((one) => one.topic)]) {
      const one = left.get(topic)?.shift()
      if (one !== undefined) await topics.send(topic, topic === 'appeals' ? 'e' : 'p', one.value, one.seconds)
      await look(1e9)
    }
    expect(new Set(told.map(([id]) => id)).size).toBe(told.length)
    const { open } = await record.openAppeals(0)
    expect(told.length + open).toBe(said.filter(({ topic }) => topic === 'appeals').length)
    return Object.fromEntries(told.toSorted())
  } finally {
    await record.close()
  }
}

it('each appeal has one outcome, or waits, whichever topic is read first; the same in a record that is made anew', async () => {
  const step = fc.record({
    what: fc.nat({ max: 2 }),
    label: fc.boolean(),
    who: fc.nat({ max: 2 }),
    named: fc.nat({ max: 9 }),
  })
  const turn = fc.constantFrom<Said['topic']>('verdicts', 'decisions', 'appeals')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 9 }), fc.array(turn, { maxLength: 30 }), async (steps, turns) => {
      const said = lifeOf(steps)
      await toldIn(said, turns)
      // As a record reads them that is made anew.
      const whole = ['verdicts', 'decisions', 'appeals'].flatMap((topic) => said.filter((one) => one.topic === topic))
      const anew = whole.map(({ topic }) => topic)
      expect(await toldIn(said, anew)).toEqual(await toldIn(said, []))
    }),
    { numRuns: 60, seed: 72 },
  )
})

it('of a flood no more is looked at than is taken, however much of it there is', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(APPEALS)
  db.exec('CREATE TABLE said (id TEXT NOT NULL UNIQUE, said TEXT NOT NULL, label TEXT)')
  const entry = { what: 'appeal', tenant: 't', id: 'x', subject: { tenant: 't', postId: 'p', kind: 'post' } } as const
  const bounds = boundsOn(
    { ...entry, protocol: '', against: null, side: 'notifier', party: 'a', at: 1e9, json: '' },
    1,
    { perContact: 20, perTenant: 2_000 },
  )
  const planOf = (sql: string, ...values: SQLInputValue[]) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(({ detail }) => String(detail))
      .filter((detail) => detail.startsWith('SEARCH') || detail.startsWith('SCAN appeals'))
      .map((detail) => /INDEX (\w+)/.exec(detail)?.[1] ?? detail)
  expect(bounds.map(([sql, ...values]) => planOf(sql, ...values).join())).toEqual([
    'appeals_waiting',
    'appeals_of_party',
    'appeals_of_tenant',
  ])
  // What is over a bound stands in none of these, nor among what is read where a subject is settled.
  expect(planOf(OF_SUBJECT, 1, 500, 1, 500)).toEqual(['appeals_waiting', 'appeals_ended'])
  expect(planOf(WAITING_FOR_ACTION, 'action t 1', 1)).toEqual(['appeals_unjoined'])
  const against = 'action t 1'
  const run = ([sql, ...values]: ReturnType<typeof takenAppeal>) => db.prepare(sql).run(...values)
  for (const [id, outcome] of [
    ['first', null],
    ['flood', 'too-many'],
  ] as const)
    run(takenAppeal({ ...entry, id, protocol: '', against, side: 'notifier', party: 'a', at: 1, json: '' }, 2, outcome))
  const waiting = () =>
    db
      .prepare(WAITING_FOR_ACTION)
      .all(against, 1)
      .map(({ id }) => id)
  expect(waiting()).toEqual(['first'])
  for (const query of joinedAppeal({ tenant: 't', id: 'first' }, 1, '').slice(0, 1)) run(query)
  // The action's message may come again and again.
  expect(waiting()).toEqual([])
  expect(planOf(ANY_WAITS, 1)).toEqual(['appeals_waiting'])
  expect(planOf(REOPENED, 1)).toEqual(['appeals_to_reopen'])
  // Each second: of those that were told none is looked at.
  const due = planOf(UNTOLD_APPEALS[0].tenants, 1, 1, 1).filter((index) => index.startsWith('appeals_'))
  expect(new Set(due)).toEqual(new Set(['appeals_to_tell']))
  expect(planOf(ANSWERS_OF_OPEN, 1, 1, 500)).toContain('appeals_waiting')
  expect(planOf(OPEN_APPEALS, 1)).toEqual(['appeals_open', 'appeals_of_no_subject'])
  for (const name of ['appeals_of_party', 'appeals_of_tenant', 'appeals_ended', 'appeals_unjoined'])
    expect(String(db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(name)?.sql)).toContain("<> 'too-many'")
  db.close()
})

it('is among what was said of its subject, however much came after it', async () => {
  const record = await recordInMemory()
  const topics = feed(record)
  await topics.send('verdicts', 'p', aVerdict(at(1), { subjectId: 'p', label: 'rumor', decidedBy: 'consensus' }), 1)
  const appeal = { id: 'e1', verdictId: 'rumor~p~r1', text: 'No.', by: 'author', contact: 'a', at: at(2) }
  await topics.send('appeals', 'e1', appeal, 2)
  for (let nth = 0; nth < 501; nth++) {
    const feedback = { subjectId: 'p', protocol: 'rumor', label: 'rumor', by: `x${nth}`, at: at(3 + nth) }
    await topics.send('feedback', 'p', feedback, 3 + nth)
  }
  const said = (await record.subject({ tenant: 'default', id: 'p' }))?.said ?? []
  expect(said).toHaveLength(501)
  expect(said[0]).toMatchObject({ said: 'appeal', label: null })
  await record.close()
})

it('stays open in a record that is made anew where its verdict is gone', async () => {
  const record = await recordInMemory()
  const appeal = { id: 'e1', verdictId: 'rumor~p~r1', text: 'No.', by: 'author', contact: 'a', at: at(2) }
  const message = { topic: 'g.appeals', partition: 0, offset: '0', key: 'e1', headers: {} }
  await rebuild(record, {
    history: {
      rangesOf: async () => new Map([[0, { from: 0n, to: 1n }]]),
      async read(_, __, take) {
        await take([{ ...message, timestamp: Date.parse(at(2)), value: Buffer.from(JSON.stringify(appeal)) }])
      },
    },
    topics: new Map([['g.appeals', 'appeals']]),
    project: CONTEXT,
    progress() {},
  })
  await record.tidy(Date.parse(at(1e6)))
  expect(await record.untoldAppeals(1e15, 9)).toEqual([])
  expect(await record.openAppeals(0)).toMatchObject({ open: 1, unjudged: 1 })
  // Until its verdict would be kept no longer: nobody can answer it.
  await record.tidy(Date.parse(at(201 * 86_400)))
  expect((await record.untoldAppeals(1e15, 9)).map(({ outcome }) => outcome)).toMatchObject([
    { id: 'e1', outcome: 'unknown' },
  ])
  await record.close()
})
