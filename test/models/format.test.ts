import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { jsonSchema, withFormat } from '../../src/models/format.ts'
import { ask } from './set-up.ts'

describe('the form of the answer', () => {
  test('stands at the end of the last message', () => {
    const messages = withFormat(ask)
    expect(messages).toHaveLength(2)
    expect(messages[0]).toEqual({ role: 'system', content: 'S' })
    expect(messages[1]?.role).toBe('user')
    expect(messages[1]?.content).toBe(
      'Q\n\nAnswer format (opinion): {"properties":{"reasoning":{"type":"string"},"answer":{"enum":["Fake","Real"]}}}',
    )
  })

  test('is shown whole where a paper’s questions are asked', () => {
    const line = JSON.stringify(jsonSchema(ask.answer))
    expect(line).toContain('"required":["reasoning","answer"],"additionalProperties":false')
    expect(withFormat({ ...ask, wholeForm: true })[1]?.content).toBe(`Q\n\nAnswer format (opinion): ${line}`)
  })

  test('says what is not so of all: fields that may be missing or added, a field’s own type and bounds', () => {
    const answer = z.object({
      type: z.literal('a'),
      required: z.array(z.int().min(1)).max(2),
      items: z.string().optional(),
      enum: z.record(z.string(), z.number()),
    })
    const [, form = ''] = withFormat({ ...ask, answer })[1]?.content.split('(opinion): ') ?? []
    expect(JSON.parse(form)).toEqual({
      properties: {
        type: { type: 'string', const: 'a' },
        required: { maxItems: 2, items: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
        items: { type: 'string' },
        enum: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
      },
      required: ['type', 'required', 'enum'],
    })
  })

  test('is a message of its own after one that is not the user’s', () => {
    const said: Ask = { ...ask, messages: [...ask.messages, { role: 'assistant', content: 'A' }] }
    expect(withFormat(said).map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  })

  test('stands after a whole conversation, of which nothing is lost', () => {
    const said = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Q1' },
      { role: 'assistant', content: 'A1' },
      { role: 'user', content: 'Q2' },
    ] as const
    const sent = withFormat({ ...ask, messages: said })
    expect(sent.slice(0, 3)).toEqual(said.slice(0, 3))
    expect(sent).toHaveLength(4)
    expect(sent[3]?.content).toMatch(/^Q2\n\nAnswer format \(opinion\)/)
  })

  test('leaves the ask as it is', () => {
    const before = structuredClone(ask.messages)
    withFormat(ask)
    expect(ask.messages).toEqual(before)
  })
})
