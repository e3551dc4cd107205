import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { type OutgoingMessage, RefusedRecord } from '../../src/contracts/ports/topic.ts'
import type { PendingEntry } from './records.ts'
import { putDeadLetter, type SendingContext } from './send-entries.ts'

type SunkRecord = { readonly one: PendingEntry; readonly record: OutgoingMessage }

/**
 * Sends sinks what they get, and marks in each entry the records that are done with: acknowledged, or dead letters. Sinks are topics of
 * others: each is tried by itself, and what one refuses closes nothing. A record that is refused becomes a dead letter; so does, of an
 * entry of `overdue`, one whose topic takes nothing. Resolves to which topic takes nothing, and why; null if each takes what it gets.
 */
export async function sendSunk(
  context: SendingContext,
  pending: readonly PendingEntry[],
  overdue: ReadonlySet<PendingEntry>,
): Promise<string | null> {
  const unsent = pending.flatMap((one) =>
    one.sunk.filter((record) => !one.sent.has(record)).map((record) => ({ one, record })),
  )
  const failures = await Promise.all(
    [...Map.groupBy(unsent, ({ record }) => record.topic)].map(async ([topic, records]) => {
      const why = await sendTopic(context, records)
      if (why === null) return null
      const late = records.filter(({ one, record }) => overdue.has(one) && !one.sent.has(record))
      for (const each of late) await giveUp(context, each, why)
      return `${topic}: ${why}`
    }),
  )
  return failures.find((why) => why !== null) ?? null
}

/** Sends these records of one topic, together or, where one of them is refused, by themselves. Resolves to why it takes nothing. */
async function sendTopic(context: SendingContext, all: readonly SunkRecord[]): Promise<string | null> {
  const [only] = all
  try {
    await context.writer.send(all.map(({ record }) => record))
    for (const { one, record } of all) one.sent.add(record)
    return null
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    if (!isRefusal(error)) return why
    if (all.length === 1 && only !== undefined) await giveUp(context, only, why)
    else
      for (const each of all) {
        const takesNothing = await sendTopic(context, [each])
        if (takesNothing !== null) return takesNothing
      }
    return null
  }
}

/** Whether it stays refused. Copies that are not in sync come back. */
function isRefusal(error: unknown): boolean {
  return error instanceof RefusedRecord || (error instanceof BrokerRefused && error.setting !== 'replicas')
}

async function giveUp(context: SendingContext, { one, record }: SunkRecord, why: string): Promise<void> {
  await putDeadLetter(context, record, why, one.entry)
  one.sent.add(record)
}
