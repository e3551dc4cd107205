import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Finding } from '../../contracts/facts/finding.ts'

const WAIT_MS = 10_000

/** The finding that an error is; one for a person names the remedy itself. */
export function broken(what: string, error: unknown, todo: string): Finding {
  // The message already names the remedy.
  if (error instanceof OperatorError) return { what, state: 'broken', detail: error.message }
  const detail = error instanceof Error ? (error.message.split('\n', 1)[0] ?? error.name) : 'failed'
  return { what, state: 'broken', detail: detail.replace(/\/\/[^@\s]*@/g, '//…@'), todo }
}

/** Rejects if the work takes too long for a person who waits. */
export async function withTimeout<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${WAIT_MS / 1000} s`)), WAIT_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
