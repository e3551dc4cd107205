import { FAULTS } from './faults.ts'
import { type PartitionLog, partitionLog } from './partition.ts'
import { answerByTopic, type BrokerAddress, byTopic, NO_THROTTLE, NODE, type Request } from './request.ts'
import { int8, int16, int32, int64, list, sized, text, type Wire } from './wire.ts'

/** Partitions of a topic. */
const PARTITIONS = 4
/** What ListOffsets asks for in the place of a timestamp. */
const LATEST = -1
const EARLIEST = -2

/** The requests about topics and their records. A topic is created when its metadata are first asked for with leave to. */
export function logRequests(address: BrokerAddress) {
  const topics = new Map<string, readonly PartitionLog[]>()
  /** One for each fetch that waits for more bytes; called when there are some. */
  const waiting = new Set<() => void>()

  const logOf = (topic: string, partition: number) => topics.get(topic)?.[partition]

  function metadata({ body }: Request): Wire {
    const asked = body.listOrAll(body.text)
    const create = body.int8() !== 0
    const names = asked ?? [...topics.keys()]
    if (create)
      for (const name of names)
        if (!topics.has(name)) topics.set(name, Array.from({ length: PARTITIONS }, partitionLog))
    const { host, port } = address()
    const replicas = list([NODE], int32)
    return [
      ...NO_THROTTLE,
      ...list([NODE], (node) => [...int32(node), ...text(host), ...int32(port), ...text(null)]),
      ...text('gavel-memory'),
      ...int32(NODE),
      ...list(names, (name) => {
        const partitions = topics.get(name)
        return [
          ...int16(partitions ? 0 : FAULTS.unknownTopic),
          ...text(name),
          ...int8(0),
          ...list([...(partitions?.keys() ?? [])], (partition) => [
            ...int16(0),
            ...int32(partition),
            ...int32(NODE),
            ...replicas,
            ...replicas,
          ]),
        ]
      }),
    ]
  }

  function produce({ body }: Request): Wire | null {
    body.text() // a transaction's id: none is known here
    const acks = body.int16()
    body.int32() // the time that replicas have
    const sent = byTopic(body, () => ({ partition: body.int32(), records: body.bytes() }))
    const answer = answerByTopic(sent, (topic, { partition, records }) => {
      const { offset, fault } = logOf(topic, partition)?.append(records) ?? { offset: -1, fault: FAULTS.unknownTopic }
      return [...int32(partition), ...int16(fault), ...int64(offset), ...int64(-1)]
    })
    for (const answerIfEnough of [...waiting]) answerIfEnough()
    return acks === 0 ? null : [...answer, ...NO_THROTTLE]
  }

  async function fetch({ body }: Request): Promise<Wire> {
    body.int32() // the replica that asks: a consumer
    const [waitMs, minBytes, maxBytes] = [body.int32(), body.int32(), body.int32()]
    body.int8() // isolation: there are no transactions
    const asked = byTopic(body, () => ({ partition: body.int32(), offset: body.int64(), maxBytes: body.int32() }))
    const read = () => {
      let bytes = 0
      let failed = false
      const answer = answerByTopic(asked, (topic, { partition, offset, maxBytes: most }) => {
        const log = logOf(topic, partition)
        const room = maxBytes - bytes
        const found = log === undefined ? null : room > 0 ? log.read(offset, Math.min(most, room)) : []
        failed ||= found === null
        for (const { length } of found ?? []) bytes += length
        const fault = log === undefined ? FAULTS.unknownTopic : found === null ? FAULTS.offsetOutOfRange : 0
        const end = int64(log?.end() ?? -1)
        return [...int32(partition), ...int16(fault), ...end, ...end, ...int32(0), ...sized(found ?? [])]
      })
      return { answer: [...NO_THROTTLE, ...answer], enough: failed || bytes >= minBytes }
    }
    const { answer, enough } = read()
    if (enough) return answer
    return await new Promise((resolve) => {
      const end = (last: Wire) => {
        clearTimeout(timer)
        waiting.delete(answerIfEnough)
        resolve(last)
      }
      const answerIfEnough = () => {
        const now = read()
        if (now.enough) end(now.answer)
      }
      const timer = setTimeout(() => end(read().answer), waitMs)
      waiting.add(answerIfEnough)
    })
  }

  function listOffsets({ body }: Request): Wire {
    body.int32() // the replica that asks: a consumer
    const asked = byTopic(body, () => ({ partition: body.int32(), timestamp: body.int64() }))
    return answerByTopic(asked, (topic, { partition, timestamp }) => {
      const log = logOf(topic, partition)
      const offset = timestamp === LATEST ? log?.end() : timestamp === EARLIEST ? log?.start() : log?.since(timestamp)
      return [...int32(partition), ...int16(log ? 0 : FAULTS.unknownTopic), ...int64(-1), ...int64(offset ?? -1)]
    })
  }

  return { topics, metadata, produce, fetch, listOffsets }
}
