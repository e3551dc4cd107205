import { expect, test } from 'vitest'
import { groupsOf } from '../../../src/judging/engine/ask-groups.ts'
import type { KeyedAsk } from '../../../src/judging/engine/replay.ts'

const taken = { record: { id: 'talk~P~r1', protocol: 'talk' }, run: 3 } as Parameters<typeof groupsOf>[0]
const asks = (round: number, stage: string, from: number, count: number): KeyedAsk[] =>
  Array.from({ length: count }, (_, at) => {
    const ask = { stage } as KeyedAsk['ask']
    return { key: `${round}.${from + at}`, round, ask }
  })
const named = (asked: readonly KeyedAsk[], open: readonly KeyedAsk[]) =>
  groupsOf(taken, { at: 'round', asked, open }).map(({ stage, name, keys }) => `${stage} ${name}: ${keys.join(' ')}`)

test('the asks of a round at one stage share a job, each stage its own', () => {
  const before = asks(0, 'stance', 0, 3)
  const now = [...asks(1, 'opinion', 0, 2), ...asks(1, 'judge', 2, 1)]
  expect(named([...before, ...now], now)).toEqual(['opinion 1: 1.0 1.1', 'judge 1: 1.2'])
  expect(groupsOf(taken, { at: 'round', asked: now, open: now })[0]).toEqual({
    protocol: 'talk',
    stage: 'opinion',
    caseId: 'talk~P~r1',
    share: 'talk~P~r1',
    run: 3,
    name: '1',
    keys: ['1.0', '1.1'],
  })
})

test('a group has the same name when some of its asks have been answered', () => {
  const asked = asks(2, 'opinion', 0, 4)
  expect(named(asked, asked.slice(3))).toEqual(['opinion 2: 2.3'])
})

test('the many asks of a giant thread have a job each, and keep it when few of them are left', () => {
  const few = asks(0, 'stance', 0, 8)
  expect(named(few, few)).toHaveLength(1)
  const many = asks(0, 'stance', 0, 9)
  expect(named(many, many)).toEqual(many.map(({ key }) => `stance ${key}: ${key}`))
  expect(named(many, many.slice(7))).toEqual(['stance 0.7: 0.7', 'stance 0.8: 0.8'])
})

test('a case whose round has no open ask waits for nothing', () => {
  expect(named(asks(0, 'stance', 0, 2), [])).toEqual([])
})
