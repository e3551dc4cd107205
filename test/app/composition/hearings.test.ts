import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { appealHearings } from '../../../src/app/composition/hearings.ts'
import { replayable } from '../../../src/app/composition/replayable.ts'
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
