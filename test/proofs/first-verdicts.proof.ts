import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Comment, Snapshot } from '../../src/contracts/facts/thread.ts'
import { UNVERIFIED } from '../../src/contracts/facts/verdict-fields.ts'
import { dueAt, firstDue } from '../../src/judging/threads/checkpoints.ts'
import { isDecided } from '../../src/lab/evaluation/decided.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import { drive, plainFence, plainRank } from '../protocols/drive.ts'
import { tell } from '../support/pipeline.ts'

// How old a thread is when its first verdict comes, and its first that decides, and what that costs, by the ages at which threads
// are judged: RumourEval's threads by their own times, every revision from what the one before left. Scores are people's stances,
// the debaters say what their side says. Prints a table; docs/cost.md has the row of the default.

const DATA = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const AGES: readonly (readonly [string, readonly number[]])[] = [
  ['15m, 1h, 6h', [15 * MINUTE, HOUR, 6 * HOUR]],
  ['5m, 1h, 6h', [5 * MINUTE, HOUR, 6 * HOUR]],
  ['2m, 1h, 6h', [2 * MINUTE, HOUR, 6 * HOUR]],
  ['1m, 1h, 6h', [MINUTE, HOUR, 6 * HOUR]],
  ['2m, 15m, 1h, 6h', [2 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR]],
]

const thread = z.object({
  id: z.string(),
  created_at: z.number(),
  claim: z.string(),
  comments: z.array(
    z.object({
      id: z.string(),
      parent: z.string().nullish(),
      t: z.number(),
      text: z.string(),
      stance: z.enum(['support', 'deny', 'query', 'comment']),
    }),
  ),
})
type Thread = z.infer<typeof thread>

const SCORE = { support: 0.8, deny: -0.8, query: 0, comment: 0 } as const

const { checkpoints, protocols } = loadSettings({})
const { enabled: _, ...shipped } = protocols.rumor as { enabled: boolean }
const protocol = rumor.make({
  settings: shipped,
  prompts: promptsOf('rumor'),
  fence: plainFence,
  samplingRank: plainRank,
  files: () => new Map<string, string>(),
})

/** The times at which a thread is due, ascending: its ages, and the comments that bring it to a count. */
function dueTimes(posted: number, comments: readonly Comment[], ages: readonly number[]): number[] {
  const settings = { ...checkpoints, ages }
  const times = new Set<number>()
  for (
    let next: number | null = firstDue(posted, settings);
    next !== null;
    next = dueAt(posted, next, settings).nextDue
  )
    times.add(next)
  const last = posted + checkpoints.finalAge
  for (const count of checkpoints.counts) {
    const at = comments[count - 1]?.createdAt
    if (at !== undefined && at < last) times.add(at)
  }
  return [...times].sort((a, b) => a - b)
}

function judged({ id, created_at, claim, comments: given }: Thread, ages: readonly number[]) {
  const posted = created_at * 1000
  const stances = new Map(given.map((one) => [one.id, one.stance]))
  const comments = given
    .map((one): Comment => {
      const parent = one.parent ? { parentId: one.parent } : {}
      return { id: one.id, text: one.text, createdAt: posted + one.t * 1000, author: one.id, ...parent }
    })
    .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  let [carry, calls, revisions, seen]: [unknown, number, number, number] = [null, 0, 0, -1]
  const times = dueTimes(posted, comments, ages)
  /** When a verdict with this kind of label came first, in minutes after the post. */
  const came = new Map<'any' | 'decided' | 'unverified', number>()
  for (const now of times) {
    const come = comments.filter(({ createdAt }) => createdAt <= now)
    // Without news the service opens no case, except on the final snapshot.
    if (come.length === seen && now !== times.at(-1)) continue
    seen = come.length
    const subject: Snapshot = { post: { id, text: claim, createdAt: posted }, comments: come, leftOut: 0 }
    const { asked, conclusion } = drive(
      protocol.script(subject, carry, { overloaded: false, final: now === times.at(-1) }),
      ({ ask }) => {
        if (ask.stage === 'subjectivity') return { reason: 'r', answer: 'No' }
        if (ask.stage !== 'stance') {
          const isDenied = ask.label === 'oppose' && come.some(({ id: comment }) => stances.get(comment) === 'deny')
          return { reasoning: 'r', answer: isDenied ? 'Fake' : 'Real' }
        }
        const about = ask.about?.slice(0, ask.batch?.count) ?? []
        const scored = about.map((one, at) => ({
          comment: at + 1,
          reason: 'r',
          score: SCORE[stances.get(one) ?? 'comment'],
        }))
        return { scores: scored }
      },
    )
    carry = conclusion.carry
    const { label } = conclusion.ruling
    const kinds = ['any', isDecided(label) ? 'decided' : label === UNVERIFIED ? 'unverified' : 'any'] as const
    for (const kind of kinds) if (!came.has(kind)) came.set(kind, (now - posted) / MINUTE)
    calls += asked.length
    revisions++
  }
  return {
    first: came.get('any') ?? 0,
    decided: came.get('decided'),
    unverified: came.get('unverified'),
    calls,
    revisions,
  }
}

test.skipIf(!existsSync(DATA))('what the ages of the checkpoints cost, over RumourEval’s threads', () => {
  const threads = readFileSync(DATA, 'utf8')
    .trim()
    .split('\n')
    .map((line) => thread.parse(JSON.parse(line)))
  const rows = AGES.map(([ages, given]) => {
    const all = threads.map((one) => judged(one, given))
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0)
    const first = all.map((one) => one.first).sort((a, b) => a - b)
    const times = (of: 'decided' | 'unverified') => all.map((one) => one[of] ?? Infinity).sort((a, b) => a - b)
    /** Threads that never come to it come last. */
    const clock = (of: readonly number[]) => {
      const [median = Infinity, ever] = [of[Math.floor(of.length / 2)], of.filter(Number.isFinite)]
      return `${median === Infinity ? 'never' : median.toFixed(1)} (${ever.length} of ${of.length} threads come to it)`
    }
    return {
      ages,
      'first verdict, median (min)': first[Math.floor(first.length / 2)],
      'first decided, median (min)': clock(times('decided')),
      'first unverified, median (min)': clock(times('unverified')),
      'at the first age': `${Math.round((100 * all.filter((one) => one.first === (given[0] ?? 0) / MINUTE).length) / all.length)} %`,
      'verdicts a thread': (sum(({ revisions }) => revisions) / all.length).toFixed(2),
      'calls a thread': (sum(({ calls }) => calls) / all.length).toFixed(2),
      calls: sum(({ calls }) => calls),
    }
  })
  const [before] = rows
  for (const row of rows) {
    const more = ((100 * row.calls) / (before?.calls ?? row.calls) - 100).toFixed(1)
    const told = Object.entries(row).map(([name, value]) => `${name}: ${value}`)
    tell([...told, `${more} % more calls than ${before?.ages}`].join('; '))
  }
  // One age more costs more; what the settings ship is in the table. To be judged sooner does not: without sides nobody is asked.
  expect(rows[2]?.calls).toBeLessThan(rows[4]?.calls ?? 0)
  expect(AGES.map(([, given]) => given)).toContainEqual(checkpoints.ages)
})
