import type { Settings } from '../../config/schema.ts'
import { comments } from '../../consumers/comments.ts'
import { intake } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { memoryQueues } from '../adapters/memory/queues.ts'
import { memoryStores } from '../adapters/memory/stores.ts'
import { openAiModel } from '../adapters/openai/model.ts'
import { farewellOf, gatewaySettings, judgeSettings, openerSettings, orphanLetter, threadRules } from '../assembly.ts'
import { OperatorError } from '../domain/errors.ts'
import { fences } from '../domain/fence.ts'
import { deadLetter } from '../domain/messages.ts'
import { verdict } from '../domain/verdict.ts'
import { judge } from '../engine/judge.ts'
import { opener } from '../engine/open.ts'
import { type BadLine, type Format, fileMessages } from '../evaluation/formats.ts'
import { gateway } from '../gateway/gateway.ts'
import type { Outbox, OutboxEntry } from '../ports/cases.ts'
import type { Model } from '../ports/model.ts'
import type { Report } from '../ports/report.ts'
import type { Batch, Incoming, TopicReader } from '../ports/topic.ts'
import { makeProtocols } from '../protocols/make.ts'
import { startUnderstudy } from '../stack/understudy/server.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'
import { line } from './verdicts.ts'

export interface Judged {
  readonly verdicts: number
  readonly undecided: number
  readonly refused: number
}

/** Messages handled at once. */
const BATCH = 500
const POSTS = 'posts'
const COMMENTS = 'comments'

/**
 * `gavel judge`: the whole pipeline over a file, in this process, on the memory twins of Kafka and Redis: every subject's
 * final snapshot is judged. Without a model in the settings the understudy answers, and it is said.
 */
export async function judgeFile(
  settings: Settings,
  file: string,
  options: { protocol: string; format: Format; transcript: boolean; json: boolean },
  io: { terminal: Terminal; signal: AbortSignal },
): Promise<Judged> {
  const { terminal } = io
  const complain: Report = (name, event) => {
    if (name === 'trouble:met' && 'error' in event)
      terminal.say(printable(`${event.where}: ${String(event.error)}`, 300))
  }
  const understudy = settings.openai.apiKey === '' ? await startUnderstudy() : undefined
  if (understudy !== undefined) terminal.say(`No model is set (OPENAI_BASE_URL, OPENAI_API_KEY): ${understudy.what}.`)
  const model = openAiModel({
    ...settings.openai,
    ...(understudy && { baseUrl: understudy.settings.OPENAI_BASE_URL, apiKey: understudy.settings.OPENAI_API_KEY }),
  })
  try {
    return await judgeWith(model, settings, file, options, io, complain)
  } finally {
    await understudy?.close()
  }
}

async function judgeWith(
  model: Model,
  settings: Settings,
  file: string,
  options: { protocol: string; format: Format; transcript: boolean; json: boolean },
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
  report: Report,
): Promise<Judged> {
  const clock = Date.now
  const protocols = makeProtocols(
    settings.protocols,
    fences(settings.fences.key || 'one run', settings.fences.maxChars),
  ).filter(({ name }) => name === options.protocol)
  if (protocols.length === 0)
    throw new OperatorError(
      `No protocol is called ${options.protocol}, or the settings switch it off. See "protocols" in config/gavel.yaml.`,
    )
  const { threads, cases, outbox, marks } = memoryStores(clock)
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const stages = protocols.flatMap(({ name, stages: own }) => own.map((stage) => ({ protocol: name, stage })))
  const queues = memoryQueues({ stages, attempts, backoffMs: backoff, clock, report })
  const calls = gateway({ model, settings: gatewaySettings(settings), clock, report })
  const byName = new Map(protocols.map((protocol) => [protocol.name, protocol]))
  queues.work(judge({ protocols: byName, cases, gateway: calls, clock, report, settings: judgeSettings(settings) }))

  // The file goes in as two topics would, and every due time has come when it has been read.
  const rules = threadRules(settings)
  const feed = feeding()
  const taking = intake({
    reader: feed.reader,
    intakes: new Map([
      [
        POSTS,
        posts({ threads, rules, checkpoints: settings.checkpoints, clock, farewell: farewellOf(protocols, clock) }),
      ],
      [COMMENTS, comments({ threads, rules, clock })],
    ] as const),
    outbox,
    marks,
    limits: { maxBytes: settings.intake.maxMessageBytes, maxAheadMs: settings.intake.maxAhead },
    clock,
    report,
  })
  await taking.start()
  const skipped: BadLine[] = []
  await feed.all(fileMessages(file, options.format, (bad) => skipped.push(bad)))
  for (const { line: number, why } of skipped) terminal.say(`${file}:${number} ${why}; left out`)

  const dueCases = opener({
    protocols,
    threads,
    marks,
    cases,
    queues,
    clock,
    report,
    settings: { ...openerSettings(settings, () => 0), clock: { idleAfter: 0, atEnd: 'finish' } },
    orphanLetter: orphanLetter(report, clock),
  })
  try {
    return await collect(
      dueCases.openDue,
      outbox,
      skipped.length,
      { ...options, file },
      { terminal, signal },
      async () => (await cases.countOpen()) + (await threads.countDue(Number.POSITIVE_INFINITY)),
    )
  } finally {
    await queues.close(0)
  }
}

/** Prints what comes out until nothing is open or due any more. */
async function collect(
  openDue: () => Promise<number>,
  outbox: Outbox,
  skipped: number,
  options: { file: string; transcript: boolean; json: boolean },
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
  left: () => Promise<number>,
): Promise<Judged> {
  const counts = { verdicts: 0, undecided: 0, refused: skipped }
  const tell = (entry: OutboxEntry) => {
    if (entry.kind === 'dead-letter') {
      const { offset, reason, detail } = deadLetter.parse(JSON.parse(entry.letter))
      counts.refused++
      terminal.say(`${options.file}:${offset} ${reason}: ${printable(detail, 200)}; left out`)
      return
    }
    const decided = verdict.parse(JSON.parse(entry.verdict))
    counts.verdicts++
    if (decided.decidedBy === 'none') counts.undecided++
    if (options.json)
      terminal.out(
        options.transcript
          ? printableJson(JSON.stringify({ verdict: decided, transcript: JSON.parse(entry.transcript) as unknown }))
          : printableJson(entry.verdict),
      )
    else {
      terminal.out(line(decided))
      if (options.transcript) terminal.out(printableJson(JSON.stringify(JSON.parse(entry.transcript), null, 2)))
    }
  }
  while (!signal.aborted) {
    await openDue()
    const entries = await outbox.next('judge', 100, 20)
    for (const entry of entries) tell(entry)
    await outbox.done(entries)
    terminal.progress(`${counts.verdicts} judged`)
    if (entries.length === 0 && (await left()) + (await outbox.size()) === 0) break
  }
  return counts
}

/** A reader whose batches come from a file. */
function feeding() {
  let handle: Parameters<TopicReader['start']>[0] = async () => {}
  const send = async (topic: typeof POSTS | typeof COMMENTS, messages: Incoming[]) => {
    if (messages.length === 0) return
    const batch: Batch = { topic, partition: 0, messages, atEnd: true }
    await handle(batch, async () => {})
  }
  const reader: TopicReader = {
    async start(given) {
      handle = given
    },
    positions: async () => [],
    setPaused() {},
    downSince: null,
    async close() {},
  }
  return {
    reader,
    async all(
      messages: AsyncIterable<{ type: 'post' | 'comment'; key: string; line: number; value: unknown }>,
    ): Promise<void> {
      let pending: Incoming[] = []
      const flush = async () => {
        const now = pending
        pending = []
        await send(
          POSTS,
          now.filter(({ topic }) => topic === POSTS),
        )
        await send(
          COMMENTS,
          now.filter(({ topic }) => topic === COMMENTS),
        )
      }
      for await (const { type, key, line, value } of messages) {
        const topic = type === 'post' ? POSTS : COMMENTS
        const offset = String(line)
        pending.push({
          topic,
          partition: 0,
          offset,
          key,
          value: Buffer.from(JSON.stringify(value)),
          headers: {},
          timestamp: 0,
        })
        if (pending.length >= BATCH) await flush()
      }
      await flush()
    },
  }
}
