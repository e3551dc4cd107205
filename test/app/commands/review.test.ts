import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { type DecideOptions, command as decideSubject } from '../../../src/app/commands/decide.ts'
import { command as exportRecord } from '../../../src/app/commands/record/export.ts'
import { command as decide } from '../../../src/app/commands/review/decide.ts'
import { command as list } from '../../../src/app/commands/review/list.ts'
import { command as quality } from '../../../src/app/commands/review/quality.ts'
import { command as release } from '../../../src/app/commands/review/release.ts'
import { command as reserve } from '../../../src/app/commands/review/reserve.ts'
import { command as show } from '../../../src/app/commands/show/show.ts'
import type { Command } from '../../../src/cli/command.ts'
import type { RecordStore } from '../../../src/contracts/ports/record.ts'
import { command as stats } from '../../../src/lab/commands/review/stats.ts'
import { ownGold } from '../../../src/lab/evaluation/own-gold.ts'
import { recordStoreOf } from '../../../src/record/record-store.ts'
import { at, feed } from '../../contracts/record.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { perform } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { settingsOf, silent } from '../../support/pipeline.ts'

const path = join(ownFolder('review'), 'record.sqlite')
const environment = { GAVEL_RECORD_PATH: path, GAVEL_REVIEW_BLIND_SHARE: '1', GAVEL_REVIEW_AUDIT_SHARE: '0' }

/** What a command prints, or its error's message. */
async function run<Options, Result>(
  command: Command<Options, Result>,
  args: readonly string[],
  options: Options & { json?: true },
  settings: Readonly<Record<string, string>> = environment,
): Promise<string> {
  const lines: string[] = []
  const note = (line: unknown) => void lines.push(String(line))
  const terminal = { ...silent, out: note, say: note }
  const io = { terminal, signal: new AbortController().signal }
  await perform(command, settingsOf(settings), args, options, io).catch((error: Error) => note(error.message))
  return lines.join('\n')
}

let store: RecordStore
let topics: ReturnType<typeof feed>
beforeAll(async () => {
  store = await recordStoreOf(settingsOf(environment))
  topics = feed(store)
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

it('reserves by the word that it had before, too, and says so in JSON under both names', async () => {
  const helpOf = (word: string) =>
    spawnSync(
      process.execPath,
      ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts'), 'review', word, '--help'],
      { encoding: 'utf8', env: bareEnvironment({}) },
    ).stdout
  expect(helpOf('reserve')).toContain('gavel review reserve|claim')
  expect(helpOf('claim')).toBe(helpOf('reserve'))
  const taken = JSON.parse(await run(reserve, ['rumor~near~r1'], { by: 'ann', json: true })) as object
  expect(taken).toMatchObject({ reservation: { by: 'ann' }, claim: { by: 'ann' } })
  const listed = JSON.parse(await run(list, [], { most: 20, for: 'ann', json: true })) as object
  expect(listed).toMatchObject({ reservation: { by: 'ann' }, claim: { by: 'ann' } })
  expect(await run(release, ['rumor~near~r1'], { by: 'ann' })).toBe('Released.')
})

it('a reservation shows the post, its comments and why it waits; another person sees who has it', async () => {
  const taken = await run(reserve, [], { by: 'ann' })
  expect(taken).toContain('rumor~near~r1 is ann’s until')
  expect(taken).toContain('Label: rumor. Why it waits: contested.')
  expect(taken).toContain('the judge says why')
  expect(taken).toContain('a harbour')
  expect(taken).toContain('I saw it')
  expect(await run(reserve, ['rumor~near~r1'], { by: 'ben' })).toMatch(/^ann has it until/)
  expect(await run(release, ['rumor~near~r1'], { by: 'ben' })).toBe('This person has no such item.')
  expect(await run(release, ['rumor~near~r1'], { by: 'ann' })).toBe('Released.')
  expect(await run(reserve, ['rumor~near~r9'], { by: 'ben' })).toBe('No such item waits.')
})

it('a second opinion shows post and comments as the machine saw them, and nothing of what was decided', async () => {
  const blind = await run(reserve, ['rumor~blind~r2'], { by: 'ben' })
  expect(blind).toContain('a tower')
  expect(blind).toContain('it fell')
  for (const word of ['non-rumor', 'ticket', 'ann']) expect(blind).not.toContain(word)
  expect(await run(reserve, ['rumor~blind~r2'], { by: 'ann' })).toMatch(/what they decided themselves/)
  await run(release, ['rumor~blind~r2'], { by: 'ben' })
})

it('a second opinion is sent as one or not at all, also where the item has come to be none', async () => {
  const asked: DecideOptions[] = []
  const result = { of: '0@0', against: 2, decided: null }
  const sent = vi.spyOn(decideSubject, 'run').mockImplementation(async ({ options }) => {
    asked.push(options)
    return result
  })
  const printed = vi.spyOn(decideSubject, 'print').mockImplementation(() => {})
  expect(await run(reserve, ['rumor~blind~r2'], { by: 'ben' })).toContain('--why "…" --opinion, or')
  const word = { label: 'rumor', by: 'ben', why: 'x' }
  expect(await run(decide, ['rumor~blind~r2'], word)).toContain('send it with --opinion')
  expect(asked).toEqual([])
  for (const item of ['rumor~blind~r2', 'rumor~near~r1']) await run(decide, [item], { ...word, opinion: true })
  await run(decide, ['rumor~near~r1'], word)
  expect(asked.map(({ opinion }) => opinion)).toEqual([true, true, undefined])
  for (const item of ['rumor~blind~r2', 'rumor~near~r1']) await run(release, [item], { by: 'ben' })
  sent.mockRestore()
  printed.mockRestore()
})

it('says how far people agree with machines and with one another', async () => {
  const said = await run(stats, [], {})
  expect(said).toMatch(/rumor +│ machines +│ chosen +│ all +│ 0 +│ 2 +│ 0\.000 │ 0\.000–0\.658/)
  expect(said).toMatch(/rumor +│ people +│ chosen +│ all +│ 0 +│ 1 /)
  expect(said).toContain('Krippendorff’s alpha')
  expect(said).toMatch(/rumor +│ people disagree +│ all +│ 0 +│ 0 +│ – +│ 0\.000–1\.000 │ 1 +│ 1 +│/)
  expect(JSON.parse(await run(stats, [], { json: true })).agreement).toContainEqual(
    expect.objectContaining({ beside: 'machine', part: 'label', value: 'non-rumor', verdicts: 2, agreeing: 0 }),
  )
  expect(await run(stats, [], { tenant: 'acme' })).toBe(
    'No human verdict in the record is current, so there is nothing to compare.',
  )
})

it('says how people decided, and who only where it is asked', async () => {
  const since = Date.now() - Date.parse(at(0))
  const said = await run(quality, [], { since, tenant: 'default' })
  expect(said).toMatch(/person 1 +│ [01] +│ [01] +│ too few +│ too few/)
  expect(said).not.toMatch(/ann|ben/)
  const named = JSON.parse(await run(quality, [], { since, names: true, json: true })) as { people: object[] }
  expect(named.people).toEqual([
    { by: 'ann', decisions: 1, opinions: 0, blindAgreement: null, golden: null, overturned: null, seconds: null },
    { by: 'ben', decisions: 0, opinions: 1, blindAgreement: null, golden: null, overturned: null, seconds: null },
  ])
  expect(await run(quality, [], { since, tenant: 'acme' })).toBe('Nobody has decided anything in this time.')
})

it('what people decided is a labelled file that gavel eval reads', async () => {
  const lines = (await run(exportRecord, [], { gold: true, protocol: 'rumor' })).split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      type: 'post',
      id: 'done',
      tenant: 'default',
      text: 'a bridge',
      label: 'non-rumor',
      labels: ['non-rumor', 'rumor'],
      slices: { drawn: 'chosen' },
    },
    { type: 'comment', id: 'c1', postId: 'done', text: 'no' },
    { type: 'post', id: 'blind', text: 'a tower', labels: ['non-rumor'] },
    { type: 'comment', text: 'it fell' },
  ])
  const file = join(dirname(path), 'gold.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const bad: unknown[] = []
  const gold = ownGold(file, { format: 'jsonl', protocol: { labels: ['rumor', 'non-rumor'] } } as never, (one) =>
    bad.push(one),
  )
  const read: unknown[] = []
  for await (const item of gold) read.push(item)
  expect(bad).toEqual([])
  expect(read).toMatchObject([
    { id: 'done', label: 'non-rumor' },
    { id: 'blind', label: 'non-rumor' },
  ])
  expect(await run(exportRecord, [], { gold: true, protocol: 'hate' })).toBe('There is nothing in the record.')
})

it('what was drawn for audit has its chance in the labelled file, and gavel eval weighs by it', async () => {
  const drawn = {
    GAVEL_RECORD_PATH: join(ownFolder('review-drawn'), 'record.sqlite'),
    GAVEL_REVIEW_BLIND_SHARE: '0',
    GAVEL_REVIEW_AUDIT_SHARE: '1',
  }
  const own = await recordStoreOf(settingsOf(drawn))
  const of = feed(own)
  await of.judged({ subjectId: 'done', label: 'rumor', decidedBy: 'consensus' }, 'a bridge')
  const decision = { by: 'ann', against: 'rumor~done~r1', of: '0@0' }
  await of.judged({ subjectId: 'done', revision: 2, decidedBy: 'human', label: 'non-rumor', decision }, null)
  await own.close()
  const lines = (await run(exportRecord, [], { gold: true, protocol: 'rumor' }, drawn)).split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { id: 'done', label: 'non-rumor', slices: { drawn: 'audit' }, chance: 1 },
  ])
  expect((await run(exportRecord, [], { gold: true, protocol: 'rumor' })).includes('chance')).toBe(false)
  const file = join(dirname(path), 'drawn.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n${(lines[0] ?? '').replace('"chance":1', '"chance":0')}\n`)
  const bad: object[] = []
  const gold = ownGold(file, { format: 'jsonl', protocol: { labels: ['rumor', 'non-rumor'] } } as never, (one) =>
    bad.push(one),
  )
  const read: unknown[] = []
  for await (const item of gold) read.push(item)
  expect(read).toMatchObject([{ id: 'done', chance: 1 }])
  expect(bad).toMatchObject([{ line: 2, why: 'has no readable chance' }])
})

it('show --record lists each verdict, the current one, and people’s notes', async () => {
  const asked = { tenant: 'default', record: true, most: 9 } as const
  const shown = await run(show, ['done'], asked)
  expect(shown).toMatch(
    /rumor~done~r1[\s\S]*rumor~done~r2[\s\S]*stands now[\s\S]*why: ticket 88[\s\S]*decided by ann against rumor~done~r1/,
  )
  expect(shown).toContain('second opinion (rumor), rumor, by ben, w')
  expect(JSON.parse(await run(show, ['done'], { ...asked, json: true }))).toMatchObject({ subject: { postId: 'done' } })
  expect(await run(show, ['nobody'], asked)).toBe('The record has nothing of nobody (tenant default).')
  expect(await run(show, ['done'], { ...asked, tenant: 'acme' })).toContain('nothing of done')
})

it('reserves what is of a tenant that had no turn yet before more of the one for which somebody decided', async () => {
  const waits = JSON.parse(await run(reserve, [], { by: 'ann', json: true })) as object
  expect(waits).toMatchObject({ verdict: 'rumor~near~r1' })
  await topics.judged({ tenant: 'acme', subjectId: 'light', seconds: 20 }, 'a boat')
  const next = JSON.parse(await run(reserve, [], { by: 'ann', json: true })) as object
  expect(next).toMatchObject({ verdict: 'rumor@acme~light~r1' })
})
