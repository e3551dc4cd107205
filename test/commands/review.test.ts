import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Command } from '../../src/commands/command.ts'
import { command as claim } from '../../src/commands/review/claim.ts'
import { command as list } from '../../src/commands/review/list.ts'
import { command as release } from '../../src/commands/review/release.ts'
import { command as stats } from '../../src/lab/commands/review/stats.ts'
import { recordStoreOf } from '../../src/service/composition/record.ts'
import type { RecordStore } from '../../src/service/ports/record.ts'
import { at, feed } from '../contracts/record.ts'
import { perform } from '../support/commands.ts'
import { settingsOf, silent } from '../support/pipeline.ts'

const path = join(tmpdir(), `gavel-review-${randomBytes(6).toString('hex')}`, 'record.sqlite')
const environment = { GAVEL_RECORD_PATH: path, GAVEL_REVIEW_BLIND_SHARE: '1', GAVEL_REVIEW_AUDIT_SHARE: '0' }

/** What a command prints, or its error's message. */
async function run<Options, Result>(
  command: Command<Options, Result>,
  args: readonly string[],
  options: Options & { json?: true },
): Promise<string> {
  const lines: string[] = []
  const note = (line: unknown) => void lines.push(String(line))
  const terminal = { ...silent, out: note, say: note }
  const io = { terminal, signal: new AbortController().signal }
  await perform(command, settingsOf(environment), args, options, io).catch((error: Error) => note(error.message))
  return lines.join('\n')
}

let store: RecordStore
beforeAll(async () => {
  store = await recordStoreOf(settingsOf(environment))
  const topics = feed(store)
  await topics.judged({ subjectId: 'near', rationale: 'the judge says why' }, 'a harbour', { c1: 'I saw it' })
  await topics.judged({ subjectId: 'done', label: 'rumor', decidedBy: 'consensus' }, 'a bridge', { c1: 'no' })
  const decision = { by: 'ann', against: 'rumor~done~r1', of: '0@0' }
  const human = { revision: 2, decidedBy: 'human', label: 'non-rumor', rationale: 'ticket 88', decision } as const
  await topics.judged({ subjectId: 'done', seconds: 9, ...human }, null)
  const decided = {
    subjectId: 'done',
    protocol: 'rumor',
    label: 'non-rumor',
    against: 1,
    by: 'ann',
    why: 'w',
    at: at(8),
  }
  await topics.send('decisions', 'done', decided, 8)
  await topics.send(
    'decisions',
    'done',
    { ...decided, label: 'rumor', by: 'ben', against: 2, opinion: true, at: at(10) },
    10,
  )
  await topics.judged({ subjectId: 'blind', label: 'rumor', decidedBy: 'consensus' }, 'a tower', { c1: 'it fell' })
  const other = { ...human, decision: { ...decision, against: 'rumor~blind~r1' } }
  await topics.judged({ subjectId: 'blind', seconds: 9, ...other }, null)
})
afterAll(() => store.close())

it('lists what waits, the dearest first, and for a person only what they may take', async () => {
  const all = await run(list, [], { most: 20 })
  expect(all).toMatch(/rumor~near~r1.*contested[\s\S]*rumor~blind~r2.*second-opinion/)
  expect(all).not.toContain('done')
  expect(await run(list, [], { most: 20, for: 'ann' })).not.toContain('blind')
  expect(await run(list, [], { most: 1 })).toContain('2 items in all')
  expect(await run(list, [], { most: 1, tenant: 'acme' })).toBe('Nothing waits for people.')
  expect(JSON.parse(await run(list, [], { most: 20, protocol: 'rumor', for: 'ann', json: true }))).toMatchObject({
    verdict: 'rumor~near~r1',
    label: 'rumor',
    words: 'a harbour',
  })
})

it('a claim shows the post, its comments and why it waits; another person is told who has it', async () => {
  const taken = await run(claim, [], { by: 'ann' })
  expect(taken).toContain('rumor~near~r1 is ann’s until')
  expect(taken).toContain('Label: rumor. Why it waits: contested.')
  expect(taken).toContain('the judge says why')
  expect(taken).toContain('a harbour')
  expect(taken).toContain('I saw it')
  expect(await run(claim, ['rumor~near~r1'], { by: 'ben' })).toMatch(/^ann has it until/)
  expect(await run(release, ['rumor~near~r1'], { by: 'ben' })).toBe('This person has no such item.')
  expect(await run(release, ['rumor~near~r1'], { by: 'ann' })).toBe('Released.')
  expect(await run(claim, ['rumor~near~r9'], { by: 'ben' })).toBe('No such item waits.')
})

it('a second opinion shows post and comments as the machine saw them, and nothing of what was decided', async () => {
  const blind = await run(claim, ['rumor~blind~r2'], { by: 'ben' })
  expect(blind).toContain('a tower')
  expect(blind).toContain('it fell')
  for (const word of ['non-rumor', 'ticket', 'ann']) expect(blind).not.toContain(word)
  expect(await run(claim, ['rumor~blind~r2'], { by: 'ann' })).toMatch(/verdict of their own/)
  await run(release, ['rumor~blind~r2'], { by: 'ben' })
})

it('says how far people agree with machines and with one another', async () => {
  const said = await run(stats, [], {})
  expect(said).toMatch(/rumor +│ machines +│ chosen +│ all +│ 0 +│ 1 +│ 0\.000 │ 0\.000–0\.793/)
  expect(said).toMatch(/rumor +│ people +│ chosen +│ all +│ 0 +│ 1 /)
  expect(said).toContain('Krippendorff’s alpha')
  expect(JSON.parse(await run(stats, [], { json: true })).agreement).toContainEqual(
    expect.objectContaining({ beside: 'machine', part: 'label', value: 'non-rumor', verdicts: 1, agreeing: 0 }),
  )
  expect(await run(stats, [], { tenant: 'acme' })).toBe('There is no human verdict in the record.')
})
