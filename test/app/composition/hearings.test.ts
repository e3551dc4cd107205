import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { memoryGatewayStores } from '../../../src/app/composition/gateway.ts'
import { appealHearings } from '../../../src/app/composition/hearings.ts'
import { replayNotes } from '../../../src/app/composition/judging.ts'
import { replayable } from '../../../src/app/composition/replayable.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { Purchase } from '../../../src/contracts/ports/budgets.ts'
import type { RecordReader } from '../../../src/contracts/ports/record.ts'
import { aTranscript, at } from '../../contracts/record.ts'
import { aVerdict } from '../../support/verdicts.ts'

const VERDICT = aVerdict(at(1), { label: 'rumor', decidedBy: 'judge' })
const APPEALS = [{ by: 'author', text: 'I quoted somebody' }] as const

test.each([
  [
    'settings that can’t be read',
    {
      now: () => {
        throw new Error('a typo')
      },
    },
  ],
  [
    'a Redis that is away',
    {
      secret: async () => {
        throw new Error('no Redis')
      },
    },
  ],
])('whoever answers an appeal is told that it could not be heard, whatever fails: %s', async (_, fails) => {
  const told: unknown[] = []
  const parts = { now: () => loadSettings({}), secret: async () => 'secret', ...fails }
  const record: Pick<RecordReader, 'verdict' | 'transcript'> = {
    verdict: async () => null,
    transcript: async () => '{}',
  }
  const { hear } = appealHearings(parts.now, { ...parts, record, report: (event) => void told.push(event) })
  expect(await hear(VERDICT, APPEALS, new AbortController().signal)).toBe('failed')
  expect(told).toEqual(['error'])
})

test('a case with a transcript of another form, its own or an earlier one, is left out as an older one', async () => {
  const verdict = aVerdict(at(1), { label: 'rumor', revision: 2 })
  const none = { lang: null, words: null, contested: false, erased: false, person: null }
  const of = { ...none, verdict, subject: { tenant: 'default', postId: 'p', kind: 'post' } } as const
  const replay = { key: 'k', overloaded: false }
  const own = JSON.stringify({ ...aTranscript(verdict.id, 'words'), turns: [], replay })
  const other = JSON.stringify({ schema: 99 })
  const read = (now: string, before: string | null, threads: boolean) =>
    replayable({ transcript: async (id) => (id === verdict.id ? now : before) }, of, { key: 'k', threads })
  expect(await read(own, null, true)).toMatchObject({ id: verdict.id })
  expect(await read(own, other, false)).toMatchObject({ id: verdict.id })
  expect(await read(own, other, true)).toBe('older')
  expect(await read(other, null, false)).toBe('older')
})

test('a hearing counts in the budgets of everything and of its tenant, and is a case of its own: without room nobody is asked', async () => {
  const [model = ''] = loadSettings({}).models.roles.default ?? []
  const prices = { [model]: { prompt: 0, cached: 0, completion: 10_000 } }
  const settings = loadSettings({ GAVEL_BUDGETS_TENANT_USD: '51', GAVEL_MODELS_PRICES: JSON.stringify(prices) })
  const verdict = aVerdict(at(1), { protocol: 'hate', label: 'hate', decidedBy: 'judge' })
  const { key } = replayNotes(settings, samplingRanks('secret'))
  const replay = { key, overloaded: false }
  const recorded = JSON.stringify({ ...aTranscript(verdict.id, 'They are all vermin.'), turns: [], replay })
  const none = { lang: null, words: null, contested: false, erased: false, sent: '', standing: true }
  const row = { ...none, verdict, conflicting: false, subject: { tenant: 'acme', postId: 'p', kind: 'post' } } as const
  const purchases: Purchase[] = []
  const stores = memoryGatewayStores(settings, Date.now)
  let calls = 0
  const { hear } = appealHearings(() => settings, {
    record: { verdict: async () => row as never, transcript: async () => recorded }, // Of a row what a hearing reads.
    secret: async () => 'secret',
    report() {},
    async stores() {
      const reserve = (one: Purchase) => {
        purchases.push(one)
        return stores.budgets.reserve(one)
      }
      return { ...stores, budgets: { ...stores.budgets, reserve } }
    },
    model: {
      async complete() {
        calls++
        const text = JSON.stringify({ reason: 'r', label: 'non-hate' })
        return { text, finish: 'stop', promptTokens: 20, cachedTokens: 0, completionTokens: 5_000, model }
      },
    },
  })
  const heard = (text: string) => hear(verdict, [{ by: 'author', text }], new AbortController().signal)
  expect(await heard('I quoted somebody')).toMatchObject({ label: 'non-hate', questions: 1 })
  expect((await stores.budgets.tenant('acme'))?.used.usd).toBeCloseTo(50)
  expect(await heard('I did not say it')).toBe('budget')
  expect(calls).toBe(1)
  expect(
    new Set(purchases.map(({ tenant, caseId }) => [tenant, caseId.split('~').slice(0, 4).join('~')].join(' '))),
  ).toEqual(new Set([`acme ${verdict.id}~appeal`]))
  expect(new Set(purchases.map(({ caseId }) => caseId)).size).toBe(2)
})
