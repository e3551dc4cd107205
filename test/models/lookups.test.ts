import { expect, test } from 'vitest'
import { type OutageReason, PermanentError, RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { Report } from '../../src/contracts/ports/report.ts'
import { embedderRoles, lookups } from '../../src/models/lookups.ts'
import { GATEWAY } from '../support/parts.ts'

function setUp() {
  let now = 1_000_000
  const told: unknown[] = []
  const report: Report = (name, event) => void told.push({ name, ...event })
  const held = lookups({
    embedder: 'other/bge',
    endpoint: 'other',
    settings: GATEWAY.breaker,
    clock: () => now,
    report,
  })
  let finds = 0
  const look = (error: Error | null, { caseId = 'c', last = false } = {}) =>
    held.lookUp(
      { caseId, accountKey: `case ${caseId}`, askId: `${caseId}/0/0.0`, last, deadline: now + 600_000 },
      async () => {
        finds++
        now += 100
        if (error !== null) throw error
        return 'found'
      },
    )
  return { ...held, look, told, finds: () => finds, pass: (ms: number) => (now += ms) }
}
const refused = new PermanentError('rejected', 'embeddings: status 429', { operatorAction: 'quota' })
const silent = new RetryLaterError('unavailable', 'status 503')
const heldFor = (awaits: OutageReason) => ({ name: 'RetryLaterError', costsAttempt: false, awaits })

test('an embedder that refuses is left alone but for a probe, is told as a model is, and answers again', async () => {
  const { look, told, finds, tick, pass } = setUp()
  for (let n = 0; n < 30; n++) await expect(look(refused, { caseId: `c${n}` })).rejects.toMatchObject(heldFor('quota'))
  expect(finds()).toBe(10)
  expect(told).toMatchObject([
    { name: 'breaker:changed', model: 'other/bge', to: 'open', reason: 'quota' },
    { name: 'model:away', model: 'other/bge', advice: expect.stringContaining('library.embedder') },
  ])
  pass(30_000)
  tick()
  expect(told.at(-1)).toMatchObject({ name: 'breaker:changed', to: 'half-open' })
  for (let n = 0; n < 3; n++) expect(await look(null)).toBe('found')
  tick()
  expect(told.at(-1)).toMatchObject({ name: 'breaker:changed', to: 'closed' })
  pass(20_000)
  tick()
  expect(told.at(-1)).toMatchObject({ name: 'model:answers', model: 'other/bge', reason: 'quota' })
})

test('one that does not answer holds a lookup at its last attempt, unless others were answered since', async () => {
  const { look } = setUp()
  await expect(look(silent)).rejects.toBe(silent)
  await expect(look(silent, { last: true })).rejects.toMatchObject(heldFor('unreachable'))
  await look(null, { caseId: 'another' })
  await expect(look(silent, { last: true })).rejects.toBe(silent)
})

test('what the library itself lacks is no fault of the embedder’s', async () => {
  const { look, told } = setUp()
  const error = new RetryLaterError('library', 'the library could not be read')
  for (let n = 0; n < 60; n++) await expect(look(error, { caseId: `c${n}`, last: true })).rejects.toBe(error)
  expect(told).toEqual([])
})

test('an embedder has a role where it has an endpoint', () => {
  const of = (embedder: string) => embedderRoles({ library: { embedder } })
  expect([of('local'), of('other/bge')]).toEqual([{}, { embedder: ['other/bge'] }])
})
