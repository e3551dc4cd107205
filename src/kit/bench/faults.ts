import { mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import { type Drawing, table } from '../../cli/terminal.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { post as postSchema } from '../../contracts/facts/thread.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../../contracts/facts/verdict.ts'
import type { FileMessage } from '../../data-files/file-message.ts'
import { router } from '../../judging/engine/routes.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { readTopic } from '../../stream/bounded-reader.ts'
import type { CallRecord } from '../understudy/call-log.ts'
import { FAULTS } from '../understudy/faults.ts'
import { startUnderstudy } from '../understudy/server.ts'
import { type Ledger, ledgerOf } from './ledger.ts'
import { past, replies, threads } from './load.ts'
import { round } from './percentiles.ts'
import { type ServiceRun, serve, sum } from './service.ts'

export interface FaultPlan {
  /** Share of the model's calls that go wrong, in every way that the understudy knows. */
  readonly failRate: number
  /** Posts, and as many replies: with every protocol on, four subjects each pair. */
  readonly subjects: number
  readonly commentsPerPost: number
  /** The understudy's time for an answer. */
  readonly latencyMs: number
}

/** What became of the subjects, and of every call. */
export interface FaultReport {
  /** Subjects by protocol: each must end in a final verdict. */
  readonly expected: number
  readonly verdicts: number
  /** Final verdicts with a label or a score. */
  readonly decided: number
  /** Final verdicts that say why there is none. */
  readonly undecided: number
  /** Those of them that would have been benign, had nothing been lost that a benign label needs. */
  readonly withheld: number
  /** Final verdicts that were decided although something failed on the way, which they name. */
  readonly degraded: number
  /** Final verdicts with neither a decision nor a reason. */
  readonly silent: number
  readonly lost: number
  readonly duplicates: number
  readonly calls: {
    readonly logged: number
    readonly journaled: number
    readonly failed: number
    readonly orphaned: number
    readonly invented: number
    readonly claimedTwice: number
    /** By the verdicts' own bills. */
    readonly billed: number
  }
  readonly tokens: {
    readonly logged: number
    readonly billed: number
  }
  readonly orphans: readonly Pick<CallRecord, 'seq' | 'stage' | 'status' | 'fault'>[]
  /** Jobs that were given to another because their worker sent no heartbeat: one such may have been done twice. */
  readonly stalled: number
  readonly breakerOpened: number
  readonly seconds: number
}

const CALL_TIMEOUT = '2s'

/**
 * The whole service before a model that misbehaves: all protocols, the understudy over HTTP with every fault that it knows.
 * At the end each subject must have its final verdict, once, and the verdicts' bill must be the model's own, call by call.
 */
export async function faultBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: FaultPlan,
  { say, signal }: { say(line: string | Drawing): void; signal: AbortSignal },
): Promise<FaultReport> {
  const started = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'gavel-faults-'))
  const logFile = join(folder, 'calls.jsonl')
  const { latencyMs, failRate } = plan
  const understudy = await startUnderstudy({ latencyMs, faults: { rate: failRate }, logFile })
  try {
    const own = {
      ...environment,
      ...understudy.settings,
      ...Object.fromEntries(PROTOCOLS.map(({ name }) => [`GAVEL_PROTOCOLS_${name.toUpperCase()}_ENABLED`, 'true'])),
    }
    const from = past()
    const load = [
      ...threads('post', plan.subjects, plan.commentsPerPost, from),
      ...replies('reply', plan.subjects, from),
    ]
    const expected = subjectsOf(load, loadSettings(own))
    say(
      `${expected.size} subjects of ${PROTOCOLS.length} protocols before a model that fails ${failRate * 100} % of its calls …`,
    )
    const served = await serve(
      own,
      {
        latencyMs: 'endpoint',
        changes: {
          GAVEL_CLOCK_AT_END: 'finish',
          GAVEL_CLOCK_IDLE_AFTER: '1s',
          GAVEL_MODELS_CALL_TIMEOUT: CALL_TIMEOUT,
        },
        preload: load,
        done: (ticks) => sum(ticks, ({ published }) => published.filter(({ final }) => final).length) >= expected.size,
      },
      signal,
    )
    const { verdicts, transcripts } = await publishedBy(served, signal)
    // Whatever is still open ends here, so that the log is complete.
    await understudy.close()
    const ledger = ledgerOf(readCallLog(logFile), transcripts)
    say(outcomesTable(ledger))
    for (const { seq, stage, status, fault } of ledger.orphans)
      say(`  orphan: call ${seq} (${stage}), ${status ?? 'open'}, fault ${fault ?? 'none'}`)
    return {
      ...endsOf(verdicts, expected),
      calls: {
        logged: ledger.logged,
        journaled: ledger.journaled,
        failed: ledger.failed,
        orphaned: ledger.orphans.length,
        invented: ledger.invented.length,
        claimedTwice: ledger.claimedTwice.length,
        billed: verdicts.reduce((total, { usage }) => total + usage.calls, 0),
      },
      tokens: {
        logged: ledger.tokens,
        billed: verdicts.reduce((total, { usage }) => total + usage.promptTokens + usage.completionTokens, 0),
      },
      orphans: ledger.orphans.map(({ seq, stage, status, fault }) => ({ seq, stage, status, fault })),
      stalled: sum(served.ticks, ({ stalled }) => stalled),
      breakerOpened: sum(served.ticks, ({ breaks }) => breaks),
      seconds: round((performance.now() - started) / 1000),
    }
  } finally {
    await understudy.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The calls of a log file, each as it stood last; those of embeddings are no questions to a model. */
function readCallLog(file: string): CallRecord[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const records = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as CallRecord)
  return [...new Map(records.map((record) => [record.seq, record])).values()].filter(
    ({ stage }) => stage !== 'embeddings',
  )
}

/** `PROTOCOL SUBJECT` of everything that must be judged, by the routes. */
function subjectsOf(load: readonly FileMessage[], settings: Settings): ReadonlySet<string> {
  const samplingRank = samplingRanks(settings.fences.key)
  const routes = router(
    makeProtocols(settings.protocols, fences('bench', 1_000), samplingRank),
    settings.routes,
    samplingRank,
  )
  const routed = postSchema.omit({ authorSince: true })
  const pairs = load.flatMap(({ type, key, value }) => {
    if (type === 'comment') return []
    const kind = type === 'post' ? 'post' : 'reply'
    const post = routed.parse({ text: '', ...value, createdAt: 0 })
    return routes.of({ tenant: 'default', postId: key, kind }, post).map(({ name }) => `${name} ${key}`)
  })
  return new Set<string>(pairs)
}

async function publishedBy({ kafka, settings }: ServiceRun, signal: AbortSignal) {
  const topics = topicsOf(settings)
  const verdicts: Verdict[] = []
  const transcripts: Transcript[] = []
  const options = { follow: false, signal }
  await readTopic(kafka, topics.verdicts, options, ({ message }) => {
    verdicts.push(verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
  })
  await readTopic(kafka, topics.transcripts, options, ({ message }) => {
    transcripts.push(transcript.parse(JSON.parse(message.value?.toString('utf8') ?? 'null')))
  })
  if (signal.aborted) throw new OperatorError('Stopped before the end.')
  return { verdicts, transcripts }
}

function endsOf(verdicts: readonly Verdict[], expected: ReadonlySet<string>) {
  const finals = new Map(
    verdicts.filter(({ final }) => final).map((one): [string, Verdict] => [`${one.protocol} ${one.subjectId}`, one]),
  )
  const ended = [...finals.values()]
  const decided = ended.filter(({ decidedBy }) => decidedBy !== 'none')
  const undecided = ended.filter(({ decidedBy, degraded }) => decidedBy === 'none' && degraded.length > 0)
  return {
    expected: expected.size,
    verdicts: verdicts.length,
    decided: decided.length,
    undecided: undecided.length,
    withheld: undecided.filter(({ degraded }) => degraded.some((why) => why.startsWith('no label: what was seen')))
      .length,
    degraded: decided.filter(({ degraded }) => degraded.length > 0).length,
    silent: ended.length - decided.length - undecided.length,
    lost: [...expected].filter((pair) => !finals.has(pair)).length,
    duplicates: verdicts.length - new Set(verdicts.map(({ id }) => id)).size,
  }
}

/** A row for each fault: what the verdicts' transcripts say of the calls that it befell. */
function outcomesTable({ outcomes }: Ledger): Drawing {
  const columns = [...new Set([...outcomes.values()].flatMap((row) => [...row.keys()]))].sort()
  const rows = ['none', ...FAULTS].map((fault) => {
    const row = outcomes.get(fault) ?? new Map<string, number>()
    const total = [...row.values()].reduce((all, count) => all + count, 0)
    return [fault, String(total), ...columns.map((column) => String(row.get(column) ?? ''))]
  })
  return table(['fault', 'calls', ...columns], rows)
}
