import type { Socket } from 'node:net'
import { FAULTS } from './faults.ts'
import { type ConsumerGroup, consumerGroup } from './group.ts'
import { type PartitionLog, partitionLog } from './partition.ts'
import { int8, int16, int32, int64, list, sized, text, type Wire, type WireReader, wireReader } from './wire.ts'

const PARTITIONS = 4
const NODE = 0
const NO_THROTTLE = int32(0)
/** Larger requests end their connection: nobody here has one. */
const MAX_REQUEST_BYTES = 128 * 1024 * 1024
const LATEST = -1
const EARLIEST = -2

interface Request {
  readonly clientId: string
  readonly body: WireReader
}
/** Null where the client wants no answer. */
type Handler = (request: Request) => Wire | null | Promise<Wire | null>
interface Api {
  readonly key: number
  readonly versions: readonly [min: number, max: number]
  readonly handle: Handler
}

/**
 * Kafka's protocol over memory, one node: of each kind of request the one version that is named beside it. `address` is where
 * clients are told to come.
 */
export function memoryBroker(address: () => { host: string; port: number }) {
  const topics = new Map<string, readonly PartitionLog[]>()
  const groups = new Map<string, ConsumerGroup>()
  const waiting = new Set<() => void>()

  const logOf = (topic: string, partition: number) => topics.get(topic)?.[partition]
  const groupOf = (id: string): ConsumerGroup => {
    const group = groups.get(id) ?? consumerGroup()
    groups.set(id, group)
    return group
  }

  const apis: readonly Api[] = [
    { key: 0, versions: [3, 3], handle: produce },
    { key: 1, versions: [4, 4], handle: fetch },
    { key: 2, versions: [1, 1], handle: listOffsets },
    { key: 3, versions: [4, 4], handle: metadata },
    { key: 8, versions: [2, 2], handle: commitOffsets },
    { key: 9, versions: [3, 3], handle: fetchOffsets },
    { key: 10, versions: [1, 1], handle: findCoordinator },
    { key: 11, versions: [2, 2], handle: joinGroup },
    { key: 12, versions: [1, 1], handle: heartbeat },
    { key: 13, versions: [1, 1], handle: leaveGroup },
    { key: 14, versions: [1, 1], handle: syncGroup },
    { key: 15, versions: [1, 1], handle: describeGroups },
    { key: 18, versions: [0, 2], handle: () => [...versions(0), ...NO_THROTTLE] },
    { key: 42, versions: [0, 0], handle: deleteGroups },
  ]

  function versions(fault: number): Wire {
    return [...int16(fault), ...list(apis, ({ key, versions: [min, max] }) => [key, min, max].flatMap(int16))]
  }

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
    for (const look of [...waiting]) look()
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
        waiting.delete(look)
        resolve(last)
      }
      const look = () => {
        const now = read()
        if (now.enough) end(now.answer)
      }
      const timer = setTimeout(() => end(read().answer), waitMs)
      waiting.add(look)
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

  function findCoordinator({ body }: Request): Wire {
    body.text()
    body.int8()
    const { host, port } = address()
    return [...NO_THROTTLE, ...int16(0), ...text(null), ...int32(NODE), ...text(host), ...int32(port)]
  }

  async function joinGroup({ body, clientId }: Request): Promise<Wire> {
    const [group, sessionMs, rebalanceMs, memberId] = [body.text(), body.int32(), body.int32(), body.text()]
    body.text() // the type of protocol: consumer
    const protocols = new Map(body.list(() => [body.text(), body.bytes()] as const))
    const joined = await groupOf(group).join({ memberId, clientId, sessionMs, rebalanceMs, protocols })
    return [
      ...[...NO_THROTTLE, ...int16(joined.fault), ...int32(joined.generation), ...text(joined.protocol)],
      ...[...text(joined.leader), ...text(joined.memberId)],
      ...list(joined.members, ({ id, metadata: own }) => [...text(id), ...sized([own])]),
    ]
  }

  async function syncGroup({ body }: Request): Promise<Wire> {
    const [group, generation, memberId] = [body.text(), body.int32(), body.text()]
    const assignments = new Map(body.list(() => [body.text(), body.bytes()] as const))
    const { fault, assignment } = await groupOf(group).sync(memberId, generation, assignments)
    return [...NO_THROTTLE, ...int16(fault), ...sized([assignment])]
  }

  function heartbeat({ body }: Request): Wire {
    const [group, generation, memberId] = [body.text(), body.int32(), body.text()]
    return [...NO_THROTTLE, ...int16(groupOf(group).heartbeat(memberId, generation))]
  }

  function leaveGroup({ body }: Request): Wire {
    const [group, memberId] = [body.text(), body.text()]
    return [...NO_THROTTLE, ...int16(groupOf(group).leave(memberId))]
  }

  function commitOffsets({ body }: Request): Wire {
    const [id, generation, memberId] = [body.text(), body.int32(), body.text()]
    body.int64() // how long to keep them: as long as this process
    const group = groupOf(id)
    const fault = group.mayCommit(memberId, generation)
    const sent = byTopic(body, () => ({ partition: body.int32(), offset: body.int64(), metadata: body.text() }))
    return answerByTopic(sent, (topic, { partition, ...position }) => {
      if (fault === 0) group.offsets.set(`${partition} ${topic}`, position)
      return [...int32(partition), ...int16(fault)]
    })
  }

  function fetchOffsets({ body }: Request): Wire {
    const { offsets } = groupOf(body.text())
    const known = [...topics].map(([topic, logs]) => ({ topic, partitions: [...logs.keys()] }))
    const asked = body.listOrAll(() => ({ topic: body.text(), partitions: body.list(body.int32) })) ?? known
    const answer = answerByTopic(asked, (topic, partition) => {
      const { offset, metadata: own } = offsets.get(`${partition} ${topic}`) ?? { offset: -1, metadata: '' }
      return [...int32(partition), ...int64(offset), ...text(own), ...int16(0)]
    })
    return [...NO_THROTTLE, ...answer, ...int16(0)]
  }

  function describeGroups({ body }: Request): Wire {
    const described = body.list(body.text).map((id) => ({ id, ...groups.get(id)?.described() }))
    return [
      ...NO_THROTTLE,
      ...list(described, ({ id, state = 'Dead', protocol = '', members = [] }) => [
        ...[...int16(0), ...text(id), ...text(state), ...text('consumer'), ...text(protocol)],
        ...list(members, (one) => [
          ...[...text(one.id), ...text(one.clientId), ...text('/127.0.0.1')],
          ...[...sized([one.metadata]), ...sized([one.assignment])],
        ]),
      ]),
    ]
  }

  function deleteGroups({ body }: Request): Wire {
    const results = body.list(body.text).map((id) => {
      const group = groups.get(id)
      if (group?.isEmpty()) groups.delete(id)
      return { id, fault: group === undefined ? FAULTS.groupNotFound : group.isEmpty() ? 0 : FAULTS.groupNotEmpty }
    })
    return [...NO_THROTTLE, ...list(results, ({ id, fault }) => [...text(id), ...int16(fault)])]
  }

  async function answer(bytes: Buffer): Promise<Wire | null> {
    const body = wireReader(bytes)
    const [key, version, correlation] = [body.int16(), body.int16(), body.int32()]
    const api = apis.find((one) => one.key === key)
    if (api === undefined || version < api.versions[0] || version > api.versions[1]) {
      // By the protocol whoever asks for the versions in one that is unknown gets them in the oldest; others made a mistake.
      if (key !== VERSIONS_KEY) throw new RangeError(`request ${key} of version ${version} is not served`)
      return sized([...int32(correlation), ...versions(FAULTS.unsupportedVersion)])
    }
    if (key === VERSIONS_KEY && version === 0) return sized([...int32(correlation), ...versions(0)])
    const content = await api.handle({ clientId: body.text(), body })
    return content && sized([...int32(correlation), ...content])
  }

  return {
    /** Serves a client until it goes: its requests one after the other, as brokers do. */
    serve(socket: Socket): void {
      let pending: Buffer = Buffer.alloc(0)
      let last: Promise<void> = Promise.resolve()
      const take = (request: Buffer) => {
        last = last.then(async () => {
          const parts = await answer(request)
          if (parts !== null && !socket.destroyed) socket.write(Buffer.concat(parts))
        })
        last = last.catch(() => void socket.destroy())
      }
      socket.on('error', () => socket.destroy())
      socket.on('data', (chunk: Buffer) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
        while (pending.length >= 4) {
          const length = pending.readInt32BE(0)
          if (length < 0 || length > MAX_REQUEST_BYTES) return void socket.destroy()
          if (pending.length < 4 + length) return
          take(pending.subarray(4, 4 + length))
          pending = pending.subarray(4 + length)
        }
      })
    },
  }
}

const VERSIONS_KEY = 18

interface OfTopic<Part> {
  readonly topic: string
  readonly partitions: readonly Part[]
}

function byTopic<Part>(body: WireReader, part: () => Part): OfTopic<Part>[] {
  return body.list(() => ({ topic: body.text(), partitions: body.list(part) }))
}

function answerByTopic<Part>(of: readonly OfTopic<Part>[], answer: (topic: string, part: Part) => Wire): Wire {
  return list(of, ({ topic, partitions }) => [...text(topic), ...list(partitions, (part) => answer(topic, part))])
}
