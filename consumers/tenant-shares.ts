import { z } from 'zod'
import { jsonOf } from '../src/contracts/facts/json-of.ts'
import { tenant } from '../src/contracts/facts/messages.ts'
import type { PressureKind, Report } from '../src/contracts/ports/report.ts'
import type { GroupProgress, IncomingMessage, TopicHistory } from '../src/contracts/ports/topic.ts'
import type { PressureSignal } from './backpressure.ts'

/** Something of which each tenant has a share while there is too little of it. */
export interface SharedMeasure {
  /** The signal by which intake would pause. */
  readonly by: PressureKind
  isScarce(): boolean
  /** Who holds more than its share. */
  tenantsOver(): Promise<readonly string[]>
}

/**
 * While something is scarce, a tenant holds more of it than its share and another has messages to read, intake reads on for the others,
 * and no tenant may hold more than its share: partitions are shared, so that a pause would stop all. Otherwise there is no share.
 */
export function tenantShares(deps: {
  measures: readonly SharedMeasure[]
  othersUnread: (over: ReadonlySet<string>) => Promise<boolean>
  report: Report
}) {
  const { measures, othersUnread, report } = deps
  let found = new Map<PressureKind, readonly string[]>()
  let looking: Promise<void> | null = null

  const over = (by: PressureKind): readonly string[] =>
    measures.some((one) => one.by === by && one.isScarce()) ? (found.get(by) ?? []) : []

  async function look(): Promise<Map<PressureKind, readonly string[]>> {
    const held = new Map<PressureKind, readonly string[]>()
    for (const measure of measures) {
      const tenants = measure.isScarce() ? await measure.tenantsOver() : []
      if (tenants.length > 0) held.set(measure.by, tenants)
    }
    const all = new Set([...held.values()].flat())
    return all.size > 0 && (await othersUnread(all)) ? held : new Map()
  }

  function note(now: Map<PressureKind, readonly string[]>): void {
    const before = found
    found = now
    const tenants = [...new Set([...found.values()].flat())]
    if (before.size === 0 && found.size > 0) report('shares:kept', { tenants })
    if (before.size > 0 && found.size === 0) report('shares:ended', {})
  }

  return {
    /** Who may not hold more of it now. */
    over,
    /** The same signal, which does not pause intake while shares of it are kept. */
    beside: (measure: () => Promise<PressureSignal>) => async (): Promise<PressureSignal> => {
      const signal = await measure()
      return over(signal.by).length > 0 ? { ...signal, share: 0 } : signal
    },
    /** Looks again, if it does not still. Resolves when it has. */
    poll(): Promise<void> {
      looking ??= look()
        .then(note)
        .finally(() => {
          looking = null
        })
      return looking
    },
  }
}

/** Whether a measure has passed its limit, and has not been below `resumeAtShare` since, as its signal tells on the way. */
export function scarcityOf(by: PressureKind, { resumeAtShare }: { readonly resumeAtShare: number }) {
  let isScarce = false
  return {
    isScarce: () => isScarce,
    told: (measure: () => Promise<PressureSignal>) => async (): Promise<PressureSignal> => {
      const signal = await measure()
      if (signal.by === by) isScarce = signal.share > 1 || (isScarce && signal.share >= resumeAtShare)
      return signal
    },
  }
}

/** A message of another tenant was found: there is no need to read on. */
class Found extends Error {}

/**
 * Whether a tenant that is not among these has messages to read. Reads no message twice, unless a tenant is no longer among them; rejects
 * where Kafka does not answer, and goes on from there the next time.
 */
export function othersUnread(deps: {
  topics: readonly string[]
  history: TopicHistory
  /** The next offset that the group reads, by topic and partition. */
  committed: () => Promise<GroupProgress['committed']>
}): (over: ReadonlySet<string>) => Promise<boolean> {
  const { topics, history, committed } = deps
  /** By topic and partition: up to where there is none of another tenant, and whose the next is, if that is known. */
  let seen = new Map<string, { readonly next: bigint; readonly sender: string | null }>()
  let seenFor: ReadonlySet<string> = new Set()

  function note(messages: readonly IncomingMessage[], over: ReadonlySet<string>): void {
    for (const message of messages) {
      const partition = `${message.topic}/${message.partition}`
      const [offset, sender] = [BigInt(message.offset), tenantOf(message)]
      const isOthers = sender !== null && !over.has(sender)
      seen.set(partition, isOthers ? { next: offset, sender } : { next: offset + 1n, sender: null })
      if (isOthers) throw new Found()
    }
  }

  return async (over) => {
    if ([...seenFor].some((known) => !over.has(known))) seen = new Map()
    seenFor = over
    const progress = await committed()
    const readTo = (topic: string, partition: number) => progress.get(topic)?.get(partition) ?? 0n
    for (const topic of topics) {
      const ranges = await history.rangesOf(topic, null)
      const unseen = new Map(
        [...ranges].map(([partition, { from, to }]) => {
          const { next = 0n, sender = null } = seen.get(`${topic}/${partition}`) ?? {}
          const begin = later(later(from, readTo(topic, partition)), next)
          return [partition, { from: begin, to, isOthers: sender !== null && !over.has(sender) && begin === next }]
        }),
      )
      if ([...unseen.values()].some(({ isOthers }) => isOthers)) return true
      try {
        await history.read(topic, unseen, (messages) => note(messages, over))
      } catch (error) {
        if (error instanceof Found) return true
        throw error
      }
    }
    return false
  }
}

function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

const sent = z.looseObject({ tenant })

/** Whose message it is; null if that can't be read. */
function tenantOf(message: IncomingMessage): string | null {
  const read = sent.safeParse(jsonOf(message))
  return read.success ? read.data.tenant : null
}
