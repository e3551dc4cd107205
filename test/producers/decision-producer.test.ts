import { expect, it } from 'vitest'
import { decisionsProducer } from '../../producers/decision-producer.ts'
import { decisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { DecisionResult } from '../../src/contracts/ports/decisions.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'

const SENT = {
  subjectId: 'p1',
  tenant: 'acme',
  protocol: 'rumor',
  label: 'rumor',
  against: 1,
  by: 'ann',
  why: 'Ticket 88.',
  at: '2025-03-01T10:00:00.000Z',
}

function producer(told: (of: string) => DecisionResult | null, waitMs = 1_000) {
  const sent: OutgoingMessage[] = []
  const writer = {
    async place(record: OutgoingMessage) {
      sent.push(record)
      return { partition: 3, offset: '7' }
    },
  }
  return { sent, ...decisionsProducer({ writer, topic: 'decisions', told: async (of) => told(of), waitMs }) }
}

it('a decision is sent as it was read, under its subject, and what comes of it is waited for', async () => {
  let looks = 0
  const stands: DecisionResult = { outcome: 'stands', verdict: 'rumor~p1~r2' }
  const { sent, decide } = producer((of) => (of === '3@7' && ++looks === 3 ? stands : null))
  const message = decisionMessage.parse(SENT)
  expect(await decide(message, new AbortController().signal)).toEqual({ of: '3@7', decided: stands })
  expect(sent).toMatchObject([{ topic: 'decisions', key: 'p1' }])
  expect(JSON.parse(String(sent[0]?.value))).toEqual(SENT)
  expect(decisionMessage.parse(JSON.parse(String(sent[0]?.value)))).toEqual(message)
})

it('of what nothing is heard in time, or whose caller has gone, the place is told', async () => {
  const unheard = { of: '3@7', decided: null }
  const { decide } = producer(() => null, 0)
  expect(await decide(decisionMessage.parse(SENT), new AbortController().signal)).toEqual(unheard)
  const gone = producer(() => null, 60_000)
  expect(await gone.decide(decisionMessage.parse(SENT), AbortSignal.abort())).toEqual(unheard)
})

it('a decision that stands on its topic is not said to have failed when the store is away', async () => {
  let looks = 0
  const stands: DecisionResult = { outcome: 'stands', verdict: 'rumor~p1~r2' }
  const { decide } = producer(() => {
    if (++looks < 3) throw new Error('Redis is away')
    return stands
  })
  expect(await decide(decisionMessage.parse(SENT), new AbortController().signal)).toEqual({
    of: '3@7',
    decided: stands,
  })
})

it('the longer nothing is heard, the more seldom is looked', async () => {
  let looks = 0
  const { decide } = producer(() => {
    looks++
    return null
  }, 1_500)
  expect(await decide(decisionMessage.parse(SENT), new AbortController().signal)).toEqual({ of: '3@7', decided: null })
  expect(looks).toBe(11)
})

it('where the store gives no answer, the place is told all the same', async () => {
  const writer = { place: async () => ({ partition: 3, offset: '7' }) }
  const told = () => new Promise<never>(() => {})
  const { decide } = decisionsProducer({ writer, topic: 'decisions', told, waitMs: 60_000 })
  expect(await decide(decisionMessage.parse(SENT), new AbortController().signal)).toEqual({ of: '3@7', decided: null })
})
