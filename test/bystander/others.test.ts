import './work-of.ts'

import { describe, expect, test } from 'vitest'
import { Sessions } from '../../src/console/sessions.ts'
import { fairSlots } from '../../src/contracts/facts/slots.ts'
import { sending } from '../../src/door/sending.ts'
import { waitersOf } from '../../src/door/waiters.ts'
import { answerWaiters } from '../../src/store/answer/waiters.ts'
import { POST, testDoor } from '../door/door-for-tests.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { workOf } from './work-of.ts'

// What a bystander's request costs, by how many others there are: strangers, keys, tenants, people. Redis: others-in-redis.test.ts.

/** A crowd of so many others, and what a bystander does beside it, again and again. */
interface Beside {
  readonly name: string
  readonly of: (others: number) => Promise<() => Promise<unknown>> | (() => Promise<unknown>)
}

const [FEW, MANY] = IN_PROOF ? [1_000, 10_000] : [100, 800]

/** A door that a bystander sends a post through; what happened there before. */
async function besideAt(before: (door: ReturnType<typeof testDoor>) => Promise<unknown> | unknown) {
  const door = testDoor({ rate: { perSecond: 1e9, burst: 1e9 } })
  await before(door)
  return async () => {
    const { status } = await door.ask('POST', '/v1/messages', POST)
    expect(status).toBe(200)
  }
}
type TestDoor = ReturnType<typeof testDoor>
/** Asks as somebody at this address, with this key. */
const askFrom = ({ fetch, from }: TestDoor, nth: number, key: string) =>
  fetch(
    new Request('http://localhost:8420/v1/messages', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(POST),
    }),
    { ...from, asker: { network: `10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}` } },
  )

/** As many sessions as there may be: of those before it, each new one ends the oldest. */
const MOST_SESSIONS = 1_000
const never = new Promise<never>(() => {})
/** A slot, for which so many tasks wait; again and again one ends, and one more comes. */
function besideWaiting(whose: (nth: number) => { name: string; part: string }) {
  return (others: number) => {
    const slots = fairSlots({ all: () => 1 })
    const begun: (() => void)[] = []
    let next = 0
    const come = () =>
      void slots.run(whose(next++), new AbortController().signal, () => new Promise<void>((end) => begun.push(end)))
    for (let nth = 0; nth <= others; nth++) come()
    return async () => {
      come()
      begun.shift()?.()
      await new Promise(setImmediate)
      expect(begun).toHaveLength(1)
    }
  }
}

const WAYS: readonly Beside[] = [
  {
    name: 'strangers with wrong keys, each from an address of its own',
    of: (others) =>
      besideAt(async (door) => {
        for (let nth = 0; nth < others; nth++) expect((await askFrom(door, nth, 'gvl_no.key')).status).toBe(401)
      }),
  },
  {
    name: 'keys of one tenant',
    of: (others) =>
      besideAt((door) => {
        for (let nth = 0; nth < others; nth++) door.keyOf('acme', ['send'])
      }),
  },
  {
    name: 'keys of as many tenants, each of which was used',
    of: (others) =>
      besideAt(async (door) => {
        for (let nth = 0; nth < others; nth++)
          expect((await askFrom(door, nth, door.keyOf(`tenant ${nth}`, ['send']))).status).toBe(200)
      }),
  },
  {
    name: 'tenants whose messages wait for Kafka',
    of(others) {
      const sender = sending({ writer: { send: () => never }, timeoutMs: 60_000, report() {} })
      const send = (tenant: string) =>
        void sender.send(tenant, [{ topic: 'posts', key: 'k', value: 'v' }]).catch(() => undefined)
      for (let nth = 0; nth < others; nth++) send(`tenant ${nth}`)
      return async () => send('bystander')
    },
  },
  {
    name: 'tenants that wait for their answers',
    of(others) {
      const waiters = waitersOf({ waiting: 1e6, waitingPerTenant: 10 })
      const answers = answerWaiters()
      for (let nth = 0; nth < others; nth++) {
        waiters.enter(`tenant ${nth}`)
        void answers.wait(`request ${nth}`, new AbortController().signal)
      }
      return async () => {
        const done = waiters.enter('bystander')
        const answered = answers.wait('request of a bystander', new AbortController().signal)
        answers.wake('request of a bystander')
        await answered
        done()
      }
    },
  },
  { name: 'tenants that wait for a slot', of: besideWaiting((nth) => ({ name: `tenant ${nth}`, part: 'p' })) },
  {
    name: 'keys of one tenant that wait for a slot',
    of: besideWaiting((nth) => ({ name: 'tenant', part: `p${nth}` })),
  },
  {
    name: 'people who have signed in',
    of(others) {
      const sessions = new Sessions({ idle: 1e6, longest: 1e6 }, () => 0)
      for (let nth = 0; nth < MOST_SESSIONS + others; nth++) sessions.open({ by: `person ${nth}`, grants: [] })
      return async () => {
        const id = sessions.open({ by: 'bystander', grants: [] })
        expect(sessions.read(id)?.by).toBe('bystander')
        sessions.end(id)
      }
    },
  },
]

describe(`what a bystander does costs the same beside ${FEW} and ${MANY}`, () => {
  // What else happens in this process is counted, too: once it may.
  test.each(WAYS)('$name', { retry: 1 }, async ({ of }) => {
    const work = async (others: number) => {
      const act = await of(others)
      for (let warm = 0; warm < 5; warm++) await act()
      return workOf(async () => {
        for (let nth = 0; nth < 20; nth++) await act()
      })
    }
    const [few, many] = [await work(FEW), await work(MANY)]
    // What is kept in a heap grows by a logarithm.
    expect(many).toBeLessThanOrEqual(1.3 * few)
  })
})
