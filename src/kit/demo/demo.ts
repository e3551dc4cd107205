import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { untilAnswered } from '../../app/commands/judging/asked-models.ts'
import { type WatchedEndpoint, watchedModel } from '../../app/commands/judging/watched-endpoint.ts'
import { localConsole } from '../../app/commands/local-console.ts'
import { produce } from '../../app/commands/produce.ts'
import { readingClient } from '../../app/commands/reading-client.ts'
import { how, outcome, scoresOf, wrapped } from '../../app/commands/verdict-cells.ts'
import { toneOf } from '../../app/commands/verdict-line.ts'
import { startApp } from '../../app/composition/service.ts'
import type { TableCell } from '../../cli/drawing.ts'
import { counted, printable, type Terminal, table } from '../../cli/terminal.ts'
import { BY_HAND } from '../../contracts/facts/by-hand.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { type Verdict, verdict } from '../../contracts/facts/verdict.ts'
import type { Events, Listener } from '../../contracts/ports/report.ts'
import { modelsOfEndpoints } from '../../models/openai/models-of-endpoints.ts'
import { logListener } from '../../operations/log.ts'
import { readTopic } from '../../stream/bounded-reader.ts'
import { namesModel } from '../stack/stack.ts'
import { startStackForCommand } from '../stack-for-command.ts'
import { DEMO, EVENT, type EventSubject, fillShelves, subjectsOf } from './event.ts'
import { readRecordedAnswers, recordedModel } from './recorded-answers.ts'
import { repeatsIn } from './repeats.ts'
import { shellLines } from './shell-lines.ts'

/** Answers to the event's questions, by their places. */
export const RECORDED = join(DEMO, 'answers.jsonl')
/** Under this key it was drawn which side opens a debate, and which label is offered first, when the answers were recorded. */
export const DEMO_KEY = 'a fire at the harbor of Calvera'
/** The demo shows an argument about hate as well, which by default nobody has. */
export const DEMO_DEBATES = { GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested' } as const
/** Ninety minutes of event in about half a minute. */
const PACE = { kind: 'recorded', speed: 200, maxPauseMs: 400 } as const
/** How long the understudy takes to answer: about as long as a small hosted model. */
const LATENCY_MS = 150
const LONGEST_MS = 150_000

interface Tally {
  readonly published: Map<string, { latencySeconds: number }>
  readonly finals: Set<string>
  messages: number
}

/**
 * A breaking event, judged live. Starts the servers that are missing, fills the library's shelves, replays the sample
 * event through the real service, shows each verdict as it is published, and finally reads the topic to count the
 * verdicts. Resolves to whether none was lost, and no id has two different ones; byte-identical repeats are legal. With `stay`
 * the service stays up after that, until it is stopped.
 */
export async function demo(
  environment: Readonly<Record<string, string | undefined>>,
  io: { terminal: Terminal; signal: AbortSignal; stay?: boolean },
): Promise<boolean> {
  const { terminal, stay = false } = io
  const gone = new AbortController()
  const signal = AbortSignal.any([io.signal, gone.signal])
  const endpoint = await answeringModel(environment, () => gone.abort(), io.signal)
  terminal.say('Starting local servers …')
  const stack = await startStackForCommand(environment, {
    kafka: 'memory',
    say: (line) => terminal.say(`  ${line}`),
    understudy: { latencyMs: LATENCY_MS },
  })
  io.signal.addEventListener('abort', () => terminal.say('\nStopping …'), { once: true })
  const folder = await mkdtemp(join(tmpdir(), 'gavel-demo-'))
  const own = {
    ...stack.settings,
    GAVEL_FENCES_KEY: environment.GAVEL_FENCES_KEY ?? DEMO_KEY,
    ...DEMO_DEBATES,
    ...namesOfItsOwn(folder),
  }
  const settings = loadSettings({
    ...environment,
    ...own,
    GAVEL_CLOCK_AT_END: 'finish',
    GAVEL_HTTP_PORT: '0',
    GAVEL_CONSOLE_PORT: environment.GAVEL_CONSOLE_PORT ?? '0',
    GAVEL_LOG_LEVEL: environment.GAVEL_LOG_LEVEL ?? 'silent',
  })
  const tally: Tally = { published: new Map(), finals: new Set(), messages: 0 }
  try {
    const subjects = await subjectsOf(settings)
    const expected = [...subjects.values()].flatMap(({ id, judgedBy }) => judgedBy.map((name) => pair(name, id)))
    await fillShelves(settings, io)
    const app = await startApp(settings, ['intake', 'judge', 'publish', 'record'], {
      listeners: [narrate(tally, subjects, terminal)],
      model: endpoint?.model ?? recordedModel(readRecordedAnswers(RECORDED), modelsOfEndpoints(settings), LATENCY_MS),
    })
    const pages = await consoleOf(settings, { app, isUnderstudy: stack.understudy !== undefined }, terminal).catch(
      async (error: unknown) => {
        await app.stop()
        throw error
      },
    )
    try {
      const lasts = stay ? 'until Ctrl-C' : 'until the demo ends; npm run demo -- --stay keeps it and the console up'
      terminal.say(`  Service: metrics at http://127.0.0.1:${app.httpPort}/metrics, ${lasts}`)
      terminal.say(
        `\nA fire at the harbor of Calvera: ${subjects.size} posts and replies, ninety minutes in half a minute.\n`,
      )
      await produce(settings, { file: EVENT, format: 'gavel' }, PACE, { terminal: quiet(terminal), signal })
      if (!signal.aborted)
        terminal.say('\nAll messages are sent; once the stream has been idle for 5 s the final snapshots fall due.\n')
      await until(() => expected.every((one) => tally.finals.has(one)), signal)
      const verdicts = await published(settings, { ...io, terminal: quiet(terminal) })
      const isWhole = report(verdicts, subjects, tally, stack.understudy !== undefined, terminal)
      terminal.out(NOW_YOURS)
      if (stay) {
        await sayHowToMeet({ ...own, GAVEL_HTTP_PORT: String(app.httpPort) }, folder, terminal)
        await aborted(signal)
      }
      return isWhole
    } catch (error) {
      throw endpoint?.dead() ?? error
    } finally {
      await pages.close()
      await app.stop()
    }
  } finally {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
    if (io.signal.aborted) terminal.say("Stopped; the demo's servers and files are removed.")
  }
}

/** Settings of topics, keys and files that nothing else uses. */
export function namesOfItsOwn(folder: string): Readonly<Record<string, string>> {
  const name = `gavel-demo-${randomBytes(3).toString('hex')}`
  return {
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    GAVEL_LIBRARY_PATH: folder,
    GAVEL_RECORD_PATH: join(folder, 'record', 'record.sqlite'),
  }
}

const NOW_YOURS = [
  '\nNow yours: write a line for each post, as {"id": "p1", "text": "…"}, into posts.jsonl (comments have a "postId"), and',
  '  npx gavel judge posts.jsonl\nPlain text will do, too: npx gavel judge notes.txt --text',
].join('\n')

/** Prints how other commands reach the demo's service. */
async function sayHowToMeet(own: Readonly<Record<string, string>>, folder: string, terminal: Terminal): Promise<void> {
  const file = join(folder, 'demo.env')
  await writeFile(file, shellLines(own), { mode: 0o600 })
  terminal.say(
    `\nService and console stay up until Ctrl-C. In another terminal:\n  set -a; . ${file}; set +a\n  npx gavel top\n  npx gavel show calvera-p4\n  npx gavel produce posts.jsonl && npx gavel verdicts --last 5`,
  )
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

/**
 * The model that the environment names, watched: nobody waits in a demo until somebody mends it. Throws an `OperatorError` if it
 * can't answer. Null if none is named.
 */
async function answeringModel(
  environment: Readonly<Record<string, string | undefined>>,
  givenUp: () => void,
  signal: AbortSignal,
): Promise<WatchedEndpoint | null> {
  if (!namesModel(environment)) return null
  const settings = loadSettings(environment)
  const endpoint = watchedModel(settings, givenUp)
  await untilAnswered(endpoint, settings.models.roles, signal)
  return endpoint
}

/** Serves the console over the demo's record, and prints the address first. */
async function consoleOf(
  settings: Settings,
  { app, isUnderstudy }: { app: { readonly httpPort: number }; isUnderstudy: boolean },
  terminal: Terminal,
) {
  const log = logListener('silent', Date.now)
  const pages = await localConsole(settings, {
    link: {
      person: userInfo().username,
      opensOn: '/stories',
      print: (address) => terminal.say(`\n  Watch it in a browser, sign in once by this link:\n  ${address}\n`),
      // What it shows is the demo's own: readers of its output may see it.
      isUnseen: true,
    },
    places: { replicas: [`http://127.0.0.1:${app.httpPort}`], prometheus: undefined },
    terminal: quiet(terminal),
    isUnderstudy,
    report: (name, event) => log(name, event),
  })
  pages.printLink()
  return pages
}

function pair(protocol: string, subjectId: string): string {
  return `${protocol} ${subjectId}`
}

/** Prints each verdict as it is published. */
function narrate(tally: Tally, subjects: ReadonlyMap<string, EventSubject>, terminal: Terminal): Listener {
  const before = new Map<string, string>()
  const tell = ({ verdict: one, latencySeconds }: Events['verdict:published']) => {
    tally.published.set(one.id, { latencySeconds })
    const of = pair(one.protocol, one.subjectId)
    if (one.final) tally.finals.add(of)
    const [said, was] = [outcome(one), before.get(of)]
    before.set(of, said)
    const turned = was !== undefined && was !== said ? ` (was ${was})` : ''
    const words = subjects.get(one.subjectId)?.words
    // A post that somebody sends to a demo that stays is none of the event's.
    const what = words === undefined ? printable(one.subjectId, 52) : `"${printable(words, 52)}"`
    terminal.say(
      `  ${one.protocol} r${one.revision}${one.final ? ' final' : ''}  ${said}${turned}, ${how(one)}: ${what}`,
    )
  }
  return (name, event) => {
    if (name === 'verdict:published') tell(event as Events['verdict:published'])
    if (name === 'messages:settled') tally.messages += (event as Events['messages:settled']).count
    terminal.progress(`  ${tally.messages} messages in, ${tally.published.size} verdicts out`)
  }
}

/** Hides what clients log; errors are still thrown. */
function quiet(terminal: Terminal): Terminal {
  return { ...terminal, say() {}, progress() {} }
}

async function until(done: () => boolean, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + LONGEST_MS
  while (!done() && !signal.aborted && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100))
  if (signal.aborted) throw new OperatorError('Stopped before the end.')
}

/** Every record of the verdicts topic, as any consumer would read it, with its text. */
async function published(
  settings: Parameters<typeof readingClient>[0],
  io: { terminal: Terminal; signal: AbortSignal },
) {
  const records: { readonly verdict: Verdict; readonly value: string }[] = []
  await readTopic(
    await readingClient(settings, io.terminal),
    topicsOf(settings).verdicts,
    { follow: false, signal: io.signal },
    ({ message }) => {
      const value = message.value?.toString('utf8') ?? 'null'
      records.push({ verdict: verdict.parse(JSON.parse(value)), value })
    },
  )
  return records
}

function report(
  records: Awaited<ReturnType<typeof published>>,
  subjects: ReadonlyMap<string, EventSubject>,
  tally: Tally,
  understudy: boolean,
  terminal: Terminal,
): boolean {
  const protocols = [...new Set([...subjects.values()].flatMap(({ judgedBy }) => judgedBy))]
  const byPair = Map.groupBy(
    records.map((record) => record.verdict),
    ({ protocol, subjectId }) => pair(protocol, subjectId),
  )
  const rows: TableCell[][] = []
  const reasons: string[] = []
  let [lost, calls] = [0, 0]
  for (const { id, words, judgedBy, comments } of subjects.values()) {
    const number = String(rows.length + 1)
    const cells = protocols.map((protocol): TableCell => {
      if (!judgedBy.includes(protocol)) return ''
      const revisions = [...new Map(byPair.get(pair(protocol, id))?.map((one) => [one.id, one])).values()].sort(
        (a, b) => a.revision - b.revision,
      )
      const last = revisions.at(-1)
      if (last === undefined || !last.final) lost++
      if (last === undefined) return { text: 'LOST', tone: 'bad' }
      const spent = revisions.reduce((sum, { usage }) => sum + usage.calls, 0)
      calls += spent
      reasons.push(`${number.padStart(3)}  ${protocol}: ${printable(last.rationale, 300)}`)
      const seconds = (tally.published.get(last.id)?.latencySeconds ?? 0).toFixed(2)
      const said = [
        turns(revisions),
        how(last),
        ...byHand(last),
        scoresOf(last),
        `${counted(spent, 'call')}, last ${seconds} s`,
      ]
      return { text: said.join('\n'), tone: toneOf(last) }
    })
    const answers = comments === 0 ? '' : `\n${counted(comments, 'comment')}`
    rows.push([number, `${wrapped(printable(words, 96), 36)}${answers}`, ...cells])
  }
  const repeats = repeatsIn(records.map(({ verdict: { id }, value }) => ({ id, value })))
  terminal.out(table(['', 'post', ...protocols], rows))
  terminal.out(`\nWhy:\n${reasons.join('\n')}\n`)
  if (understudy)
    terminal.out(
      `No language model answered. Where it says "${BY_HAND}", readers wrote the answers to this event's questions; all others are the understudy's, from word lists. Set OPENAI_BASE_URL and OPENAI_API_KEY for a real model.`,
    )
  terminal.out(
    `${tally.messages} messages in, ${repeats.verdicts} verdicts out on ${subjects.size} posts and replies, ${calls} model calls; lost ${lost}, conflicting ${repeats.conflicting}, identical repeats ${repeats.identical}`,
  )
  return lost === 0 && repeats.conflicting === 0
}

/** `non-rumor → rumor (r3)`: how the outcome changed over the revisions. */
function turns(revisions: readonly Verdict[]): string {
  const said = revisions.map(outcome)
  const changes = said.filter((one, at) => at === 0 || one !== said[at - 1])
  return revisions.length === 1 ? changes.join('') : `${changes.join(' → ')} (r${revisions.length})`
}

/** A line where those who decided, or some of them, were answered from the recordings. */
function byHand({ models }: Verdict): string[] {
  const answered = Object.entries(models).flatMap(([role, model]) => (role === 'library' ? [] : [model]))
  const recorded = answered.filter((model) => model === BY_HAND).length
  if (recorded === 0) return []
  return [recorded === answered.length ? BY_HAND : `in part ${BY_HAND}`]
}
