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

/** What it said of a hash is remembered for so long, in ms, of so many. */
const [REMEMBERED_MS, MOST_REMEMBERED] = [60_000, 10_000]
/** After so many questions in a row without any answer it is asked nothing for so long, in ms, then one question. */
const [MOST_SILENT, LEFT_ALONE_MS] = [5, 5_000]

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
 * such answer in time, and at once where it has been silent lately. It is sent the hash and nothing else.
 */
export function hashService(address: string, timeoutMs: number, clock: Clock = Date.now) {
  const remembered = new Map<string, { readonly entry: string | null; readonly until: number }>()
  let [silent, askAgainAt] = [0, 0]

  function checkSilence(): void {
    if (silent < MOST_SILENT) return
    if (clock() < askAgainAt) throw new Error('it has not answered lately')
    // One question tries it; the others are told meanwhile.
    askAgainAt = clock() + LEFT_ALONE_MS
  }

  function known(hash: string) {
    const found = remembered.get(hash)
    return found === undefined || found.until <= clock() ? undefined : found
  }

  async function ask(wanted: Wanted): Promise<string | null> {
    checkSilence()
    const entry = await answered(async () => entryIn(await send(address, wanted, timeoutMs), wanted.hash))
    remembered.delete(wanted.hash)
    remembered.set(wanted.hash, { entry, until: clock() + REMEMBERED_MS })
    for (const oldest of remembered.keys()) {
      if (remembered.size <= MOST_REMEMBERED) break
      remembered.delete(oldest)
    }
    return entry
  }

  /** A wrong answer is one all the same: of some hash it may always be wrong. */
  async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await work()
      silent = 0
      return answer
    } catch (error) {
      if (error instanceof WrongAnswer) silent = 0
      else if (++silent >= MOST_SILENT) askAgainAt = clock() + LEFT_ALONE_MS
      throw error
    }
  }

  return async (wanted: Wanted, turn: AskingTurn): Promise<string | null> => {
    const { hash } = wanted
    // Others may ask the same while this waits for its turn.
    const found = known(hash) ?? (await turn(async () => known(hash) ?? { entry: await ask(wanted) }))
    return found.entry
  }
}

class WrongAnswer extends Error {}

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
