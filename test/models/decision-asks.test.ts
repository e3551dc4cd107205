import { expect, it } from 'vitest'
import { z } from 'zod'
import { type Ask, type Decision, decidedAnswer } from '../../src/contracts/facts/ask.ts'
import { RetryLaterError } from '../../src/contracts/facts/errors.ts'
import { GATEWAY } from '../support/parts.ts'
import { reply, setUp } from './set-up.ts'

const label = z.object({ label: z.enum(['hate', 'non-hate']) })
const decision: Decision = {
  field: 'label',
  instructions: 'Which is it?',
  input: 'words',
  options: [{ value: 'hate' }, { value: 'non-hate' }],
}
const decide: Ask = {
  stage: 'decide',
  role: 'decider',
  messages: [{ role: 'user', content: 'Which is it?' }],
  answer: label,
  kept: decidedAnswer(label),
  decision,
  temperature: 0,
  maxTokens: 20,
}
const wire = 'systemone' as const
const probabilities = { hate: 0.9, 'non-hate': 0.1 }
const decided = reply({
  text: '{"label":"hate"}',
  decided: { wire, probabilities },
  promptTokens: 1_000,
  completionTokens: 400,
})
const unreadable = reply({ text: null, decided: { wire, unreadable: 'an option that stands twice' } })

it('keeps how likely each option is, and asks once for all who ask the same', async () => {
  const { put, requests } = setUp([decided, decided], { memo: { ...GATEWAY.memo, enabled: true } })
  const answer = { label: 'hate', probabilities, wire }
  expect(await put(decide, { remember: true })).toMatchObject({ answer, memo: false })
  expect(await put(decide, { remember: true })).toMatchObject({ answer, memo: true })
  expect(requests).toMatchObject([{ decision, probabilities: true }])
  const options = [{ value: 'hate', description: 'An attack.' }, { value: 'non-hate' }]
  const other = { ...decide, decision: { ...decision, options } }
  await put(other, { remember: true })
  expect(requests).toHaveLength(2)
})

it('is unreadable by name where it cannot mean one thing, and is not asked again', async () => {
  const { put, requests } = setUp([unreadable])
  expect(await put(decide)).toMatchObject({
    answer: null,
    failed: { code: 'unreadable', detail: 'an option that stands twice' },
  })
  expect(requests).toHaveLength(1)
})

it('costs its question alone where the price says so', async () => {
  const price = { prompt: 1, cached: 0.5, completion: 10 }
  const costOf = async (prices: Record<string, object>, replies = [decided]) => {
    const { put } = setUp(replies, { prices: prices as never, roles: { default: ['m'] } }) // Prices of this test alone.
    return (await put(decide)).usage.costUsd
  }
  expect(await costOf({ m: { ...price, decisions: 2 } })).toBe(0.002)
  expect(await costOf({ m: price })).toBeCloseTo((960 + 20 + 4_000) / 1e6, 12)
  expect(await costOf({ m: { ...price, decisions: 2 } }, [{ ...decided, decided: undefined }])).toBeCloseTo(0.00498, 12)
})

it('is asked of a model that talks no more, and one that decides no more still talks', async () => {
  const away = new RetryLaterError('unavailable', 'away')
  const talk: Ask = { ...decide, role: 'debater', decision: undefined }
  for (const [down, up, named] of [
    [decide, talk, 'm (decisions)'],
    [talk, decide, 'm'],
  ] as const) {
    const replies = [...Array.from({ length: 20 }, () => away), decided]
    const { put, requests, told } = setUp(replies, { roles: { default: ['m'] } })
    const asking = (at: number) => ({
      caseId: `c${at}`,
      askId: `c${at}`,
      subject: { tenant: `t${at}`, postId: 'p', kind: 'post' as const },
    })
    for (let at = 0; at < 20; at++) await put(down, asking(at)).catch(() => {})
    expect(await put(down, asking(99)).catch((error: Error) => error.message)).toContain('circuit breakers open')
    expect(requests).toHaveLength(20)
    expect(told).toContainEqual(expect.objectContaining({ name: 'model:away', model: named }))
    expect((await put(up, asking(100))).answer).toMatchObject({ label: 'hate' })
  }
})

it('goes to the first model of its role alone where it can be done without: another’s answer would be thrown away', async () => {
  const roles = { decider: ['small', 'large'] }
  const busy = () => new RetryLaterError('rate-limited', 'busy')
  const needed = setUp([busy(), decided], { roles })
  await needed.put(decide)
  expect(needed.requests.map(({ model }) => model)).toEqual(['small', 'large'])
  const spared = setUp([busy(), decided], { roles })
  await expect(spared.put({ ...decide, spared: true })).rejects.toThrow('busy')
  expect(spared.requests.map(({ model }) => model)).toEqual(['small'])
})
