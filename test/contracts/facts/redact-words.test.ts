import { expect, it } from 'vitest'
import { redactWords } from '../../../src/contracts/facts/redact-words.ts'

it('of what a verdict cites the clauses are left, and none of the words', () => {
  const clauses = [{ id: 'H1', quote: 'vermin' }, { id: 'H2' }]
  const evidence = { support: ['c1'], oppose: [], precedents: [] }
  const json = redactWords(JSON.stringify({ id: 'v', label: 'hate', rationale: 'They are vermin.', evidence, clauses }))
  expect(json).not.toMatch(/vermin|c1/)
  expect(JSON.parse(json)).toMatchObject({ id: 'v', label: 'hate', clauses: [{ id: 'H1' }, { id: 'H2' }] })
})
