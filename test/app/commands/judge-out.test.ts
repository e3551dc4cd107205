import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { verdict } from '../../../src/contracts/facts/verdict.ts'
import { openRecording } from '../../../src/data-files/recordings.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { IN_PROOF } from '../../support/in-proof.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { tell } from '../../support/pipeline.ts'

const EVENT = join(PROJECT, 'config', 'demo', 'event.jsonl')
const SEED = process.env.JUDGE_OUT_SEED ?? String(Date.now())
const KILLS = IN_PROOF ? 6 : 1

const folder = ownFolder('judge-out')
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy({ latencyMs: 150 })
})
afterAll(async () => {
  await understudy.close()
  await rm(folder, { recursive: true, force: true })
})

/** `gavel judge` with its answers kept in `out`, ended by SIGKILL after so many ms; resolves to what it printed. */
async function judge(out: string, killAfterMs = Number.POSITIVE_INFINITY) {
  const args = ['src/main.ts', 'judge', EVENT, '--protocol', 'rumor', '--json', '--out', out]
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', ...args], {
    cwd: PROJECT,
    env: bareEnvironment(understudy.settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [printed, said] = ['', '']
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'exit')
  if (Number.isFinite(killAfterMs)) {
    // From its first call on, and once an answer is kept: before that there is nothing to lose.
    const calls = understudy.calls().length
    const isKept = () => (statSync(join(out, 'answers.jsonl'), { throwIfNoEntry: false })?.size ?? 0) > 0
    while ((understudy.calls().length === calls || !isKept()) && child.exitCode === null) await sleep(10)
    await Promise.race([ended, sleep(killAfterMs)])
    child.kill('SIGKILL')
  }
  const [code] = await ended
  return { code, printed, said }
}

const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
const labelsOf = (printed: string) =>
  printed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => verdict.parse(JSON.parse(line)))
    .map(({ subjectId, label, scores, rationale, degraded }) => ({ subjectId, label, scores, rationale, degraded }))
    .sort((one, other) => (one.subjectId < other.subjectId ? -1 : 1))

it(`killed ${KILLS} times and run again, no recorded answer is asked for twice, and the verdicts are the same`, {
  timeout: 120_000,
}, async () => {
  const random = seededRandom(SEED)
  const whole = await judge(join(folder, 'whole'))
  expect(whole.code).toBe(0)
  const inOneRun = understudy.calls().length

  const out = join(folder, 'killed')
  for (let kill = 0; kill < KILLS; kill++) await judge(out, random.below(900))
  const { lost: unanswered } = await openRecording(out, { readOnly: true })
  const last = await judge(out)
  expect(last.code).toBe(0)
  expect(labelsOf(last.printed)).toEqual(labelsOf(whole.printed))

  const [answers, calls] = [linesOf(join(out, 'answers.jsonl')), linesOf(join(out, 'calls.jsonl'))]
  const answered = new Set(answers.map(({ digest }) => digest))
  expect(answered.size).toBe(answers.length)
  const made = understudy.calls().length - inOneRun
  // What was asked again was under way at a kill: as many calls as were begun and never answered.
  const answeredCalls = new Set(answers.map(({ call }) => call))
  const lost = calls.filter(({ call }) => !answeredCalls.has(call))
  tell(`seed ${SEED}: ${inOneRun} calls in one run; ${made} over ${KILLS} kills, ${lost.length} of them lost in flight`)
  expect(answers.length).toBe(inOneRun)
  expect(made).toBeLessThanOrEqual(answers.length + lost.length)
  expect(made).toBeGreaterThanOrEqual(answers.length)
  expect(last.said).toMatch(/holds \d+ answers?: they are not asked for again/)
  const told = /(\d+) calls? of an earlier run had no answer yet/.exec(last.said)
  expect(Number(told?.[1] ?? 0)).toBe(unanswered.length)

  const again = understudy.calls().length
  expect(labelsOf((await judge(out)).printed)).toEqual(labelsOf(whole.printed))
  expect(understudy.calls().length).toBe(again)
})
