import { z } from 'zod'
import { jsonOf } from '../src/contracts/facts/json-of.ts'
import { tenant } from '../src/contracts/facts/messages.ts'
import type { PressureKind, Report } from '../src/contracts/ports/report.ts'
import type { GroupProgress, IncomingMessage, TopicHistory } from '../src/contracts/ports/topic.ts'
import type { PressureSignal } from './backpressure.ts'

/**
 * While intake would pause for a measure (memory, or what is due), a tenant has more of it than its share and another has messages to
 * read, intake reads on for the others, and the share is in force: partitions are shared, so that a pause would stop all. Otherwise
 * there is no share.
 */
export function tenantShares(deps: {
  /** The measure. */
  by: Extract<PressureKind, 'store-full' | 'due-depth'>
  /** Intake would pause for it, and Redis takes writes. */
  isScarce: () => boolean
  /** Tenants that have more of it than their share. */
  tenantsOver: () => Promise<readonly string[]>
  othersUnread: (over: ReadonlySet<string>) => Promise<boolean>
  /** The measure while the share is in force, as a share of its limit. */
  othersShare: () => Promise<number>
  report: Report
}) {
  const { by, isScarce, tenantsOver, othersUnread, othersShare, report } = deps
  let over: readonly string[] = []
  let looking: Promise<void> | null = null
  const isInForce = () => over.length > 0 && isScarce()

  async function look(): Promise<readonly string[]> {
    const tenants = isScarce() ? await tenantsOver() : []
    return tenants.length > 0 && (await othersUnread(new Set(tenants))) ? tenants : []
  }

  function note(found: readonly string[]): void {
    const before = over
    over = found
    if (before.length === 0 && over.length > 0) report('shares:kept', { by, tenants: over })
    if (before.length > 0 && over.length === 0) report('shares:ended', { by })
  }

  return {
    isInForce,
    /** The same signal; while the share is in force, what the others have of the measure. */
    beside: (measure: () => Promise<PressureSignal>) => async (): Promise<PressureSignal> => {
      const signal = await measure()
      return signal.by === by && isInForce() ? { ...signal, share: await othersShare() } : signal
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

/** The same signal of memory for those that are not over their share; while one is, they may send, or intake would find nothing of theirs. */
export function besideThoseOver(
  over: () => readonly string[],
): (measure: () => Promise<PressureSignal>) => () => Promise<PressureSignal> {
  return (measure) => async () => {
    const signal = await measure()
    return signal.by === 'store-full' && over().length > 0 ? { ...signal, share: 0 } : signal
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
