import { connect, createServer, type Socket } from 'node:net'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'

/** What a producer sends in one request, as a broker sees it before it keeps anything. */
export interface ProduceRequest {
  readonly acks: number
  readonly topics: readonly string[]
  /** Number of the codec of each batch: 0 is none, 1 gzip. */
  readonly codecs: readonly number[]
}

/** The code of the error for all of a request; 0: the broker itself answers it. */
export type Refuse = (request: ProduceRequest) => number

/** A way to a broker on this machine that answers some requests of producers as another make of broker, or a proxy before it, would. */
export interface RefusingKafka {
  /** HOST:PORT, to which it refers clients too. */
  readonly address: string
  refuse(rule: Refuse | null): void
  close(): Promise<void>
}

const [PRODUCE, METADATA] = [0, 3]
/** Where the records of a batch have their codec. */
const ATTRIBUTES_AT = 21

export async function refusingKafka(broker: string): Promise<RefusingKafka> {
  const [host = '', brokerPort = ''] = broker.split(':')
  const port = await freePort()
  const sockets = new Set<Socket>()
  let rule: Refuse | null = null
  const server = createServer((client) => {
    const upstream = connect(Number(brokerPort), host)
    /** Requests for metadata, by their correlation: their answers name the broker's own port. */
    const metadata = new Set<number>()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    onFrames(client, (frame) => {
      const [key, correlation] = [frame.readInt16BE(4), frame.readInt32BE(8)]
      if (key === METADATA) metadata.add(correlation)
      const produced = key === PRODUCE ? produceIn(frame) : null
      const code = produced === null ? 0 : (rule?.(produced) ?? 0)
      if (produced === null || code === 0) upstream.write(frame)
      else client.write(refusal(correlation, produced, code))
    })
    onFrames(upstream, (frame) => {
      if (metadata.delete(frame.readInt32BE(4))) referTo(frame, port)
      client.write(frame)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${port}`,
    refuse(changed) {
      rule = changed
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Calls `take` for each whole request or response, with its length. */
function onFrames(socket: Socket, take: (frame: Buffer) => void): void {
  let bytes = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
      const end = 4 + bytes.readInt32BE(0)
      take(Buffer.from(bytes.subarray(0, end)))
      bytes = bytes.subarray(end)
    }
  })
}

interface Produced extends ProduceRequest {
  readonly partitions: ReadonlyMap<string, readonly number[]>
}

/** A request of versions 3 to 7 of Produce. */
function produceIn(frame: Buffer): Produced {
  let at = 12
  const int16 = () => {
    at += 2
    return frame.readInt16BE(at - 2)
  }
  const int32 = () => {
    at += 4
    return frame.readInt32BE(at - 4)
  }
  const string = () => {
    const length = int16()
    if (length < 0) return ''
    at += length
    return frame.toString('utf8', at - length, at)
  }
  string()
  string()
  const acks = int16()
  int32()
  const partitions = new Map<string, readonly number[]>()
  const codecs: number[] = []
  for (let topics = int32(); topics > 0; topics--) {
    const topic = string()
    const numbers: number[] = []
    for (let left = int32(); left > 0; left--) {
      numbers.push(int32())
      const size = int32()
      codecs.push(frame.readInt16BE(at + ATTRIBUTES_AT) & 7)
      at += size
    }
    partitions.set(topic, numbers)
  }
  return { acks, topics: [...partitions.keys()], codecs, partitions }
}

/** The response of versions 5 to 7. */
function refusal(correlation: number, { partitions }: Produced, code: number): Buffer {
  const int = (value: number, bytes: 2 | 4) => {
    const part = Buffer.alloc(bytes)
    part.writeIntBE(value, 0, bytes)
    return part
  }
  const body = [int(correlation, 4), int(partitions.size, 4)]
  for (const [topic, numbers] of partitions) {
    body.push(int(Buffer.byteLength(topic), 2), Buffer.from(topic), int(numbers.length, 4))
    // No offset, no time and no first offset.
    for (const number of numbers) body.push(int(number, 4), int(code, 2), Buffer.alloc(24, 0xff))
  }
  body.push(int(0, 4))
  const all = Buffer.concat(body)
  return Buffer.concat([int(all.length, 4), all])
}

/** Puts this port in the place of each broker's, in a response to Metadata of version 3 or later. */
function referTo(frame: Buffer, port: number): void {
  let at = 12
  const skipString = () => {
    at += 2 + Math.max(0, frame.readInt16BE(at))
  }
  const brokers = frame.readInt32BE(at)
  at += 4
  for (let left = brokers; left > 0; left--) {
    at += 4
    skipString()
    frame.writeInt32BE(port, at)
    at += 4
    skipString()
  }
}
