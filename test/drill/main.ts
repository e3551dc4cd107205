import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { PROJECT } from '../../config/load.ts'
import { table } from '../../src/cli/terminal.ts'
import { DRILLS, type Drill } from './drills.ts'
import { BEFORE_S, drawDrill } from './pictures.ts'
import { expectedOf, type Outcome, rehearse } from './rehearse.ts'
import { minutesOf, sharesOf } from './shares.ts'
import { type Closing, startWorld } from './world.ts'

const HELP = `Usage: npm run drill -- [options]

Breaks a running Gavel on real servers (Apache Kafka, Redis, Prometheus, Alertmanager), one fault after the other, and
says who was told of it and when. Ends with 1 if a drill went otherwise than its table says (docs/drills.md).

Options:
  --only <a,b>  these drills alone: ${DRILLS.map(({ name }) => name).join(', ')}
  --worlds <n>  in this many worlds side by side, each with servers and replicas of its own (default: 1)
  --pictures <folder>  draws the dashboards there over each drill, in a folder of its name
  --logs <folder>  writes what each replica logged in each drill there, as DRILL-REPLICA.log
  --json        one JSON object a drill, with the commit under test
  -h, --help    display help
`

/** A new world is left alone for this long before its first fault, in ms. */
const QUIET_FIRST_MS = 60_000

/** What came of a drill; or why there is nothing to tell of it, and whether that is all right. */
type Row =
  | (Outcome & { readonly commit: string })
  | {
      readonly drill: string
      readonly expected: string
      readonly commit: string
      readonly notRun: string
      readonly ok: boolean
    }

const say = (line: string) => void process.stderr.write(`${line}\n`)

function usage(why: string): never {
  process.stderr.write(`${why}\n${HELP}`)
  process.exit(2)
}

/** The commit that is tried, with a mark if files differ from it. */
function commitUnderTest(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: PROJECT, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--untracked-files=no') !== ''
  return `${git('rev-parse', '--short=12', 'HEAD')}${changed ? '-changed' : ''}`
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    worlds: { type: 'string', default: '1' },
    pictures: { type: 'string' },
    logs: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const names = values.only?.split(',') ?? DRILLS.map(({ name }) => name)
const unknown = names.filter((name) => DRILLS.every((drill) => drill.name !== name))
if (unknown.length > 0) usage(`There is no drill ${unknown.join(', ')}.`)
const worlds = Number(values.worlds)
if (!Number.isInteger(worlds) || worlds < 1) usage('--worlds must be a whole number from 1 on.')

const commit = commitUnderTest()
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(130)
    say('stopping; once more ends at once')
    stop.abort(new Error('stopped'))
  })

const rows: Row[] = []
function note(row: Row): void {
  rows.push(row)
  if (values.json) process.stdout.write(`${JSON.stringify(row)}\n`)
}

function notRun(drill: Drill, why: string, ok: boolean): void {
  say(`${drill.name}: NOT RUN, ${why}`)
  note({ drill: drill.name, expected: expectedOf(drill), commit, notRun: why, ok })
}

function writeLogs(folder: string, drill: string, logs: readonly (readonly string[])[]): void {
  mkdirSync(folder, { recursive: true })
  for (const [replica, lines] of logs.entries())
    writeFileSync(join(folder, `${drill}-${replica}.log`), lines.map((line) => `${line}\n`).join(''))
}

/** Worlds start one after the other: to start one takes all of a small machine. */
let started: Promise<unknown> = Promise.resolve()

/** Runs these drills one after the other in a world of their own, which ends with them. What fails there, fails there alone. */
async function inOneWorld(drills: readonly Drill[], number: number): Promise<void> {
  const closing: Closing = []
  const left = [...drills]
  let now = `world ${number}`
  const tell = (line: string) => say(`${now}: ${line}`)
  let why = 'stopped'
  try {
    const starting = started.then(() => startWorld(tell, closing, stop.signal))
    started = starting.catch(() => undefined)
    const { world, heard, prometheusUrl, logs } = await starting
    tell(`two replicas run; a minute of quiet, then ${drills.map(({ name }) => name).join(', ')}`)
    await sleep(QUIET_FIRST_MS, undefined, { signal: stop.signal })
    for (const drill of drills) {
      now = drill.name
      tell(drill.says)
      const from = Date.now() / 1000 - BEFORE_S
      const outcome = await rehearse(drill, world, heard, stop.signal)
      left.shift()
      tell(JSON.stringify(outcome))
      note({ ...outcome, commit })
      if (values.logs !== undefined) writeLogs(values.logs, drill.name, logs(from * 1000 + BEFORE_S * 1000))
      if (values.pictures === undefined) continue
      const range = { from, to: Date.now() / 1000 }
      await drawDrill(prometheusUrl, range, join(values.pictures, drill.name)).then(
        (files) => files.forEach(tell),
        (error: unknown) => tell(`no pictures: ${error}`),
      )
    }
  } catch (error) {
    if (!stop.signal.aborted) why = `its world failed in ${now}: ${error instanceof Error ? error.message : error}`
  } finally {
    for (const close of closing.reverse()) await close().catch((error: unknown) => tell(String(error)))
  }
  for (const drill of left) notRun(drill, why, false)
}

const playable = DRILLS.filter(({ name }) => names.includes(name)).filter((drill) => {
  const { needs } = drill
  if (needs === undefined || existsSync(needs.file)) return true
  notRun(drill, `it needs ${needs.file}, of Debian's package ${needs.package}`, true)
  return false
})
const shares = sharesOf(playable, worlds)
for (const [at, share] of shares.entries())
  say(`world ${at + 1}: about ${minutesOf(share)} minutes: ${share.map(({ name }) => name).join(', ')}`)
await Promise.all(shares.map((share, at) => inOneWorld(share, at + 1)))

if (!values.json) {
  const drawn: string[][] = []
  const seconds = (s: number | null) => (s === null ? 'never' : `${s} s`)
  for (const row of DRILLS.flatMap(({ name }) => rows.filter(({ drill }) => drill === name))) {
    if ('notRun' in row) {
      drawn.push([row.drill, row.expected, '', '', '', '', `NOT RUN: ${row.notRun}`])
      continue
    }
    const silent = row.expected === 'silence'
    drawn.push([
      row.drill,
      row.expected,
      silent ? '' : seconds(row.toldAfterS),
      String(row.notifications),
      row.alerts.join('\n'),
      silent ? '' : seconds(row.resolvedAfterS),
      row.ok ? 'as it should' : 'NOT as it should',
    ])
  }
  const head = ['drill', 'expected', 'told after', 'notifications', 'alerts', 'resolved after', '']
  process.stdout.write(`${table(head, drawn)}\ncommit ${commit}\n`)
}
// What a stopped drill has left behind in this process ends with it.
process.exit(stop.signal.aborted ? 130 : rows.every(({ ok }) => ok) ? 0 : 1)
