/** Kafka has not answered in time; the connection may be dead without an error. */
export class NoAnswer extends Error {}

/** Rejects with a {@link NoAnswer} if the promise has not settled within this many ms. */
export async function withTimeout<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(`no answer within ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
