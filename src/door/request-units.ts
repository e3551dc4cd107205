/** The parts of a request that its key is charged for. */
export interface ChargedParts {
  /** Messages that it carries or puts on a topic: items of a list, or a post and its comments. */
  readonly messages?: number
  /** Most calls of models that may be made for it. A call that is retried, or made to another model instead, is one. */
  readonly calls?: number
  /** Images that are shown in these calls. */
  readonly images?: number
}

/** How many units of its key's rate a request costs: one for each of these parts, and at least one. */
export function requestUnits({ messages = 0, calls = 0, images = 0 }: ChargedParts): number {
  return Math.max(1, messages + calls + images)
}

/** Bytes that cost a unit: of a body, which is walked, parsed and written again, and of an answer. */
const [BODY_BYTES, ANSWER_BYTES] = [4_096, 16_384]

/** How many units of its key's rate reading a body costs beside its parts, whatever is then found in it. */
export function bodyUnits(body: Buffer): number {
  return Math.floor(body.length / BODY_BYTES)
}

/** How many units of its key's rate an answer costs beside its request. */
export function answerUnits({ headers }: Response): number {
  return Math.floor(Number(headers.get('content-length') ?? 0) / ANSWER_BYTES)
}

/** How long the record is read for a unit, in ms. */
const READ_MS = 1

/** How many units of its key's rate an answer costs for which the record was read so long. */
export function readUnits(ms: number): number {
  return Math.floor(ms / READ_MS)
}
