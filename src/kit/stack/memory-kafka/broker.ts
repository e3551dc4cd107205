import type { Socket } from 'node:net'
import { describeConfigs } from './config-requests.ts'
import { FAULTS } from './faults.ts'
import { groupRequests } from './group-requests.ts'
import { logRequests } from './log-requests.ts'
import { type BrokerAddress, type Handler, NO_THROTTLE } from './request.ts'
import { int16, int32, list, sized, type Wire, wireReader } from './wire.ts'

/** A client that announces a larger request is disconnected: no client here has one. */
const MAX_REQUEST_BYTES = 128 * 1024 * 1024
/** The key of ApiVersions. */
const VERSIONS_KEY = 18

interface Api {
  readonly key: number
  readonly versions: readonly [min: number, max: number]
  readonly handle: Handler
}

/**
 * Kafka's protocol over memory, one node: of each kind of request the one version that is named beside it. `address` is where
 * clients are to connect.
 */
export function memoryBroker(address: BrokerAddress) {
  const logs = logRequests(address)
  const groups = groupRequests(logs.topics, address)

  const apis: readonly Api[] = [
    { key: 0, versions: [3, 3], handle: logs.produce },
    { key: 1, versions: [4, 4], handle: logs.fetch },
    { key: 2, versions: [1, 1], handle: logs.listOffsets },
    { key: 3, versions: [4, 4], handle: logs.metadata },
    { key: 8, versions: [2, 2], handle: groups.commitOffsets },
    { key: 9, versions: [3, 3], handle: groups.fetchOffsets },
    { key: 10, versions: [1, 1], handle: groups.findCoordinator },
    { key: 11, versions: [2, 2], handle: groups.joinGroup },
    { key: 12, versions: [1, 1], handle: groups.heartbeat },
    { key: 13, versions: [1, 1], handle: groups.leaveGroup },
    { key: 14, versions: [1, 1], handle: groups.syncGroup },
    { key: 15, versions: [1, 1], handle: groups.describeGroups },
    { key: VERSIONS_KEY, versions: [0, 2], handle: () => [...versions(0), ...NO_THROTTLE] },
    { key: 32, versions: [0, 0], handle: describeConfigs },
    { key: 42, versions: [0, 0], handle: groups.deleteGroups },
  ]

  function versions(fault: number): Wire {
    return [...int16(fault), ...list(apis, ({ key, versions: [min, max] }) => [key, min, max].flatMap(int16))]
  }

  /** The answer to a request, with its length in front; null where the client wants none. Throws for a malformed request. */
  async function answer(bytes: Buffer): Promise<Wire | null> {
    const body = wireReader(bytes)
    const [key, version, correlation] = [body.int16(), body.int16(), body.int32()]
    const api = apis.find((one) => one.key === key)
    if (api === undefined || version < api.versions[0] || version > api.versions[1]) {
      // By the protocol, ApiVersions of an unknown version is answered in the oldest; any other request is the client's error.
      if (key !== VERSIONS_KEY) throw new RangeError(`request ${key} of version ${version} is not served`)
      return sized([...int32(correlation), ...versions(FAULTS.unsupportedVersion)])
    }
    if (key === VERSIONS_KEY && version === 0) return sized([...int32(correlation), ...versions(0)])
    const content = await api.handle({ clientId: body.text(), body })
    return content && sized([...int32(correlation), ...content])
  }

  return {
    /** Serves a client until it disconnects: its requests one after the other, as brokers do. */
    serve: (socket: Socket): void => serveRequests(socket, answer),
  }
}

/** Cuts what a client sends into requests and writes their answers in order; one that can't be answered ends the connection. */
function serveRequests(socket: Socket, answer: (request: Buffer) => Promise<Wire | null>): void {
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
}
