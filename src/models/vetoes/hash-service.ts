import { z } from 'zod'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

/** What a service answers to a hash. */
const answer = z.union([
  z.object({ match: z.literal(false) }),
  z.object({ match: z.literal(true), entry: z.string().min(1).max(200).optional() }),
])
/** Longest answer, in bytes. */
const MOST_BYTES = 65_536

/** What it said of a hash, or that it had no answer, is remembered for so long, in ms, of so many. */
const [REMEMBERED_MS, MOST_REMEMBERED] = [60_000, 10_000]
/** After so many questions in a row without any answer it is asked nothing for so long, in ms, then one question. */
const [MOST_SILENT, LEFT_ALONE_MS] = [5, 5_000]

/** From the first question without a proper answer on it may soon give one, for so long, in ms; and so for each hash. */
const BRIEF_MS = 30_000

/** It has given no proper answer, and may soon: who can wait asks again. */
export class NoAnswerYet extends Error {}

/** What is asked of a service. */
interface Wanted {
  readonly kind: 'sha256' | 'pdq'
  readonly hash: string
  readonly distance?: number
}

/** Has a question wait for its turn. */
export type AskingTurn = <Answer>(ask: () => Promise<Answer>) => Promise<Answer>

/**
 * A service of the platform's that is asked whether a hash is on its list: the entry, or null if it is not. Rejects where it gives no
 * such answer in time, and at once where it has been silent lately: with a {@link NoAnswerYet} as long as it has not failed for long. It is
 * sent the hash and nothing else.
 */
export function hashService(address: string, timeoutMs: number, clock: Clock = Date.now) {
  const remembered = new Map<string, { readonly entry: string | null; readonly until: number }>()
  /** When each hash was first and last asked about without an answer. */
  const unanswered = new Map<string, { readonly since: number; readonly at: number }>()
  let [silent, askAgainAt, failingSince, failedAt] = [0, 0, 0, Number.NEGATIVE_INFINITY]

  function checkSilence(): void {
    if (silent < MOST_SILENT) return
    if (clock() < askAgainAt) throw new Error('it has not answered lately')
    // One question tries it; the others are told meanwhile.
    askAgainAt = clock() + LEFT_ALONE_MS
  }

  /** Whether neither it nor this question has been without a proper answer for long. Who asks once more after that does not wait anew. */
  function isBrief(hash: string): boolean {
    const at = clock()
    const before = unanswered.get(hash)
    const since = before !== undefined && at - before.at < REMEMBERED_MS ? before.since : at
    remember(unanswered, hash, { since, at }, MOST_REMEMBERED)
    return at - since < BRIEF_MS && at - failingSince < BRIEF_MS
  }

  function known(hash: string) {
    const found = remembered.get(hash)
    return found === undefined || found.until <= clock() ? undefined : found
  }

  async function ask(wanted: Wanted): Promise<string | null> {
    checkSilence()
    const entry = await answered(async () => entryIn(await send(address, wanted, timeoutMs), wanted.hash))
    unanswered.delete(wanted.hash)
    remember(remembered, wanted.hash, { entry, until: clock() + REMEMBERED_MS }, MOST_REMEMBERED)
    return entry
  }

  /** A wrong answer is one all the same: of some hash it may always be wrong. */
  async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await work()
      silent = 0
      failedAt = Number.NEGATIVE_INFINITY
      return answer
    } catch (error) {
      if (clock() - failedAt >= BRIEF_MS) failingSince = clock()
      failedAt = clock()
      if (error instanceof WrongAnswer) silent = 0
      else if (++silent >= MOST_SILENT) askAgainAt = clock() + LEFT_ALONE_MS
      throw error
    }
  }

  return async (wanted: Wanted, turn: AskingTurn): Promise<string | null> => {
    const { hash } = wanted
    // Others may ask the same while this waits for its turn.
    const asked = () => turn(async () => known(hash) ?? { entry: await ask(wanted) })
    try {
      return (known(hash) ?? (await asked())).entry
    } catch (error) {
      if (!(error instanceof Error && isBrief(hash))) throw error
      throw new NoAnswerYet(error.message, { cause: error })
    }
  }
}

class WrongAnswer extends Error {}

/** Notes it as the newest, and forgets the oldest beyond so many. */
function remember<Value>(notes: Map<string, Value>, name: string, value: Value, most: number): void {
  notes.delete(name)
  notes.set(name, value)
  for (const oldest of notes.keys()) {
    if (notes.size <= most) break
    notes.delete(oldest)
  }
}

function send(address: string, wanted: Wanted, timeoutMs: number): Promise<Response> {
  return fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
}

async function entryIn(response: Response, hash: string): Promise<string | null> {
  if (!response.ok || response.body === null) throw new WrongAnswer(`it answered with status ${response.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new WrongAnswer(`its answer is longer than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  const found = answer.safeParse(jsonOf({ value: Buffer.concat(chunks).toString('utf8') }))
  if (!found.success) throw new WrongAnswer('its answer is none that is known')
  return found.data.match ? (found.data.entry ?? hash) : null
}
