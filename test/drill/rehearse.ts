import { setTimeout as sleep } from 'node:timers/promises'
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
  readonly ok: boolean
}

/** What must come of a drill, in words. */
export function expectedOf({ expects }: Pick<Drill, 'expects'>): string {
  return expects === null ? 'silence' : `${expects.to}: ${expects.alert}`
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
  await stoppable(drill.heal(world), signal)
  if (firing().some(isIt)) await until(() => over() !== undefined, RESOLVED_WITHIN_S - since(Date.now()), signal)
  await sleep(QUIET_S * 1000, undefined, { signal })

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
    ok: expects === null ? firing().length === 0 : inTime && mine.length === 1 && end !== undefined,
  }
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
