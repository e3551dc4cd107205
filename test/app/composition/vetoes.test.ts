import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { vetoes } from '../../../config/vetoes.ts'
import { pendingOf } from '../../../producers/publisher/records.ts'
import { vetoPart } from '../../../src/app/composition/vetoes.ts'
import { auditEntry } from '../../../src/contracts/facts/audit.ts'
import type { OutboxEntry } from '../../../src/contracts/ports/cases.ts'
import { changedSettings } from '../../../src/operations/reloading.ts'
import { memoryLookedAt } from '../../../src/store/veto/memory.ts'
import { postOf, thread } from '../../contracts/samples.ts'
import { inSchemaTwo, WRITTEN_IN_ONE } from '../../support/both-schemas.ts'
import { drawnPng } from '../../support/drawn.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('veto-part')
const list = join(folder, 'spam.txt')
const shipped = loadSettings({})
const settings = { ...shipped, vetoes: vetoes.parse({ spam: { kind: 'pattern', list, labels: {} } }) }

test('lists are read anew at a reload, whole or not at all, and what came of it is reported', async () => {
  const reported: string[] = []
  writeFileSync(list, 'first\n')
  const part = await vetoPart(settings, {
    looked: memoryLookedAt(Date.now),
    keptImage: undefined,
    labelsOf: () => undefined,
    clock: Date.now,
    report: (name, event) => void reported.push(`${name} ${JSON.stringify(event)}`),
  })
  let asked = 0
  const isOn = async (text: string) => {
    const ref = thread(`p${++asked}`)
    const mayFetch = async () => {}
    const found = await part?.check({
      ref,
      caseId: ref.postId,
      post: postOf(ref, { text }),
      around: new Map(),
      mayFetch,
    })
    return found?.hit?.list === 'spam'
  }
  expect([await isOn('first'), await isOn('second')]).toEqual([true, false])
  writeFileSync(list, 'second\n')
  expect(await isOn('second')).toBe(false)
  await part?.reload(settings)
  expect([await isOn('first'), await isOn('second')]).toEqual([false, true])
  writeFileSync(list, '(broken\n')
  await part?.reload(settings)
  expect([await isOn('first'), await isOn('second')]).toEqual([false, true])
  expect(reported.map((line) => line.split(' ', 1)[0])).toEqual(['vetoes:loaded', 'vetoes:loaded', 'vetoes:refused'])
  expect(reported.at(-1)).toContain('spam.txt:1 is no pattern of RE2')
  // Of two at once the later one's lists stay, though the first takes longer to read its own.
  writeFileSync(list, 'long\n')
  const many = join(folder, 'many.txt')
  writeFileSync(many, `${'0f'.repeat(32)}\n`.repeat(50_000))
  const slow = {
    ...settings,
    vetoes: { ...settings.vetoes, ...vetoes.parse({ many: { kind: 'sha256', list: many } }) },
  }
  const other = join(folder, 'other.txt')
  writeFileSync(other, 'short\n')
  const later = { ...shipped, vetoes: vetoes.parse({ spam: { kind: 'pattern', list: other, labels: {} } }) }
  await Promise.all([part?.reload(slow), part?.reload(later)])
  expect([await isOn('long'), await isOn('short')]).toEqual([false, true])
})

test('vetoes can change while a process runs, but for the first', () => {
  const other = { ...settings, vetoes: {} }
  expect(changedSettings(settings, other).fixed).toEqual([])
  expect(changedSettings(other, settings).fixed).toEqual(['vetoes.spam'])
})

test('what a list decided is noted in the audit, with its verdict, in the same bytes at each try', () => {
  const [one] = WRITTEN_IN_ONE
  if (one === undefined) throw new Error('no verdict')
  const ruled = { ...inSchemaTwo(one), decidedBy: 'veto' }
  const entry: OutboxEntry = {
    id: '1',
    kind: 'verdict',
    caseId: ruled.id,
    verdict: JSON.stringify(ruled),
    transcript: '{}',
  }
  const topics = {
    verdicts: 'v',
    transcripts: 't',
    proposals: 'p',
    reviews: 'r',
    decisionOutcomes: 'o',
    appealOutcomes: 'a',
    deadLetters: 'd',
  }
  const notes = [0, 1].map(() =>
    pendingOf(entry, { ...topics, audit: 'audit' })?.records.filter(({ topic }) => topic === 'audit'),
  )
  expect(notes[0]).toEqual(notes[1])
  const [note] = notes[0] ?? []
  expect(auditEntry.parse(JSON.parse(String(note?.value)))).toMatchObject({
    by: 'gavel',
    page: 'veto',
    verdicts: [ruled.id],
    asked: { list: 'known', entry: 'e7' },
  })
  const plain = { ...entry, verdict: JSON.stringify({ ...ruled, decidedBy: 'judge', veto: undefined }) }
  expect(pendingOf(plain, { ...topics, audit: 'audit' })?.records.map(({ topic }) => topic)).toEqual(['t', 'v'])
})

test('a picture of more pixels than there is memory to hash is not decoded: it is named with the bound, and nothing is harmless beside it', async () => {
  const alike = join(folder, 'alike.txt')
  writeFileSync(alike, `${'f'.repeat(64)}\n`)
  const part = await vetoPart(
    { ...shipped, vetoes: vetoes.parse({ alike: { kind: 'pdq', list: alike } }) },
    {
      looked: memoryLookedAt(Date.now),
      keptImage: undefined,
      loadImage: async (url) => url,
      labelsOf: () => undefined,
      clock: Date.now,
      report: () => {},
    },
  )
  const png = drawnPng(2, 2, () => [9, 9, 9, 255])
  for (const at of [16, 20]) png.writeUInt32BE(5_000, at)
  const url = `data:image/png;base64,${png.toString('base64')}`
  const ref = thread('large')
  const post = postOf(ref, { media: [{ kind: 'image', url }] })
  const check = () => part?.check({ ref, caseId: 'large', post, around: new Map(), mayFetch: async () => {} })
  await expect.poll(check, { timeout: 20_000 }).toMatchObject({
    hit: null,
    unchecked: [{ url, why: 'more than 16,677,351 pixels', isClosed: true }],
  })
  await part?.close()
})
