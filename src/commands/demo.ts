import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { startApp } from '../app.ts'
import { topicsOf } from '../assembly.ts'
import { OperatorError } from '../domain/errors.ts'
import { type Verdict, verdict } from '../domain/verdict.ts'
import { fileMessages } from '../evaluation/formats.ts'
import type { Events, Listener } from '../ports/report.ts'
import { startStack } from '../stack/stack.ts'
import { produce } from './produce.ts'
import { readTopic } from './read-topic.ts'
import { printable, type Terminal, table } from './terminal.ts'
import { readingClient } from './verdicts.ts'

const EVENT = join(PROJECT, 'config', 'demo', 'event.jsonl')
/** Ninety minutes of event in about half a minute. */
const PACE = { kind: 'recorded', speed: 200, maxPauseMs: 400 } as const
/** The understudy's time for an answer: about that of a small hosted model. */
const LATENCY_MS = 150
const LONGEST_MS = 150_000

interface Tally {
  readonly published: Map<string, { latencySeconds: number }>
  readonly finals: Set<string>
  messages: number
}

/**
 * `gavel demo`: a breaking event, judged live. Brings what the machine lacks, replays the sample event through the real
 * service, shows each verdict as it leaves, and counts at the end from the topic what came out. Resolves to whether
 * nothing was lost and nothing came twice.
 */
export async function demo(
  environment: Readonly<Record<string, string | undefined>>,
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<boolean> {
  const { terminal, signal } = io
  const texts = new Map<string, { text: string; comments: number }>()
  for await (const { type, key, value } of fileMessages(EVENT, 'gavel', () => {})) {
    const known = texts.get(key) ?? { text: '', comments: 0 }
    texts.set(
      key,
      type === 'post' ? { ...known, text: String(value.text ?? '') } : { ...known, comments: known.comments + 1 },
    )
  }
  terminal.say('Bringing up what this machine lacks …')
  const stack = await startStack(environment, {
    kafka: 'memory',
    say: (line) => terminal.say(`  ${line}`),
    understudy: { latencyMs: LATENCY_MS },
  })
  const run = randomBytes(3).toString('hex')
  const settings = loadSettings({
    ...environment,
    ...stack.settings,
    GAVEL_CLOCK_AT_END: 'finish',
    GAVEL_HTTP_PORT: '0',
    GAVEL_LOG_LEVEL: environment.GAVEL_LOG_LEVEL ?? 'silent',
    GAVEL_KAFKA_TOPIC_PREFIX: `gavel-demo-${run}.`,
    GAVEL_KAFKA_GROUP: `gavel-demo-${run}`,
    GAVEL_REDIS_PREFIX: `gavel-demo-${run}`,
  })
  const tally: Tally = { published: new Map(), finals: new Set(), messages: 0 }
  try {
    const app = await startApp(settings, ['intake', 'judge', 'publish'], {
      listeners: [narrate(tally, texts, terminal)],
    })
    try {
      terminal.say(`  Service: metrics at http://127.0.0.1:${app.httpPort}/metrics until the demo ends`)
      terminal.say(`\nA fire at the harbor of Calvera: ${texts.size} posts, ninety minutes in half a minute.\n`)
      await produce(settings, EVENT, 'gavel', PACE, { terminal: quiet(terminal), signal })
      terminal.say('\nAll messages are sent; once the stream has been idle for 5 s the final snapshots fall due.\n')
      await until(() => tally.finals.size >= texts.size, signal)
    } finally {
      await app.stop()
    }
    const verdicts = await published(settings, { ...io, terminal: quiet(terminal) })
    return report(verdicts, texts, tally, stack.understudy !== undefined, terminal)
  } finally {
    await stack.close()
  }
}

/** Tells each verdict as it is published. */
function narrate(tally: Tally, texts: ReadonlyMap<string, { text: string }>, terminal: Terminal): Listener {
  const labels = new Map<string, string | null>()
  const tell = ({ verdict: one, latencySeconds }: Events['verdict:published']) => {
    tally.published.set(one.id, { latencySeconds })
    if (one.final) tally.finals.add(one.subjectId)
    const before = labels.get(one.subjectId)
    const turned = before !== undefined && before !== one.label ? ` (was ${before ?? 'without a label'})` : ''
    labels.set(one.subjectId, one.label)
    const text = printable(texts.get(one.subjectId)?.text ?? '', 52)
    terminal.say(
      `  r${one.revision}${one.final ? ' final' : ''}  ${one.label ?? 'no label'}${turned}, ${how(one)}: "${text}"`,
    )
  }
  return (name, event) => {
    if (name === 'verdict:published') tell(event as Events['verdict:published'])
    if (name === 'messages:settled') tally.messages += (event as Events['messages:settled']).count
    terminal.progress(`  ${tally.messages} messages in, ${tally.published.size} verdicts out`)
  }
}

/** What clients mutter on the way would only disturb the tale; what goes wrong is thrown. */
function quiet(terminal: Terminal): Terminal {
  return { ...terminal, say() {}, progress() {} }
}

async function until(done: () => boolean, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + LONGEST_MS
  while (!done() && !signal.aborted && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100))
  if (signal.aborted) throw new OperatorError('Stopped before the end.')
}

/** Every record of the verdicts topic, as any consumer would read it. */
async function published(
  settings: Parameters<typeof readingClient>[0],
  io: { terminal: Terminal; signal: AbortSignal },
) {
  const records: Verdict[] = []
  await readTopic(
    await readingClient(settings, io.terminal),
    topicsOf(settings).verdicts,
    { follow: false, signal: io.signal },
    ({ message }) => {
      records.push(verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
    },
  )
  return records
}

function report(
  records: readonly Verdict[],
  texts: ReadonlyMap<string, { text: string; comments: number }>,
  tally: Tally,
  understudy: boolean,
  terminal: Terminal,
): boolean {
  const bySubject = Map.groupBy(records, ({ subjectId }) => subjectId)
  const rows: string[][] = []
  const reasons: string[] = []
  let [lost, calls] = [0, 0]
  for (const [id, { text, comments }] of texts) {
    const revisions = [...new Map(bySubject.get(id)?.map((one) => [one.id, one])).values()].sort(
      (a, b) => a.revision - b.revision,
    )
    const last = revisions.at(-1)
    const number = String(rows.length + 1)
    if (last === undefined || !last.final) lost++
    if (last === undefined) {
      rows.push([number, printable(text, 44), 'LOST', '', '', '', ''])
      continue
    }
    for (const { usage } of revisions) calls += usage.calls
    const { support, oppose } = last.evidence
    rows.push([
      number,
      printable(text, 44),
      last.label ?? 'no label',
      how(last),
      turns(revisions),
      `${support.length} for, ${oppose.length} against, of ${comments}`,
      `${(tally.published.get(last.id)?.latencySeconds ?? 0).toFixed(2)} s`,
    ])
    reasons.push(`${number.padStart(3)}  ${printable(last.rationale, 300)}`)
  }
  const duplicates = records.length - new Set(records.map(({ id }) => id)).size
  terminal.out(table(['', 'post', 'label', 'how decided', 'revisions', 'comments used', 'latency'], rows))
  terminal.out(`\nWhy:\n${reasons.join('\n')}\n`)
  if (understudy)
    terminal.out(
      "The answers are the understudy's, from word lists. Set OPENAI_BASE_URL and OPENAI_API_KEY for a real model.",
    )
  terminal.out(
    `${tally.messages} messages in, ${records.length} verdicts out on ${texts.size} posts, ${calls} model calls; lost ${lost}, duplicates ${duplicates}`,
  )
  return lost === 0 && duplicates === 0
}

function how({ decidedBy, rounds, label }: Verdict): string {
  if (label === null) return 'not decided'
  const debated = rounds === 0 ? 'at once' : `after ${rounds} round${rounds === 1 ? '' : 's'}`
  if (decidedBy === 'consensus') return `debaters agreed ${debated}`
  return decidedBy === 'judge' ? `judge, ${debated === 'at once' ? 'without a debate' : debated}` : decidedBy
}

/** `non-rumor → rumor in 3`: how the label went over the revisions. */
function turns(revisions: readonly Verdict[]): string {
  const labels = revisions.map(({ label }) => label ?? 'none')
  const changes = labels.filter((label, at) => at === 0 || label !== labels[at - 1])
  return changes.length === 1 ? String(revisions.length) : `${revisions.length}: ${changes.join(' → ')}`
}
