import { setImmediate as turn } from 'node:timers/promises'
import type { Settings } from '../../../config/schema.ts'
import { memoryService } from '../../app/commands/judging/memory-service.ts'
import { filePartsOf } from '../../app/composition/make-protocols.ts'
import { withSpares } from '../../app/composition/overload.ts'
import { type Drawing, table } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { inOneStep } from '../../contracts/facts/overload.ts'
import { addUsage, noUsage, verdict } from '../../contracts/facts/verdict.ts'
import type { Outbox } from '../../contracts/ports/cases.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { type FileMessage, faultIn } from '../../data-files/file-message.ts'
import { type Format, fileMessages } from '../../data-files/formats.ts'
import type { Preset } from '../../protocols/preset.ts'
import { rumorSettings } from '../../protocols/rumor/settings.ts'
import { memoryTopics } from '../../store/memory-topics.ts'
import { understudyModel } from './model.ts'
import { round } from './percentiles.ts'

/** What a rumor verdict takes, mean over all revisions of all threads. */
interface Cost {
  readonly calls: number
  readonly tokens: number
  readonly usd: number
}

interface Savings {
  readonly none: Cost
  readonly all: Cost
  /** Each saving by itself, and every saving but it. */
  readonly savings: readonly { readonly name: string; readonly alone: Cost; readonly without: Cost }[]
}

/** With every saving off each verdict takes what it takes in the paper. */
export interface SavingsReport extends Savings {
  readonly threads: number
  readonly verdicts: number
  /** The switches that act while more is due than can be judged in time, all the other savings being on. */
  readonly underPressure: Savings
}

/** Changes to the settings: the rumor protocol's own, whether answers are remembered, and whether every case is overloaded. */
interface Way {
  readonly rumor: Readonly<Record<string, unknown>>
  readonly memo?: boolean
  readonly overloaded?: boolean
}

interface Saving {
  readonly name: string
  readonly on: Way
  readonly off: Way
}

const TOPICS = { posts: 'posts', comments: 'comments', counterspeech: 'counterspeech' } as const

/** The names of settings that act under pressure alone. */
const UNDER_PRESSURE = /^overloaded/

/**
 * What the rumor protocol's savings are worth: the file's threads are judged with all their revisions, once for each saving
 * switched on by itself and once with all but it, by the understudy, in this process. Savings are what the preset `paper`
 * switches off, and the memo; each is on with the value that it has in the settings. Those that act under pressure are
 * measured under it, beside all others.
 */
export async function savingsBench(
  settings: Settings,
  file: string,
  format: Format,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<SavingsReport> {
  const messages: FileMessage[] = []
  for await (const message of fileMessages(file, format, (bad) => say(faultIn(file, bad))))
    if (message.type === 'post' || message.type === 'comment') messages.push(message)
  const threads = messages.filter(({ type }) => type === 'post').length
  if (threads === 0) throw new OperatorError(`${file} holds no posts.`)

  const every = savingsOf(settings)
  let [runs, verdicts] = [0, 0]
  const cost = async (way: Way) => {
    if (signal.aborted) throw new OperatorError('Stopped before the end.')
    say(`judging ${threads} threads (${++runs} of ${4 + 2 * every.length}) …`)
    const spent = await judged(settings, messages, way)
    verdicts = spent.verdicts
    return spent.cost
  }
  /** What each of these saves, the `rest` being as it is. */
  const worth = async (some: readonly Saving[], rest: Way): Promise<Savings> => {
    const all = merged([rest, ...some.map(({ on }) => on)])
    const none = merged([rest, ...some.map(({ off }) => off)])
    const [off, on] = [await cost(none), await cost(all)]
    const savings: Savings['savings'][number][] = []
    for (const { name, on: only, off: without } of some)
      savings.push({ name, alone: await cost(merged([none, only])), without: await cost(merged([all, without])) })
    return { none: off, all: on, savings }
  }
  const pressing = every.filter(({ name }) => UNDER_PRESSURE.test(name))
  const ordinary = every.filter(({ name }) => !UNDER_PRESSURE.test(name))
  const report = await worth(ordinary, merged(pressing.map(({ off }) => off)))
  const underPressure = await worth(pressing, { ...merged(ordinary.map(({ on }) => on)), overloaded: true })
  return { threads, verdicts, ...report, underPressure }
}

/** The report as a table. */
export function savingsTable({ underPressure, ...report }: SavingsReport): Drawing {
  const cells = ({ calls, tokens, usd }: Cost) => [calls.toFixed(2), tokens.toFixed(0), usd.toFixed(6)]
  const head = ['saving', 'alone: calls', 'tokens', 'USD', 'all but it: calls', 'tokens', 'USD']
  const rows = (label: string, { none, all, savings }: Savings) => [
    [label, ...cells(none), ...cells(all)],
    ...savings.map(({ name, alone, without }) => [name, ...cells(alone), ...cells(without)]),
  ]
  return table(head, [...rows('(none; all)', report), ...rows('under pressure (none; all)', underPressure)])
}

/** What the preset `paper` sets that is no switch. */
const NUMBERS = new Set(['temperature', 'answerTokens'])

/** Every switch that the preset `paper` changes, on as it is set and off as in the paper; and the memo. */
function savingsOf(settings: Settings): Saving[] {
  const { settings: given } = filePartsOf({ name: 'rumor' }, withSpares(settings).rumor ?? { enabled: false })
  const under = (preset: Preset) => new Map<string, unknown>(Object.entries(rumorSettings.parse({ ...given, preset })))
  const [on, off] = [under('none'), under('paper')]
  const departures = rumorSettings.setByPaper
    .filter((name) => !NUMBERS.has(name) && on.get(name) !== off.get(name))
    .map((name) => [name, off.get(name)] as const)
  return [
    ...departures.map(([name, value]) => ({
      name: typeof on.get(name) === 'boolean' ? name : `${name} ${on.get(name)}`,
      on: { rumor: { [name]: on.get(name) } },
      off: { rumor: { [name]: value } },
    })),
    { name: 'memo', on: { rumor: {}, memo: true }, off: { rumor: {}, memo: false } },
  ]
}

function merged(ways: readonly Way[]): Way {
  return {
    rumor: Object.assign({}, ...ways.map(({ rumor }) => rumor)),
    memo: ways.findLast(({ memo }) => memo !== undefined)?.memo ?? false,
    overloaded: ways.some(({ overloaded }) => overloaded),
  }
}

/**
 * Judges the messages as a stream: at each moment at which one comes, or a checkpoint's age is reached, everything that is
 * due is judged to its end, so that each revision sees what it would have seen live.
 */
async function judged(settings: Settings, messages: readonly FileMessage[], way: Way) {
  const troubles: unknown[] = []
  const report: Report = (name, event) => {
    if (name === 'error' && 'error' in event) troubles.push(event.error)
  }
  const changed: Settings = {
    ...settings,
    memo: { ...settings.memo, enabled: way.memo ?? false },
    cases: {
      ...settings.cases,
      overload: inOneStep(settings.cases.overload, way.overloaded ? 0 : null),
      overloadedAtDue: undefined,
    },
    protocols: { rumor: { ...settings.protocols.rumor, enabled: true, preset: 'none', ...way.rumor } },
  }
  const topics = memoryTopics()
  let streamNow = 0
  const service = await memoryService(changed, {
    protocol: 'rumor',
    secret: 'bench',
    topics: TOPICS,
    reader: topics.reader,
    report,
    retry: { attempts: 1, backoffMs: 0 },
    model: understudyModel(),
    loadImage: async () => '',
    // The stream's clock stands where the replay stands.
    marks: {
      read: async () => new Map([['bench', { newest: streamNow, second: streamNow, endSince: null, seenAt: 0 }]]),
    },
  })
  if (service === null) throw new Error('the protocol rumor is switched off')
  const { opener, cases, outbox } = service
  const spent = tally(outbox)
  const judgeDue = async () => {
    while ((await opener.openDue()) > 0) {
      while ((await cases.countOpen()) > 0) await turn()
      // A revision waits until the one before it has left.
      await spent.take()
    }
  }
  try {
    for (const { at, message } of momentsOf(messages, changed)) {
      streamNow = at
      await judgeDue()
      if (message === undefined) continue
      const { type, key, value } = message
      const topic = type === 'post' ? TOPICS.posts : TOPICS.comments
      await topics.send(topic, [{ key, value: Buffer.from(JSON.stringify(value)) }])
      await judgeDue()
    }
    if (troubles.length > 0)
      throw new OperatorError(`The replay met ${troubles.length} troubles; first: ${troubles[0]}`)
    return spent.cost()
  } finally {
    await service.close()
  }
}

/** Every message at its time, and every age of a post at which it is judged, in order. */
function momentsOf(messages: readonly FileMessage[], { checkpoints }: Settings) {
  const moments = messages.flatMap((message): { at: number; message?: FileMessage }[] => {
    const at = message.createdAt ?? 0
    if (message.type !== 'post') return [{ at, message }]
    return [{ at, message }, ...[...checkpoints.ages, checkpoints.finalAge].map((age) => ({ at: at + age }))]
  })
  return moments.sort((a, b) => a.at - b.at)
}

/** Takes verdicts out of the outbox, and adds up their bills. */
function tally(outbox: Outbox) {
  let [verdicts, usage] = [0, noUsage()]
  return {
    async take(): Promise<void> {
      const entries = await outbox.next('bench', 1_000, 0)
      for (const entry of entries) {
        if (entry.kind !== 'verdict') continue
        usage = addUsage(usage, verdict.parse(JSON.parse(entry.verdict)).usage)
        verdicts++
      }
      await outbox.done(entries)
    },
    cost(): { verdicts: number; cost: Cost } {
      const { calls, promptTokens, completionTokens, costUsd } = usage
      const tokens = promptTokens + completionTokens
      const cost = { calls: round(calls / verdicts), tokens: round(tokens / verdicts), usd: costUsd / verdicts }
      return { verdicts, cost }
    },
  }
}
