import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { recordFindings } from '../../../src/app/commands/doctor-record.ts'
import { reasonsIn } from '../../../src/app/composition/statement-texts.ts'
import { recordStoreOf } from '../../../src/record/record-store.ts'
import { feed } from '../../contracts/record.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { settingsOf } from '../../support/pipeline.ts'

function settings(change: Record<string, string> = {}) {
  const path = join(ownFolder('doctor'), 'record.sqlite')
  return settingsOf({ GAVEL_RECORD_PATH: path, ...change })
}
async function filled(of: ReturnType<typeof settings>): Promise<void> {
  const store = await recordStoreOf(of)
  const topics = feed(store)
  for (let n = 0; n < 40; n++) await topics.judged({ subjectId: `p${n}` }, 'a harbour '.repeat(200))
  await store.close()
}

it('says nothing of a record where none is kept', async () => {
  expect(await recordFindings(settings())).toEqual([])
})

it('names the fault of a map of statements, as the processes do that would make some', async () => {
  const path = join(ownFolder('doctor-map'), 'map.yaml')
  writeFileSync(path, 'what: [')
  const own = { ...settings(), review: { ...settings().review, statements: path } }
  expect(await recordFindings(own)).toMatchObject([{ state: 'broken', detail: expect.stringContaining(path) }])
  expect(() => reasonsIn(own)).toThrow(path)
})

it('says how full a whole one is, and before the oldest transcripts go', async () => {
  const own = settings()
  await filled(own)
  expect(await recordFindings(own)).toMatchObject([{ state: 'ok', detail: 'is whole; 0 % of record.maxBytes' }])
  const { size } = { size: readFileSync(own.record.path).length }
  const small = { ...own, record: { ...own.record, maxBytes: size } }
  expect(await recordFindings(small)).toMatchObject([{ state: 'warning', detail: expect.stringContaining('100 %') }])
})

it('finds a damaged one, and says what to do', async () => {
  const own = settings()
  await filled(own)
  const bytes = readFileSync(own.record.path)
  bytes.fill(0x5a, 4096 * 4, bytes.length - 4096)
  writeFileSync(own.record.path, bytes)
  const [finding] = await recordFindings(own)
  expect(finding?.state).toBe('broken')
  expect(finding?.todo).toContain('gavel record rebuild')
  writeFileSync(own.record.path, 'no database at all, but words')
  expect(await recordFindings(own)).toMatchObject([{ state: 'broken' }])
})
