import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { command, printAudit } from '../../../src/app/commands/verdicts.ts'
import { recordStoreOf } from '../../../src/record/record-store.ts'
import type { VerdictAudit } from '../../../src/recovery/audit.ts'
import { at, feed } from '../../contracts/record.ts'
import { perform } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { settingsOf, silent } from '../../support/pipeline.ts'

const CLEAN: VerdictAudit = { records: 4, unreadable: 0, ids: 3, repeats: 1, contested: [] }
const open = { id: 'rumor~p~r1', contents: 2, superseded: false }

function printed(found: VerdictAudit, json = false) {
  const out: string[] = []
  const terminal = { out: (line: unknown) => void out.push(String(line)), say: () => {}, progress: () => {} }
  try {
    printAudit(found, json, terminal)
    return { out, error: null }
  } catch (error) {
    return { out, error: (error as Error).message }
  }
}

test('a check says what it found, and fails only where no later revision settles it', () => {
  expect(printed(CLEAN)).toEqual({
    out: ['3 verdicts in 4 records, 1 of them byte-identical repeats', 'No id has two contents there.'],
    error: null,
  })
  const settled = printed({ ...CLEAN, contested: [{ ...open, superseded: true }] })
  expect(settled).toEqual({ out: [expect.any(String), expect.stringContaining('superseded by a later')], error: null })
  const unsettled = printed({ ...CLEAN, contested: [open, { ...open, id: 'rumor~q~r1', superseded: true }] })
  expect(unsettled.error).toMatch(/^1 id with two contents.*"gavel recover"/)
})

test('a check counts what it could not read, in words and as JSON', () => {
  const damaged = { ...CLEAN, records: 6, unreadable: 2 }
  expect(printed(damaged).out[1]).toBe('2 records without a verdict of schema 1 or 2: what stood there is not known')
  expect(printed(damaged, true)).toEqual({ out: [JSON.stringify(damaged)], error: null })
})

test('the record is asked for verdicts by what the topic can’t be asked for', async () => {
  const path = join(ownFolder('verdicts'), 'record.sqlite')
  const settings = settingsOf({ GAVEL_RECORD_PATH: path })
  const store = await recordStoreOf(settings)
  const topics = feed(store)
  const versions = { script: 1, prompts: 'abc', settings: '' }
  await topics.judged(
    { subjectId: 'a', decidedBy: 'consensus', faults: ['model'] },
    'the dam\u001b[2J broke',
    {},
    { author: 'ann', lang: 'ko' },
  )
  const near = { protocol: 'hate', label: 'hate', scores: { hate: 3, nonHate: 2 } }
  await topics.judged(
    { subjectId: 'b', seconds: 9, models: { judge: 'large' }, versions, ...near },
    'x',
    {},
    { lang: 'de' },
  )
  await store.close()
  const found = async (options: Parameters<typeof command.run>[0]['options']) => {
    const ids: string[] = []
    const terminal = {
      ...silent,
      out: (line: unknown) => void ids.push((JSON.parse(String(line)) as { subjectId: string }).subjectId),
    }
    await perform(command, settings, [], { json: true, ...options }, { terminal, signal: new AbortController().signal })
    return ids.join(' ')
  }
  expect(await found({ record: true })).toBe('a b')
  const lines: string[] = []
  const terminal = { ...silent, out: (line: unknown) => void lines.push(String(line)) }
  const signal = new AbortController().signal
  await perform(command, settings, [], { record: true, author: 'ann' }, { terminal, signal })
  // A person tells them apart by what they are about.
  expect(lines).toEqual([expect.stringMatching(/rumor~a~r\d.*"the dam \[2J broke"/)])
  for (const options of [{ author: 'ann' }, { lang: 'ko' }, { fault: 'model' }, { until: Date.parse(at(5)) }] as const)
    expect(await found({ record: true, ...options }), JSON.stringify(options)).toBe('a')
  for (const options of [{ model: 'large' }, { prompts: 'abc' }, { contested: true }] as const)
    expect(await found({ record: true, ...options }), JSON.stringify(options)).toBe('b')
  await expect(found({ model: 'large' })).rejects.toThrow('--model goes with --record.')

  expect(await found({ record: true, search: 'dam' })).toBe('a')
  const older = new DatabaseSync(settings.record.path)
  older.exec("DELETE FROM meta WHERE k = 'folding'")
  older.close()
  const said: string[] = []
  const telling = { ...terminal, say: (line: unknown) => void said.push(String(line)) }
  await perform(command, settings, [], { record: true, search: 'dam' }, { terminal: telling, signal })
  expect(said).toEqual([expect.stringMatching(/^There may be more: older texts are being indexed anew/)])
})
