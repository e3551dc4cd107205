import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../../config/schema.ts'
import { type Drawing, table } from '../../cli/terminal.ts'
import type { Ask } from '../../contracts/facts/ask.ts'
import { OperatorError, RetryLaterError } from '../../contracts/facts/errors.ts'
import type { Events, Report } from '../../contracts/ports/report.ts'
import { waitOf } from '../../judging/engine/failed-attempt.ts'
import { askContext } from '../../models/context.ts'
import { openAiServer } from '../../models/openai/model.ts'
import { connect } from '../../store/redis/connect.ts'
import type { FaultyModel } from './model-server.ts'
import { mean, round } from './percentiles.ts'
import { opinions } from './questions.ts'
import { startProcess } from './start-process.ts'
import { settingsFor, timedGateway } from './timed-gateway.ts'

export interface FaultyModelPlan {
  /** Length of each phase, in seconds. */
  readonly seconds: number
  /** Time of a model call. */
  readonly latencyMs: number
}

/** One phase with a faulty model. */
interface Row {
  readonly fault: string
  /** Of the calls, 0 to 1. */
  readonly share: number
  /** Asks answered a second, in the phase. */
  readonly goodput: number
  /** That, by what the phases without faults before and after made. */
  readonly ratio: number
  /** Calls in flight, mean. */
  readonly inFlight: number
  /** Asks given up after their last try. */
  readonly failed: number
}

export interface FaultyModelReport {
  readonly slots: number
  readonly latencyMs: number
  /** Asks answered a second without faults, before the others and after them. */
  readonly healthy: readonly number[]
  readonly rows: readonly Row[]
  /** Every kind of fault at once: as a row, and what the faults leave of the goodput if nothing else is lost. */
  readonly everyKind: Row & {
    readonly allowed: number
    /** `ratio` by `allowed`. */
    readonly ofAllowed: number
    /** Where the time of the calls went, as shares of it, by how they ended. */
    readonly time: Readonly<Record<string, number>>
  }
  /** A model that turns away every call beyond so many at once, then has room for all again. */
  readonly overload: {
    readonly places: number
    /** Until no more than half again as many were in flight, in ms. */
    readonly backedOffMs: number
    /** Goodput meanwhile, by what so many places can bear. */
    readonly used: number
    /** From when there was room again until nine tenths of the slots were in flight, in ms. */
    readonly foundAgainMs: number
  }
}

/** A quarter of the calls goes wrong: a seventh of them each is refused, fails, hangs, is cut, a page, unreadable or slow. */
const EVERY_KIND = 0.25
const everyKind = (share: number): FaultyModel => {
  const each = share / 7
  return {
    refused: each,
    failed: each,
    hung: each,
    hangMs: HANG_MS,
    reset: each,
    page: each,
    unreadable: each,
    slow: each,
  }
}

/**
 * What such faults leave of the goodput: of the time of the calls, that of the good ones. What comes at once takes none, an
 * unreadable answer as long as a good one, and what hangs or is slow until it is cut off.
 */
function allowedBy(share: number, latencyMs: number, cutOffMs: number): number {
  const each = share / 7
  const good = 1 - share
  return good / (good + each * (1 + (2 * Math.max(cutOffMs, 3 * latencyMs)) / latencyMs))
}

const SHARES = [0.01, 0.02, 0.05, 0.1, 0.2]
const HANG_MS = 40_000
const FAULTS: readonly { readonly fault: string; readonly at: (share: number) => FaultyModel }[] = [
  { fault: '429', at: (refused) => ({ refused }) },
  { fault: '500', at: (failed) => ({ failed }) },
  { fault: 'hang of 40 s', at: (hung) => ({ hung, hangMs: HANG_MS }) },
  {
    fault: 'a third of each',
    at: (share) => ({ refused: share / 3, failed: share / 3, hung: share / 3, hangMs: HANG_MS }),
  },
]
/** Connections open and V8 optimizes before anything is counted; each phase settles for a while as well. */
const WARM_UP_SECONDS = 5
const SETTLE_SECONDS = 3
const PLACES = 16
const SAMPLE_MS = 20

/**
 * How the gateway copes with a slightly faulty model: how many asks a second are answered when more are always waiting,
 * by share and kind of fault, beside the same without faults. Asks are tried again as a stage's queue would.
 */
export async function faultyModelBench(
  environment: Readonly<Record<string, string | undefined>>,
  { seconds, latencyMs }: FaultyModelPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<FaultyModelReport> {
  const settings = settingsFor(environment)
  const { child, said } = await startProcess('model-server', [String(latencyMs)], signal)
  /** Seconds of calls by how they ended. */
  const spent = new Map<string, number>()
  const report: Report = (name, event) => {
    if (name !== 'call:ended') return
    const { outcome, seconds: took } = event as Events['call:ended']
    spent.set(outcome, (spent.get(outcome) ?? 0) + took)
  }
  const redis = connect(settings.redis, report, 'retrying')
  try {
    const client = openAiServer({
      baseUrl: `http://127.0.0.1:${said}/v1`,
      apiKey: 'bench',
      answerFormat: 'json_schema',
    })
    const { slots } = settings.models
    const asks = opinions(environment)
    /** Each phase has a gateway of its own, which has learnt nothing of the one before. */
    const begin = () => saturate(() => timedGateway(redis, settings, client, report), asks, settings, signal)
    const measured = async (fault: string, share: number, faults: FaultyModel) => {
      const load = begin()
      await sleep(SETTLE_SECONDS * 1_000, undefined, { signal })
      child.send(faults)
      await sleep(SETTLE_SECONDS * 1_000, undefined, { signal })
      const before = load.counts()
      const busy = await sampled(seconds * 1_000, () => load.inFlight, signal)
      const { answered, failed, lastFailure } = load.counts()
      load.stop()
      child.send({})
      if (share === 0 && failed > 0) throw new OperatorError(`Asks fail without a fault: ${lastFailure}`)
      const goodput = (answered - before.answered) / seconds
      say(
        `${fault}, ${share * 100} %: ${goodput.toFixed(0)} asks answered a second, ${mean(busy).toFixed(0)} in flight`,
      )
      return { fault, share, goodput, inFlight: round(mean(busy)), failed: failed - before.failed }
    }

    say(`Without faults, after ${WARM_UP_SECONDS} s …`)
    const warm = begin()
    await sleep(WARM_UP_SECONDS * 1_000, undefined, { signal })
    warm.stop()
    const first = await measured('none', 0, {})
    spent.clear()
    const every = await measured('every kind', EVERY_KIND, everyKind(EVERY_KIND))
    const inAll = [...spent.values()].reduce((sum, seconds) => sum + seconds, 0)
    const time = Object.fromEntries([...spent].map(([end, seconds]) => [end, round(seconds / inAll)]))
    const rows: Omit<Row, 'ratio'>[] = []
    for (const { fault, at } of FAULTS) for (const share of SHARES) rows.push(await measured(fault, share, at(share)))

    const load = begin()
    await sleep(SETTLE_SECONDS * 1_000, undefined, { signal })
    child.send({ places: PLACES })
    const backedOffMs = await until(() => load.inFlight <= PLACES * 1.5, 30_000, signal)
    await sleep(1_000, undefined, { signal })
    const before = load.counts()
    await sleep(seconds * 1_000, undefined, { signal })
    const used = (load.counts().answered - before.answered) / seconds / ((PLACES * 1_000) / latencyMs)
    child.send({})
    const foundAgainMs = await until(() => load.inFlight >= 0.9 * slots, 60_000, signal)
    load.stop()
    const overload = { places: PLACES, backedOffMs, used: round(used), foundAgainMs }
    say(
      `overload: ${PLACES} places backed off to in ${backedOffMs} ms, ${(used * 100).toFixed(0)} % used, all found again in ${foundAgainMs} ms`,
    )
    const last = await measured('none', 0, {})
    const healthy = [first.goodput, last.goodput]
    const ratio = (goodput: number) => round(goodput / mean(healthy))
    const allowed = allowedBy(EVERY_KIND, latencyMs, settings.models.minTimeout ?? 0)
    const ofAllowed = round(ratio(every.goodput) / allowed)
    say(
      `every kind: ${ratio(every.goodput)} of the goodput without faults, ${ofAllowed} of what the faults leave of it`,
    )
    return {
      slots,
      latencyMs,
      healthy,
      rows: rows.map((row) => ({ ...row, ratio: ratio(row.goodput) })),
      everyKind: { ...every, ratio: ratio(every.goodput), allowed: round(allowed), ofAllowed, time },
      overload,
    }
  } finally {
    redis.disconnect()
    child.disconnect()
  }
}

export function faultyModelTable({ rows }: FaultyModelReport): Drawing {
  const cell = (row: Row | undefined) => row?.ratio.toFixed(2) ?? ''
  return table(
    ['fault', ...SHARES.map((share) => `${share * 100} %`)],
    FAULTS.map(({ fault }) => [
      fault,
      ...SHARES.map((share) => cell(rows.find((row) => row.fault === fault && row.share === share))),
    ]),
  )
}

/** Keeps twice as many asks waiting as there are slots; those that wait for their next try are not among them. */
function saturate(
  make: () => ReturnType<typeof timedGateway>,
  asks: Iterator<Ask>,
  { models, stages, cases }: Settings,
  signal: AbortSignal,
) {
  const { gateway } = make()
  const { attempts, backoff } = stages.default ?? { attempts: 1, backoff: 0 }
  const stopping = new AbortController()
  const stopped = AbortSignal.any([signal, stopping.signal])
  let [answered, failed, ready, number] = [0, 0, 0, 0]
  let lastFailure: unknown

  async function one(ask: Ask): Promise<void> {
    const id = `${number++}`
    let heldMs = 0
    for (let attempt = 1; !stopped.aborted; ) {
      try {
        const settled = await gateway.ask(
          askContext({
            ask,
            protocol: 'rumor',
            subject: { tenant: 'default', postId: id, kind: 'post' },
            caseId: id,
            askId: id,
            attempt,
            last: attempt === attempts,
            remember: true,
            signal: stopped,
            deadline: Date.now() + cases.deadline,
            calls: [],
          }),
        )
        if (settled.failed === undefined) answered++
        else failed++
        return
      } catch (error) {
        if (stopped.aborted) return
        lastFailure = error
        if (!(error instanceof RetryLaterError) || (error.costsAttempt && attempt === attempts)) {
          failed++
          return
        }
        const waitMs = error.costsAttempt
          ? backoff * 2 ** (attempt - 1) * (0.5 + Math.random() / 2)
          : waitOf(error, { heldMs, leftMs: Number.POSITIVE_INFINITY })
        if (error.costsAttempt) attempt++
        else heldMs += waitMs
        ready--
        fill()
        await sleep(waitMs, undefined, { signal: stopped }).catch(() => {})
        ready++
      }
    }
  }

  function fill(): void {
    while (ready < 2 * models.slots && !stopped.aborted) {
      const next = asks.next()
      if (next.done) throw new OperatorError('There is nothing to ask.')
      ready++
      void one(next.value)
        // What fails at once must not keep the event loop from everything else.
        .then(() => sleep(0))
        .finally(() => {
          ready--
          fill()
        })
    }
  }

  fill()
  return {
    counts: () => ({ answered, failed, lastFailure }),
    get inFlight() {
      return gateway.busy
    },
    stop: () => stopping.abort(),
  }
}

async function sampled(ms: number, read: () => number, signal: AbortSignal): Promise<number[]> {
  const seen: number[] = []
  for (const end = Date.now() + ms; Date.now() < end; await sleep(SAMPLE_MS, undefined, { signal })) seen.push(read())
  return seen
}

/** How long it took, in ms; at most `atMostMs`. */
async function until(holds: () => boolean, atMostMs: number, signal: AbortSignal): Promise<number> {
  const began = performance.now()
  while (!holds() && performance.now() - began < atMostMs) await sleep(SAMPLE_MS, undefined, { signal })
  return Math.round(performance.now() - began)
}
