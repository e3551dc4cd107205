import { setTimeout as sleep } from 'node:timers/promises'
import { verdict } from '../../src/contracts/facts/verdict.ts'
import type { Drill, World } from './drills.ts'
import type { Notification } from './webhook.ts'

/** A page must come within this after its fault, in s. */
const PAGE_WITHIN_S = 180
/** A ticket must come within this, in s: its alert waits for five minutes. */
const TICKET_WITHIN_S = 480
/** How much longer an alert that is late is waited for, in s. */
const LATE_S = 120
/** How long nothing may come where nothing should, and what follows an alert is waited for, in s. */
const QUIET_S = 90
/** How long a fault goes on after it was told, in s. */
const GOES_ON_S = 30
/** An alert must have ended, and its end been told, within this after the fault, in s. */
const RESOLVED_WITHIN_S = 1_500

export interface Outcome {
  readonly drill: string
  readonly expected: string
  readonly toldAfterS: number | null
  /** How many notifications of something that fires came, and of which alerts. */
  readonly notifications: number
  readonly alerts: readonly string[]
  /** Each of them as it came. */
  readonly told: readonly { readonly afterS: number; readonly to: string; readonly alerts: readonly string[] }[]
  readonly resolvedAfterS: number | null
  /** Where no verdict may end in the fault: what was sent until it was healed, and what became of it. */
  readonly waited?: Waited
  readonly ok: boolean
}

/** What must come of a drill, in words. */
export function expectedOf({ expects }: Pick<Drill, 'expects'>): string {
  if (expects === null) return 'silence'
  const reason = expects.reason === undefined ? '' : ` (${expects.reason})`
  return `${expects.to}: ${expects.alert}${reason}`
}

/** Stages a drill, heals it, and tells what was heard until its end. `heard` grows meanwhile. */
export async function rehearse(
  drill: Drill,
  world: World,
  heard: readonly Notification[],
  signal: AbortSignal,
): Promise<Outcome> {
  const { expects } = drill
  const from = heard.length
  const began = Date.now()
  const before = { sent: world.sent().length, calls: world.understudy.calls().length }
  const since = (at: number) => Math.round((at - began) / 1000)
  const firing = () => heard.slice(from).filter(({ status }) => status === 'firing')
  const isIt = ({ to, alerts }: Notification) => to === expects?.to && alerts.includes(expects.alert)
  const over = () =>
    heard.slice(from).find(({ status, alerts }) => status === 'resolved' && alerts.includes(expects?.alert ?? ''))
  const withinS = expects?.to === 'ticket' ? TICKET_WITHIN_S : PAGE_WITHIN_S

  const staged = stoppable(drill.stage(world), signal)
  let failed = false
  staged.catch(() => {
    failed = true
  })
  if (expects !== null) await until(() => failed || firing().some(isIt), withinS + LATE_S, signal)
  await staged
  await sleep((expects === null ? QUIET_S : GOES_ON_S) * 1000, undefined, { signal })
  await sleep(Math.max(0, began + (drill.lastsS ?? 0) * 1000 - Date.now()), undefined, { signal })
  const sent = [...world.sent()]
  const calls = world.understudy.calls().length
  await stoppable(drill.heal(world), signal)
  const healed = Date.now()
  if (firing().some(isIt)) await until(() => over() !== undefined, RESOLVED_WITHIN_S - since(Date.now()), signal)
  await sleep(QUIET_S * 1000, undefined, { signal })

  const waited =
    drill.waited === undefined ? undefined : await waitedFor(world, { sent, calls, before, began, healed }, signal)
  const told = firing().find(isIt)
  const mine = expects === null ? firing() : firing().filter(({ to }) => to === expects.to)
  const end = over()
  const inTime = told !== undefined && since(told.at) <= withinS
  return {
    drill: drill.name,
    expected: expectedOf(drill),
    toldAfterS: told === undefined ? null : since(told.at),
    notifications: firing().length,
    alerts: [...new Set(firing().flatMap(({ to, alerts }) => alerts.map((alert) => `${alert} (${to})`)))],
    told: firing().map(({ at, to, alerts }) => ({ afterS: since(at), to, alerts })),
    resolvedAfterS: end === undefined ? null : since(end.at),
    ...(waited === undefined ? {} : { waited }),
    ok:
      expects === null
        ? firing().length === 0
        : inTime &&
          mine.length === 1 &&
          end !== undefined &&
          (expects.reason === undefined || told?.reasons.join() === expects.reason) &&
          (waited === undefined || (waited.unjudged === 0 && waited.ended === 0 && waited.twice === 0)),
  }
}

interface Waited {
  /** Posts that were sent while the fault lasted. */
  readonly posts: number
  /** Calls that the model was sent meanwhile. */
  readonly calls: number
  /** Verdicts about all that was sent, and about those of them that have none. */
  readonly verdicts: number
  readonly unjudged: number
  /** Verdicts that lost an answer: without a label, or degraded by more than what the posts lack. */
  readonly ended: number
  /** Verdicts under one id with two contents. */
  readonly twice: number
  /** Verdicts that were decided in the fault, after its first seconds. */
  readonly meanwhile: number
  /** How long after the fault the last of these posts had its first verdict, in s; null if one has none. */
  readonly judgedAfterS: number | null
}

/** Everything that was sent must be judged this long after the fault, in s. */
const JUDGED_WITHIN_S = 420
/** So long an answer that was on its way may still decide a case, in ms. */
const ON_ITS_WAY_MS = 5_000

async function waitedFor(
  world: World,
  of: {
    readonly sent: readonly string[]
    readonly calls: number
    readonly before: { readonly sent: number; readonly calls: number }
    readonly began: number
    readonly healed: number
  },
  signal: AbortSignal,
): Promise<Waited> {
  const wanted = new Set(of.sent)
  const look = async () => {
    const records = await world.verdicts()
    const byId = Map.groupBy(new Set(records), (record) => verdict.parse(JSON.parse(record)).id)
    const all = [...byId.values()].flatMap(([first = '']) => verdict.parse(JSON.parse(first)))
    const judged = all.filter(({ subjectId }) => wanted.has(subjectId))
    const subjects = new Set(judged.map(({ subjectId }) => subjectId))
    const since = judged.filter(({ timing }) => Date.parse(timing.decidedAt) >= of.began)
    const meanwhile = since.filter(({ timing }) => {
      const at = Date.parse(timing.decidedAt)
      return at > of.began + ON_ITS_WAY_MS && at < of.healed
    })
    const firsts = [...Map.groupBy(judged, ({ subjectId }) => subjectId).values()].map((some) =>
      Math.min(...some.map(({ timing }) => Date.parse(timing.decidedAt))),
    )
    return {
      posts: of.sent.length - of.before.sent,
      calls: of.calls - of.before.calls,
      verdicts: judged.length,
      unjudged: wanted.size - subjects.size,
      ended: since.filter(({ label, faults }) => label === null || faults.some((fault) => fault !== 'evidence')).length,
      twice: [...byId.values()].filter((some) => some.length > 1).length,
      meanwhile: meanwhile.length,
      judgedAfterS: wanted.size > subjects.size ? null : Math.round((Math.max(...firsts) - of.healed) / 1000),
    }
  }
  let seen = await look()
  while (seen.unjudged > 0 && Date.now() < of.healed + JUDGED_WITHIN_S * 1000) {
    await sleep(5_000, undefined, { signal })
    seen = await look()
  }
  return seen
}

/** Waits until it is so, but no longer than this; throws when stopped. */
async function until(isSo: () => boolean, withinS: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + withinS * 1000
  while (!isSo() && Date.now() < deadline) await sleep(250, undefined, { signal })
}

/** The same work, whose end is not waited for any more when all is stopped. */
async function stoppable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const stopped = Promise.withResolvers<never>()
  const stop = () => stopped.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
