import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command as doctor } from '../../../src/app/commands/doctor.ts'
import type { Finding } from '../../../src/contracts/facts/finding.ts'
import { invocation } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'

const found = async (what: string, environment: Record<string, string>) => {
  const settings = loadSettings({ GAVEL_LIBRARY_PATH: '/nowhere', ...environment })
  const io = { terminal: { out() {}, say() {}, progress() {} }, signal: new AbortController().signal }
  const findings: readonly Finding[] = await doctor.run(invocation(settings, [], {}, io))
  return findings.filter((finding) => finding.what === what)
}
const told = async (environment: Record<string, string>) =>
  (await found('fences.key (prompt fences and sampling)', environment))[0]

test('the doctor says whether the key of fences and sampling outlives Redis', async () => {
  expect(await told({})).toMatchObject({ state: 'warning', todo: expect.stringContaining('GAVEL_FENCES_KEY') })
  const key = 'a key of the tests alone'
  const finding = await told({ GAVEL_FENCES_KEY: key })
  expect(finding).toMatchObject({ state: 'ok' })
  expect(JSON.stringify(finding)).not.toContain(key)
})

test('the doctor names the records of the library that are garbled, and the file of each', async () => {
  const library = ownFolder('doctor')
  for (const [folder, file] of [
    ['changes', '20260101T000000000-abcdef.jsonl'],
    ['proposals', 'owner.author.id.json'],
  ] as const) {
    mkdirSync(join(library, folder))
    writeFileSync(join(library, folder, file), '{garbled\n')
  }
  expect(await found('library', { GAVEL_LIBRARY_PATH: library })).toMatchObject([
    { state: 'broken', detail: expect.stringContaining('changes/20260101T000000000-abcdef.jsonl') },
    { state: 'broken', detail: expect.stringContaining('proposals/owner.author.id.json') },
  ])
  rmSync(library, { recursive: true })
})

function printed(findings: readonly Finding[], settingsFile?: string) {
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(String(line)), say() {}, progress() {} }
  const io = { terminal, signal: new AbortController().signal }
  const print = () => doctor.print(findings, { ...invocation({}, [], {}, io), settingsFile })
  return { lines, print }
}

test('the doctor ends with a tally, and names the file in which settings belong', () => {
  const ok: Finding = { what: 'Redis', state: 'ok', detail: 'answers' }
  const todo = 'Can wait:\n    models.prices: { "a": {} }'
  const warning: Finding = { what: 'model a', state: 'warning', detail: 'x', todo }
  const calm = printed([ok])
  calm.print()
  expect(calm.lines).toEqual(['ok       Redis: answers', '0 broken, 0 warnings: Gavel can run.'])
  const one = printed([ok, warning])
  one.print()
  expect(one.lines.slice(1, 4)).toEqual([
    'warning  model a: x',
    '         → Can wait:',
    '               models.prices: { "a": {} }',
  ])
  expect(one.lines.at(-2)).toMatch(/own, which each command is given as --config FILE.*config\/gavel\.yaml/)
  expect(one.lines.at(-1)).toBe('0 broken, 1 warning: Gavel can run.')
  const two = printed([warning], 'mine.yaml')
  two.print()
  expect(two.lines.at(-2)).toContain(`margin of ${resolve('mine.yaml')}.`)
  const urgent = printed([warning, { ...warning, what: 'model b', todo: 'Do this first: start it anew.' }])
  urgent.print()
  expect(urgent.lines.at(-1)).toBe('0 broken, 2 warnings: Gavel can run, but first follow the advice above on model b.')
  const none = printed([{ ...warning, todo: 'Set REDIS_URL: it is empty.' }])
  none.print()
  expect(none.lines).toHaveLength(3)
  const broken = printed([warning, { what: 'Kafka', state: 'broken', detail: 'is not set' }])
  expect(broken.print).toThrow('1 broken, 1 warning: mend what is BROKEN, and run gavel doctor again.')
})
