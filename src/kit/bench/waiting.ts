import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSettings } from '../../../config/load.ts'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { kafkaClient } from '../../stream/client.ts'
import { clientOf, ownEnvironment, portOf } from './door.ts'
import { sentence } from './load.ts'
import { type Percentiles, percentiles, round } from './percentiles.ts'
import { forkWorker, gone, ready } from './service.ts'
import { STOPPED } from './start-process.ts'
import type { Tick } from './worker.ts'

export interface WaitingPlan {
  /** Posts of the stream that stand before the questions. */
  readonly backlog: number
  /** Time of a model call, in ms. */
  readonly latencyMs: number
  readonly slots: number
  /** So long the stream is looked at by itself, in seconds. */
  readonly seconds: number
}

export interface WaitingReport {
  /** How long questions took for which somebody waits: by themselves, and behind the backlog. */
  readonly quietMs: Percentiles
  readonly behindMs: Percentiles
  /** The 95th percentile behind the backlog, in multiples of that by themselves. */
  readonly ratio: number
  /** Verdicts a second on the stream, before the questions and beside them, and the share that is left. */
  readonly stream: { readonly before: number; readonly beside: number; readonly share: number }
  /** Posts that were not judged when the last question was answered: 0 says that nothing stood before it. */
  readonly left: number
}

/** Questions, and how many are asked at a time. */
const [QUESTIONS, AT_ONCE] = [20, 4]

type Io = { say: (line: string) => void; signal: AbortSignal }
type Environment = Readonly<Record<string, string | undefined>>

/** Measures what the two classes of service are worth: questions over HTTP before a service with a standing backlog of the stream. */
export async function waitingBench(
  environment: Environment,
  plan: WaitingPlan,
  { say, signal }: Io,
): Promise<WaitingReport> {
  const own = {
    ...ownEnvironment(environment),
    GAVEL_MODELS_SLOTS: String(plan.slots),
    GAVEL_STAGES_DEFAULT_CONCURRENCY: String(plan.slots),
    // A known answer takes no time.
    GAVEL_MEMO_ENABLED: 'false',
  }
  const settings = loadSettings(own)
  const kafka = kafkaClient(settings.kafka, 'bench-waiting', () => {})
  await makeTopics(kafka, settings)
  const workers: ChildProcess[] = []
  const doorTicks: Tick[] = []
  let judged = 0
  try {
    const started = async (roles: string, onTick: (tick: Tick) => void) => {
      const worker = forkWorker(own, plan.latencyMs, { roles })
      workers.push(worker)
      await ready(worker, onTick)
    }
    await started('intake,judge,publish', ({ published }) => {
      judged += published.length
    })
    await started('door', (tick) => doorTicks.push(tick))
    const client = clientOf(await portOf(doorTicks))
    let asked = 0
    const ask = async (): Promise<Percentiles> => {
      let left = QUESTIONS
      const took: number[] = []
      const inTurn = async () => {
        while (left-- > 0) {
          if (signal.aborted) throw STOPPED
          const body = JSON.stringify({
            post: { text: `${asked++} ${sentence(asked, 18)}` },
            protocols: ['hate'],
            wait: 60,
          })
          const began = performance.now()
          const status = await client('/v1/judge', body)
          if (status !== 200) throw new OperatorError(`A question was answered with ${status}.`)
          took.push(performance.now() - began)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, inTurn))
      return percentiles(took)
    }
    // Until code is compiled.
    await ask()
    const quietMs = await ask()
    say(`quiet: p95 ${quietMs.p95} ms`)
    const ofQuestions = judged
    const writer = await kafkaWriter(kafka, settings.kafka.compression)
    try {
      const createdAt = new Date().toISOString()
      const posts = Array.from({ length: plan.backlog }, (_, at) => ({
        topic: topicsOf(settings).posts,
        key: `p${at}`,
        value: JSON.stringify({ id: `p${at}`, author: `a${at}`, text: `${at} ${sentence(at, 18)}`, createdAt }),
      }))
      await writer.send(posts)
    } finally {
      await writer.close()
    }
    while (judged === ofQuestions) await sleep(100, undefined, { signal })
    const rateDuring = async <Result>(work: () => Promise<Result>) => {
      const [from, began] = [judged, performance.now()]
      const result = await work()
      return { result, perSecond: (1000 * (judged - from)) / (performance.now() - began) }
    }
    const { perSecond: before } = await rateDuring(() => sleep(1_000 * plan.seconds, undefined, { signal }))
    const { result: behindMs, perSecond: beside } = await rateDuring(async () => {
      const took = await ask()
      // They are none of the stream's.
      judged -= QUESTIONS
      return took
    })
    const left = Math.max(0, plan.backlog - (judged - ofQuestions))
    const ratio = round(behindMs.p95 / quietMs.p95)
    say(`behind ${plan.backlog} posts: p95 ${behindMs.p95} ms, ${ratio} times; ${left} posts were left`)
    const stream = { before: round(before), beside: round(beside), share: round(beside / before) }
    return { quietMs, behindMs, ratio, stream, left }
  } finally {
    await Promise.all(workers.map(gone))
  }
}
