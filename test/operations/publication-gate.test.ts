import { beforeEach, expect, it } from 'vitest'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import type { SharedClosure } from '../../src/contracts/ports/publication.ts'
import type { Events } from '../../src/contracts/ports/report.ts'
import { publicationGate } from '../../src/operations/publication-gate.ts'

let told: Events['publication:closed'][]
let said: string | null
const shared: SharedClosure = {
  async tell(why) {
    said = why
  },
  async withdraw() {
    said = null
  },
  read: async () => said,
}
const gateOf = () =>
  publicationGate({
    shared,
    report: (name, event) => {
      if (name === 'publication:closed') told.push(event as Events['publication:closed'])
    },
  })
beforeEach(() => {
  told = []
  said = null
})

const acks = new BrokerRefused('acks', ['verdicts'], 'set acks')
const size = new BrokerRefused('size', ['verdicts'], 'set size')

it.each(['verdict', 'trial'] as const)(
  'a refused %s closes it at once here, and elsewhere at the next look',
  async (what) => {
    const [here, elsewhere] = [gateOf(), gateOf()]
    here.close(what, acks)
    expect([here.closed, elsewhere.closed]).toEqual(['set acks', null])
    await here.poll()
    await elsewhere.poll()
    expect(elsewhere.closed).toBe('set acks')
    here.open(what)
    expect(here.closed).toBeNull()
    await here.poll()
    await elsewhere.poll()
    expect(elsewhere.closed).toBeNull()
  },
)

it.each(['dead-letter', 'decision'] as const)('a refused %s is told of, and stops nobody', async (what) => {
  const gate = gateOf()
  gate.close(what, acks)
  await gate.poll()
  expect([gate.closed, said]).toEqual([null, null])
  expect(told).toEqual([{ what, setting: 'acks', closed: true, advice: 'set acks' }])
})

it('the same refusal is told of once, and another one by its own setting', () => {
  const gate = gateOf()
  for (const refusal of [acks, acks, size]) gate.close('verdict', refusal)
  gate.open('verdict')
  gate.open('verdict')
  expect(told.map(({ setting, closed }) => `${setting} ${closed}`)).toEqual([
    'acks true',
    'acks false',
    'size true',
    'size false',
  ])
})

it('one that was closed elsewhere withdraws nothing', async () => {
  const gate = gateOf()
  said = 'set acks'
  await gate.poll()
  await gate.poll()
  expect([gate.closed, said]).toEqual(['set acks', 'set acks'])
})
