import { setTimeout as sleep } from 'node:timers/promises'
import type { ShadowVerdict } from '../../../contracts/facts/shadow-verdict.ts'
import { weightedSlots } from '../../../contracts/facts/slots.ts'
import type { ThreadRef } from '../../../contracts/facts/thread.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import type { HandleBatch, Heartbeat, IncomingMessage } from '../../../contracts/ports/topic.ts'
import type { JudgedSnapshot } from './shadow-judge.ts'

/** What bounds a variant in the shadow. */
export interface ShadowBounds {
  /** Most cases at once. */
  readonly atOnce: number
  /** US dollars a day, UTC. */
  readonly budget: number
  /** What was judged longer ago is passed over, in ms. */
  readonly behindMs: number
}

interface ShadowContext {
  readonly variant: string
  readonly bounds: ShadowBounds
  /** What a message has that this variant judges; null where it is none of its. */
  readonly read: (value: Buffer | null) => JudgedSnapshot | null
  readonly judge: (one: JudgedSnapshot, signal: AbortSignal) => Promise<ShadowVerdict>
  readonly send: (verdict: ShadowVerdict) => Promise<unknown>
  readonly isDeleted: (ref: ThreadRef) => Promise<boolean>
  /** What this day's calls may have cost in US dollars, as far as Redis knows: those of cases that could not be judged, too. */
  readonly spentUsd: () => Promise<number>
  /** Whether something of the service waits: what it needs comes first. */
  readonly isNeeded: () => Promise<boolean>
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly failed: (why: string) => void
  readonly judged: (verdict: ShadowVerdict) => void
  /** How long a case waited for the service, or for the budget. */
  readonly waited: (seconds: number) => void
  /** What it has said before, as far as it may come again. */
  readonly before: readonly ShadowVerdict[]
  /** How often is looked whether it may go on, in ms. */
  readonly lookMs: number
}

/** A group's member that is silent for longer is taken for dead. */
const BEAT_MS = 1_000
const MOST_TRIES = 3

/**
 * Judges what comes, some at once, each once: an offset is committed after its shadow verdict has been acknowledged, and what was said
 * before is not asked again. What is passed over is counted.
 */
export function shadowing(context: ShadowContext): { readonly handle: HandleBatch; counts(): ShadowCounts } {
  const { variant, bounds, clock, before } = context
  const said = new Map(before.map(({ id, at }) => [id, Date.parse(at)]))
  const spent = new Map<string, number>()
  for (const one of before) pay(one)
  // Partitions are read side by side.
  const slots = weightedSlots(bounds.atOnce)
  let [sent, passedOver] = [0, 0]

  function pay({ at, usage, asked }: ShadowVerdict): void {
    const { costUsd } = asked ?? usage
    const day = at.slice(0, 10)
    spent.set(day, (spent.get(day) ?? 0) + costUsd)
  }
  // By the topic, too, which an emptied Redis leaves alone.
  const isSpent = async () =>
    Math.max(spent.get(new Date(clock()).toISOString().slice(0, 10)) ?? 0, await context.spentUsd()) >= bounds.budget
  const isOld = ({ timestamp }: IncomingMessage) => clock() - timestamp > bounds.behindMs

  async function one(message: IncomingMessage, signal: AbortSignal): Promise<void> {
    const judged = context.read(message.value)
    if (judged === null || said.has(`${judged.of}~v~${variant}`)) return
    while (!isOld(message) && ((await isSpent()) || (await context.isNeeded()))) {
      await sleep(context.lookMs, undefined, { signal })
      context.waited(context.lookMs / 1_000)
    }
    const verdict = isOld(message) || (await context.isDeleted(judged.ref)) ? null : await tried(judged, signal)
    if (verdict === null) {
      passedOver++
      return
    }
    await context.send(verdict)
    said.set(verdict.id, clock())
    pay(verdict)
    sent++
    context.judged(verdict)
  }

  /** Null where it can't be judged, after some tries. */
  async function tried(judged: JudgedSnapshot, signal: AbortSignal): Promise<ShadowVerdict | null> {
    for (let time = 1; time <= MOST_TRIES; time++) {
      signal.throwIfAborted()
      try {
        return await context.judge(judged, signal)
      } catch (error) {
        signal.throwIfAborted()
        context.failed(error instanceof Error ? error.message : String(error))
        await sleep(context.lookMs * time, undefined, { signal })
      }
    }
    return null
  }

  return {
    counts: () => ({ sent, passedOver }),
    async handle({ messages }, heartbeat) {
      // What is older than may come again is forgotten.
      for (const [id, at] of said) if (clock() - at > 2 * bounds.behindMs) said.delete(id)
      const left = messages.values()
      await beating(heartbeat, context.signal, async (signal) => {
        const worker = async () => {
          for (const message of left) await slots.run(1, () => one(message, signal))
        }
        await Promise.all(Array.from({ length: bounds.atOnce }, worker))
      })
    },
  }
}

/** What became of the cases that it was to judge. */
export interface ShadowCounts {
  readonly sent: number
  readonly passedOver: number
}

/** Sends heartbeats while the work goes on; ends it where the group, or the process, goes on without it. */
async function beating(
  heartbeat: Heartbeat,
  stopped: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController()
  let isDone = false
  const working = work(AbortSignal.any([stopped, lost.signal])).finally(() => {
    isDone = true
  })
  working.catch(() => {})
  try {
    while (!isDone) {
      await Promise.race([working, sleep(BEAT_MS)])
      if (!isDone) await heartbeat()
    }
  } catch (error) {
    lost.abort(error)
    await working.catch(() => {})
    throw error
  }
  await working
}
