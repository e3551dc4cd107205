import { BrokerRefused } from '../contracts/facts/broker-refusal.ts'
import type { Report } from '../contracts/ports/report.ts'
import { type OutgoingMessage, RefusedRecord, type TopicWriter } from '../contracts/ports/topic.ts'
import { RequestRefused } from './problem.ts'

/** Most records, and bytes of them, that are handed to Kafka at a time. */
const [MOST_RECORDS, MOST_BYTES] = [2_000, 1_000_000]
/** Most bytes that wait to be sent, and those of one tenant. */
const [MOST_WAITING_BYTES, MOST_OF_TENANT] = [32 * 2 ** 20, 16 * 2 ** 20]

/** What became of a record: every in-sync replica has it, or Kafka never takes it. */
export type SendOutcome = 'acknowledged' | 'refused'

export interface RecordSender {
  /** Longest time until that is known or given up, in ms. */
  readonly withinMs: number
  /**
   * Sends records of a tenant, after all of theirs that came before; one entry for each of them. Rejects with a `RequestRefused` where that is not known within
   * the time: they may arrive all the same, which does no harm, since a repeat of a message counts once.
   */
  send(tenant: string, records: readonly OutgoingMessage[]): Promise<SendOutcome[]>
}

/** The refusal of a request whose records are not known to be on their topics. */
export function unsent(error: unknown): RequestRefused {
  if (!(error instanceof BrokerRefused))
    return new RequestRefused('kafka-away', 'Kafka has not acknowledged all of it', { retryAfter: 5 })
  const why = `Kafka takes none of it until a setting is changed (${error.setting}): the operator has been told`
  return new RequestRefused('kafka-away', why, { retryAfter: 30 })
}

/** Records of one request: what is left of them to send, and what became of the others. */
interface Request {
  readonly records: readonly OutgoingMessage[]
  readonly became: SendOutcome[]
  /** Of how many it is not known yet. */
  unknown: number
  /** The first that was not handed over. */
  next: number
  isOver: boolean
  done(error?: unknown): void
}

/**
 * One batch at a time is on its way to Kafka; what comes meanwhile goes with the next one, of each tenant in the order in which it came,
 * so that messages about one subject stay in order however many clients send them. Tenants take turns.
 */
export function sending({
  writer,
  timeoutMs,
  report,
}: {
  writer: Pick<TopicWriter, 'send'>
  timeoutMs: number
  report: Report
}): RecordSender {
  const waiting = sendTurns()
  const waitingOf = new Map<string, number>()
  let waitingBytes = 0
  let isSending = false

  async function drain(): Promise<void> {
    if (isSending) return
    isSending = true
    try {
      for (let batch = waiting.next(); batch.length > 0; batch = waiting.next()) {
        const began = performance.now()
        await sendBatch(batch)
        report('door:sent', { records: batch.length, seconds: (performance.now() - began) / 1000 })
      }
    } finally {
      isSending = false
    }
  }

  async function sendBatch(batch: readonly RequestPart[]): Promise<void> {
    const settle = (part: RequestPart, became: SendOutcome) => {
      part.request.became[part.at] = became
      if (--part.request.unknown === 0) part.request.done()
    }
    if (batch.length === 0) return
    try {
      await writer.send(batch.map(({ record }) => record))
      for (const part of batch) settle(part, 'acknowledged')
    } catch (error) {
      const byTopic = Map.groupBy(batch, ({ record }) => record.topic)
      // One of them is refused: by themselves the topics show which.
      if (error instanceof BrokerRefused && byTopic.size > 1) {
        for (const parts of byTopic.values()) await sendBatch(parts.filter(({ request }) => !request.isOver))
        return
      }
      if (!(error instanceof RefusedRecord)) {
        for (const { request } of batch) request.done(error)
        return
      }
      // One of them is refused: by itself each shows which.
      for (const part of batch) {
        if (part.request.isOver) continue
        const became = await writer.send([part.record]).then(
          () => 'acknowledged' as const,
          (one: unknown) => (one instanceof RefusedRecord ? ('refused' as const) : one),
        )
        if (became === 'acknowledged' || became === 'refused') settle(part, became)
        else part.request.done(became)
      }
    }
  }

  return {
    withinMs: timeoutMs,
    async send(tenant, records) {
      if (records.length === 0) return []
      const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0)
      const own = waitingOf.get(tenant) ?? 0
      // One request is let in by itself, however large.
      if ((waitingBytes > 0 && waitingBytes + bytes > MOST_WAITING_BYTES) || (own > 0 && own + bytes > MOST_OF_TENANT))
        throw new RequestRefused('back-pressure', 'too much waits to be sent to Kafka', { retryAfter: 2 })
      waitingBytes += bytes
      waitingOf.set(tenant, own + bytes)
      const became: SendOutcome[] = []
      try {
        await new Promise<void>((resolve, reject) => {
          const late = setTimeout(() => request.done(new Error('no acknowledgement')), timeoutMs)
          const request: Request = {
            records,
            became,
            unknown: records.length,
            next: 0,
            isOver: false,
            done(error) {
              if (request.isOver) return
              request.isOver = true
              clearTimeout(late)
              // Behind a writer that hangs, what was given up would be held without being counted.
              waiting.delete(tenant, request)
              if (error === undefined) resolve()
              else reject(unsent(error))
            },
          }
          waiting.add(tenant, request)
          void drain()
        })
        return became
      } finally {
        waitingBytes -= bytes
        const left = (waitingOf.get(tenant) ?? 0) - bytes
        if (left > 0) waitingOf.set(tenant, left)
        else waitingOf.delete(tenant)
      }
    },
  }
}

/** A record of a request, and which of them it is. */
interface RequestPart {
  readonly request: Request
  readonly at: number
  readonly record: OutgoingMessage
}

/** Requests that wait, of each tenant in the order in which they came. */
function sendTurns() {
  const turns = new Map<string, Set<Request>>()

  /** The next record of these requests; those that nobody waits for any more are left out. */
  function nextOf(requests: Set<Request>): RequestPart | null {
    for (const request of requests) {
      const record = request.records[request.next]
      if (!request.isOver && record !== undefined) return { request, at: request.next, record }
      requests.delete(request)
    }
    return null
  }

  return {
    add(tenant: string, request: Request): void {
      const own = turns.get(tenant) ?? new Set()
      turns.set(tenant, own.add(request))
    },
    delete(tenant: string, request: Request): void {
      turns.get(tenant)?.delete(request)
    },
    /** The next records to send, one of each tenant after the other. */
    next(): RequestPart[] {
      const batch: RequestPart[] = []
      let bytes = 0
      for (const [tenant, requests] of turns) {
        const part = nextOf(requests)
        turns.delete(tenant)
        if (part === null) continue
        turns.set(tenant, requests)
        const size = sizeOf(part.record)
        if (batch.length === MOST_RECORDS || (batch.length > 0 && bytes + size > MOST_BYTES)) return batch
        bytes += size
        batch.push(part)
        part.request.next++
      }
      return batch
    },
  }
}

function sizeOf({ key, value }: OutgoingMessage): number {
  return Buffer.byteLength(key ?? '') + Buffer.byteLength(value) + 100
}
