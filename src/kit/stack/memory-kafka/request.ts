import { int32, list, text, type Wire, type WireReader } from './wire.ts'

/** A request behind its header. */
export interface Request {
  readonly clientId: string
  readonly body: WireReader
}
/** Reads one kind of request and answers it; null where the client wants no answer. */
export type Handler = (request: Request) => Wire | null | Promise<Wire | null>
/** The address to which clients are to connect. */
export type BrokerAddress = () => { host: string; port: number }

/** The id of the one node. */
export const NODE = 0
export const NO_THROTTLE = int32(0)

interface OfTopic<Part> {
  readonly topic: string
  readonly partitions: readonly Part[]
}

/** The partitions of a request, grouped by topic; `part` reads one. */
export function byTopic<Part>(body: WireReader, part: () => Part): OfTopic<Part>[] {
  return body.list(() => ({ topic: body.text(), partitions: body.list(part) }))
}

/** An answer grouped by topic as the request was; `answer` writes one partition. */
export function answerByTopic<Part>(of: readonly OfTopic<Part>[], answer: (topic: string, part: Part) => Wire): Wire {
  return list(of, ({ topic, partitions }) => [...text(topic), ...list(partitions, (part) => answer(topic, part))])
}
