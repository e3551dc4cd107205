import type { Redis } from 'ioredis'
import { z } from 'zod'
import { script } from './script.ts'

const keep = script('memo/keep', {
  keys: ['frames[].index', 'frames[].frame'],
  args: ['keepMs', 'frames[].name', 'frames[].asker', 'frames[].count', 'items[].name', 'items[].entry'],
})

/** Answers to questions of one frame, by one asker. */
export interface KeptFrame {
  readonly index: string
  readonly frame: string
  readonly name: string
  readonly asker: string
  readonly items: readonly { readonly name: string; readonly entry: string }[]
}

interface Waiting extends KeptFrame {
  resolve(kept: boolean[]): void
  reject(error: unknown): void
}

const flags = z.array(z.number())
/** Answers stored in one step: few enough not to block Redis. */
const KEPT_AT_ONCE = 200

/**
 * Stores answers, all that one turn of the event loop brings in one step: under load a script costs more than what it
 * stores.
 */
export function keepTogether(client: Redis): (kept: KeptFrame, keepMs: number) => Promise<boolean[]> {
  const waiting = new Map<number, Waiting[]>()

  async function store(frames: readonly Waiting[], keepMs: number): Promise<void> {
    try {
      const given = { keepMs, frames: frames.map(rowOf), items: frames.flatMap(({ items }) => items) }
      const stored = flags.parse(await keep(client, given)).map((flag) => flag === 1)
      let from = 0
      for (const { items, resolve } of frames) {
        resolve(stored.slice(from, from + items.length))
        from += items.length
      }
    } catch (error) {
      for (const { reject } of frames) reject(error)
    }
  }

  function storeAll(): void {
    for (const [keepMs, all] of waiting) {
      let [some, items]: [Waiting[], number] = [[], 0]
      for (const one of all) {
        if (some.length > 0 && items + one.items.length > KEPT_AT_ONCE) {
          void store(some, keepMs)
          ;[some, items] = [[], 0]
        }
        some.push(one)
        items += one.items.length
      }
      void store(some, keepMs)
    }
    waiting.clear()
  }

  return (kept, keepMs) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(storeAll)
      const some = waiting.get(keepMs) ?? []
      some.push({ ...kept, resolve, reject })
      waiting.set(keepMs, some)
    })
}

function rowOf({ index, frame, name, asker, items }: KeptFrame) {
  return { index, frame, name, asker, count: items.length }
}
