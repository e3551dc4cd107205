import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { verdict } from '../../../src/contracts/facts/verdict.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { tell } from '../../support/pipeline.ts'

const folder = ownFolder('judge-kept')
const POSTS = 14
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy({ latencyMs: 120 })
  const lines = Array.from({ length: POSTS }, (_, n) => JSON.stringify({ id: `p${n}`, text: `The bridge ${n} fell.` }))
  writeFileSync(join(folder, 'my posts.jsonl'), lines.join('\n'))
})
afterAll(() => understudy.close())

/** Each post is asked about eight times. */
const EVERY_DEBATE = { GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'always', GAVEL_PROTOCOLS_HATE_EXITS: 'false' }

/** `gavel judge` as a person types it, in the folder of the posts. */
function judge(args: readonly string[], input = '') {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts'), 'judge']
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: folder,
    env: bareEnvironment({ ...understudy.settings, ...EVERY_DEBATE, GAVEL_MODELS_SLOTS: '8' }),
  })
  child.stdin.end(input)
  let [printed, said] = ['', '']
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'exit').then(([code]) => ({
    code,
    said,
    verdicts: printed
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => verdict.parse(JSON.parse(line))),
  }))
  return { child, ended }
}

const runs = join(folder, '.gavel', 'runs')
const rowsOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')

it('goes on after Ctrl-C and after a kill, by the same command: what is asked twice was in flight', {
  timeout: 120_000,
}, async () => {
  const args = ['my posts.jsonl', '--protocol', 'hate', '--json']
  let inFlight = 0
  let before = 0
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const { child, ended } = judge(args)
    while (understudy.calls().length < before + 35 && child.exitCode === null) await sleep(5)
    child.kill(signal)
    const { code, said } = await ended
    before = understudy.calls().length
    inFlight += 8
    if (signal === 'SIGINT') {
      expect(code).toBe(1)
      expect(said).toContain('The same command goes on from here.')
    }
  }
  const { code, said, verdicts } = await judge(args).ended
  expect(code).toBe(0)
  expect(said).toMatch(/holds \d+ answers: they are not asked for again/)
  expect(new Set(verdicts.map(({ subjectId }) => subjectId)).size).toBe(POSTS)

  const [run = ''] = readdirSync(runs).filter((name) => name.startsWith('my-posts.jsonl-'))
  expect(readdirSync(runs).filter((name) => name !== '.gitignore')).toEqual([run])
  const answers = rowsOf(join(runs, run, 'answers.jsonl')).length
  const twice = understudy.calls().length - answers
  tell(`${answers} answers, ${twice} asked twice after Ctrl-C and a kill with 8 slots`)
  expect(answers).toBe(POSTS * 8)
  expect(twice).toBeLessThanOrEqual(inFlight)
  expect(statSync(runs).mode & 0o777).toBe(0o700)
  expect(said).toContain(`Every answer is kept in ${join('.gavel', 'runs', run)}`)
})

it('takes plain text from standard input, and keeps nothing where that is wished', async () => {
  const before = readdirSync(folder, { recursive: true }).length
  const input = 'The bridge has fallen.\n\n{"text": "not read as JSON"}\n'
  const { code, said, verdicts } = await judge(['-', '--text', '--protocol', 'hate', '--json', '--no-record'], input)
    .ended
  expect(code).toBe(0)
  expect(verdicts.map(({ subjectId }) => subjectId).sort()).toEqual(['line-1', 'line-3'])
  expect(said).not.toContain('kept')
  expect(readdirSync(folder, { recursive: true })).toHaveLength(before)
})
