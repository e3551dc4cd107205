import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ClassShares,
  classOf,
  newRequestId,
  ownerOf,
  type ServiceClass,
} from '../../../src/contracts/facts/service-class.ts'
import { fairSlots } from '../../../src/contracts/facts/slots.ts'
import { verdictId } from '../../../src/contracts/facts/verdict-id.ts'

const { signal } = new AbortController()
const ofRequest = (request: string, tenant = 'acme') =>
  verdictId({ protocol: 'hate', tenant, subjectId: request, revision: 1, asked: true })

describe('the class of a case', () => {
  test('is in the id of the request that it answers', () => {
    const [waited, unwaited] = [newRequestId(true), newRequestId(false)]
    for (const id of [waited, unwaited]) expect(id).toMatch(/^[0-9a-f]{32}$/)
    const post = verdictId({ protocol: 'hate', tenant: 'acme', subjectId: waited, revision: 1 })
    expect([ofRequest(waited), ofRequest(waited, 'default'), ofRequest(unwaited), post].map(classOf)).toEqual([
      'waiting',
      'waiting',
      'rest',
      'rest',
    ])
    expect(ownerOf(ofRequest(waited), 'an author')).toEqual({ name: 'waiting', part: 'acme' })
    expect(ownerOf(post, 'an author')).toEqual({ name: 'rest', part: 'an author' })
  })
})

/** One call: it is begun by the slots, and ended by the test. */
interface Call {
  readonly name: ServiceClass
  readonly part: string
  end: (() => void) | null
}

/** Slots with calls of both classes, of which each step begins one or ends one. */
function played(all: number, weights: ClassShares) {
  const slots = fairSlots({ all: () => all, weights })
  const calls: Call[] = []
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    slots,
    want(name: ServiceClass, part: string) {
      const call: Call = { name, part, end: null }
      calls.push(call)
      void slots.run({ name, part }, signal, () => new Promise<void>((end) => (call.end = end)))
    },
    async endOldest(mine: (call: Call) => boolean = () => true) {
      const [call] = calls.filter((one) => one.end !== null && mine(one))
      if (call === undefined) return
      calls.splice(calls.indexOf(call), 1)
      call.end?.()
      await settle()
    },
    settle,
    busy: (name: ServiceClass, part?: string) =>
      calls.filter((one) => one.end !== null && one.name === name && (part ?? one.part) === one.part).length,
    waiting: (name: ServiceClass) => calls.filter((one) => one.end === null && one.name === name).length,
  }
}

const shares = fc
  .tuple(fc.integer({ min: 1, max: 98 }), fc.integer({ min: 1, max: 98 }))
  .filter(([waiting, rest]) => waiting + rest <= 100)
  .map(([waiting, rest]): ClassShares => ({ waiting: waiting / 100, rest: rest / 100 }))

const CLASSES = ['waiting', 'rest'] as const

describe('classes at slots', () => {
  test('borrow what the other does not want, and give it back within one call: each has its part of the slots then', async () => {
    const history = fc.array(fc.tuple(fc.constantFrom('waiting', 'rest', 'end'), fc.nat(3)), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 16 }), shares, history, async (all, weights, steps) => {
        const game = played(all, weights)
        for (const [step, part] of steps) {
          if (step === 'end') await game.endOldest()
          else game.want(step, String(part))
          await game.settle()
          // Nothing stands idle that somebody wants.
          const { busy, waiting } = game.slots.load()
          expect(busy === all || waiting === 0).toBe(true)
        }
        // From now on both want all that they can get, and each call that runs ends once.
        for (const name of CLASSES) for (let n = 0; n < 3 * all; n++) game.want(name, String(n % 3))
        await game.settle()
        for (let n = 0; n < all; n++) await game.endOldest()
        for (const name of CLASSES) expect(game.busy(name)).toBeGreaterThanOrEqual(Math.floor(weights[name] * all))
      }),
      { numRuns: 60 },
    )
  })

  test('starve neither, with one slot only, however much either wants', async () => {
    const game = played(1, { waiting: 0.25, rest: 0.5 })
    const served = { waiting: 0, rest: 0 }
    for (let n = 0; n < 40; n++) {
      for (const name of CLASSES) if (game.waiting(name) < 3) game.want(name, 'one')
      await game.settle()
      for (const name of CLASSES) served[name] += game.busy(name)
      await game.endOldest()
    }
    expect(Math.min(served.waiting, served.rest)).toBeGreaterThanOrEqual(10)
  })

  test('share what a class has fairly between its tenants, by calls and not by questions', async () => {
    const game = played(12, { waiting: 0.25, rest: 0.5 })
    for (let n = 0; n < 40; n++) game.want('rest', 'stream')
    // One tenant asks for 25 calls at once, two for three.
    for (let n = 0; n < 25; n++) game.want('waiting', 'dear')
    for (const tenant of ['a', 'b']) for (let n = 0; n < 3; n++) game.want('waiting', tenant)
    await game.settle()
    for (let n = 0; n < 12; n++) await game.endOldest(({ name }) => name === 'rest')
    expect(game.busy('rest')).toBe(8)
    expect(['dear', 'a', 'b'].map((tenant) => game.busy('waiting', tenant)).sort()).toEqual([1, 1, 2])
  })
})
