import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import type { JudgedRamp } from '../../src/app/commands/variant/set-ramp.ts'
import { trialDesk } from '../../src/app/commands/variant/trial-desk.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import { noUsage, type Verdict } from '../../src/contracts/facts/verdict.ts'
import type { TopicHistory } from '../../src/contracts/ports/topic.ts'
import { at } from '../contracts/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aConsole } from './console-for-tests.ts'
import { aShadow, historyOf, writtenReport } from './trials-for-tests.ts'

const RAMPS: readonly JudgedRamp[] = [{ protocol: 'hate', variant: 'stricter', ramp: 0.1, judges: 0.1 }]

async function trying({
  said = [],
  ramps = RAMPS,
  away = false,
}: {
  said?: unknown[]
  ramps?: readonly JudgedRamp[]
  away?: boolean
}) {
  const folder = ownFolder('trials')
  const record = await recordInMemory()
  const history: TopicHistory = away
    ? { ...historyOf([]), rangesOf: () => Promise.reject(new Error('no broker')) }
    : historyOf(said)
  const settings = loadSettings({ GAVEL_CONSOLE_WHAT_IF_PATH: folder })
  const trials = trialDesk(settings, { reader: record, ramps: () => ramps, historyUntil: async () => history })
  const console = await aConsole({ record, trials })
  console.pass(Date.parse(at(1_000)))
  const judged = (subjectId: string, seconds: number, change: Partial<Verdict> = {}, text = 'a post') => {
    const timing = { createdAt: at(0), receivedAt: at(0), openedAt: at(seconds), decidedAt: at(seconds) }
    const verdict = { protocol: 'hate', decidedBy: 'consensus', label: 'non-hate', subjectId, ...change } as const
    return console.judged({ verdict: { ...verdict, timing: { ...timing, modelMs: 0, overheadMs: 0 } }, post: { text } })
  }
  const read = async (path: string, role: PersonRole = 'lead', tenants?: string[]) => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by: role, grants: [{ role, tenants }] })}`
    const { status, text } = await console.page(path, cookie)
    const { document } = parseHTML(text)
    const plain = (one: { textContent: string | null }) => (one.textContent ?? '').replace(/\s+/g, ' ').trim()
    const all = (place: string) => [...document.querySelectorAll(place)].map(plain)
    return { status, text, all, rows: all('article tr, section tr') }
  }
  return { console, folder, judged, read }
}

it('a ramp is compared with the others since its first verdict, and its gate stands beside its figures', async () => {
  const { judged, read, console } = await trying({})
  // From before the ramp: it says nothing of the two beside each other.
  await judged('old', 5, { label: 'hate' })
  await judged('a', 20, { variant: 'stricter', label: 'hate', usage: { ...noUsage(), costUsd: 0.004 } })
  await judged('b', 30, { variant: 'stricter', degraded: ['1 of 3 perspectives'] })
  await judged('c', 21)
  // One that was published judges the others.
  await judged('d', 22, { variant: 'house-4' })
  await judged('e', 23, { label: null, decidedBy: 'none' })
  for (const [subjectId, label] of [
    ['a', 'non-hate'],
    ['c', 'non-hate'],
  ] as const) {
    const decision = { by: 'ann', against: `hate~${subjectId}~r1`, of: '0@0' }
    await judged(subjectId, 40, { revision: 2, decidedBy: 'human', label, decision })
  }
  const { all, rows, text } = await read('/trials')
  expect(all('article h3')).toEqual(['hate: stricter'])
  expect(all('article > p')[0]).toContain('Judges 10.0 % of subjects by the settings: 2 of 5 cases')
  expect(rows).toEqual(
    expect.arrayContaining([
      'Cases32',
      'non-hate2 (66.7 %)1 (50.0 %)',
      'hate0 (0.0 %)1 (50.0 %)',
      'Undecided1 (33.3 %)0 (0.0 %)',
      'Degraded0 (0.0 %)1 (50.0 %)',
      'US dollars a thousand0.002.00',
      'Overruled by people0 of 11 of 1',
    ]),
  )
  expect(all('article li')).toEqual([
    'Not held: people agree with 0 of 1 of its labels, and with 1 of 1 of the live ones',
  ])
  expect(text).toContain('npx gavel variant ramp stricter 10% --protocol hate --config gavel.yaml --by lead')
  expect((await read('/trials', 'moderator')).status).toBe(403)
  expect((await read('/live', 'moderator')).text).not.toContain('href="/trials"')
  console.close()
})

it('a variant in the shadow is compared on the same subjects, of one’s own tenants, with the gate that is asked for', async () => {
  const said = [
    aShadow('p0', 'hate', at(20)),
    aShadow('p1', 'non-hate', at(20)),
    aShadow('p2', 'non-hate', at(20)),
    aShadow('p3', 'non-hate', at(20)),
    aShadow('p4', 'hate', at(20), { tenant: 'acme', id: 'hate@acme~p4~r1~v~stricter' }),
    { schema: 9 },
  ]
  const { judged, read, console } = await trying({ said, ramps: [] })
  await judged('p0', 10)
  // What a machine says now is no person's word.
  await judged('p1', 10)
  await judged('p0', 40, {
    revision: 2,
    decidedBy: 'human',
    label: 'hate',
    decision: { by: 'ann', against: null, of: '0@0' },
  })
  const { all, rows } = await read('/trials?flips=30', 'lead', ['default'])
  expect(all('article > p')[0]).toContain('on 4 subjects: 25.0 % [')
  expect(rows).toEqual(
    expect.arrayContaining(['Cases44', 'hate0 (0.0 %)1 (25.0 %)', 'Overruled by people1 of 10 of 1', 'H64']),
  )
  expect(rows).toContain('non-hate → hate1')
  expect(all('article li')).toEqual([
    'Held: 25.0 % of verdicts flip; at most 30.0 % may',
    'Held: people agree with 1 of 1 of its labels, and with 0 of 1 of the live ones',
  ])
  // Without one: five in a hundred.
  expect((await read('/trials')).all('article li')[0]).toBe('Not held: 40.0 % of verdicts flip; at most 5.0 % may')
  console.close()
})

it('what can’t be read is said, and what is not there has the command that begins it', async () => {
  const { read, console } = await trying({ ramps: [], away: true })
  expect((await read('/trials')).all('[role=alert]')).toEqual([
    'What variants in the shadow say could not be read. Try again.',
  ])
  const empty = await trying({ ramps: [] })
  const { text } = await empty.read('/trials')
  expect(text).toContain('npx gavel variant shadow stricter')
  expect(text).toContain('npx gavel what-if --policy')
  expect((await empty.read('/what-if?run=..')).status).toBe(404)
  console.close()
})

it('a report shows the posts that the record still has, covered, to leads of all its tenants; who saw them is noted', async () => {
  const { judged, read, console, folder } = await trying({})
  writtenReport(folder, 'own', [{}, {}, { verdictId: 'hate~gone~r1' }], ['default'])
  writtenReport(folder, 'both', [], ['default', 'acme'])
  mkdirSync(join(folder, 'broken'))
  writeFileSync(join(folder, 'broken', 'report.json'), '{"schema":1')
  await judged('p0', 10, {}, 'you idiot <script>')
  await judged('p1', 10, {}, 'another')
  const list = await read('/trials', 'lead', ['default'])
  expect(list.all('section[aria-labelledby=what-ifs] tbody tr')).toHaveLength(1)
  expect(list.text).toContain('the policy of own &lt;b&gt;')
  expect((await read('/trials')).all('section[aria-labelledby=what-ifs] tbody tr')).toHaveLength(2)
  expect((await read('/what-if?run=both', 'lead', ['default'])).status).toBe(404)
  expect((await read('/what-if?run=own', 'moderator')).status).toBe(403)

  const { all, rows, text } = await read('/what-if?run=own', 'lead', ['default'])
  expect(all('h1 ~ p')[0]).toBe(
    '25.0 % of verdicts would flip (95 % interval: 10.0 % to 50.0 %): 2 of 8 replayed cases.',
  )
  expect(rows).toContain('non-hate → hate25.0 %10.0 % to 50.0 %28')
  expect(all('.notice')).toEqual(['One post of this page is not shown: deleted.'])
  expect(all('.row .of')).toEqual(['p0', 'p1'])
  expect(all('.row-head')[0]).toBe('p0 non-hate → hate H6 default · en')
  // What it would be called hides what it says and why, before anybody asks.
  expect(all('.row > details .row-words')).toEqual(['you idiot <script>', 'another'])
  expect(all('.row > details li')).toEqual(['H6: idiot', 'H6: idiot'])
  expect(text).not.toContain('<script>')
  expect(text).not.toContain('as the report has them')
  expect(console.audited.at(-1)).toMatchObject({
    what: 'saw',
    page: '/what-if',
    verdicts: ['hate~p0~r1', 'hate~p1~r1'],
  })
  console.close()
})
