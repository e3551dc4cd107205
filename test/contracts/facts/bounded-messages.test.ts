import { expect, test } from 'vitest'
import type { z } from 'zod'
import { actionMessage, reachMessage } from '../../../src/contracts/facts/action-messages.ts'
import { appealMessage } from '../../../src/contracts/facts/appeal-messages.ts'
import { decisionMessage } from '../../../src/contracts/facts/decision-messages.ts'
import { feedbackMessage } from '../../../src/contracts/facts/messages.ts'
import { contractFiles } from '../../../src/kit/contracts/all.ts'

// Whoever sends what is said of subjects has no room in it for what nobody reads: these are kept for good, and are read again and again.

const AT = '2026-01-01T00:00:00Z'
const SUBJECT = { tenant: 'acme', subjectId: 'c1', subjectKind: 'comment', postId: 'p1', protocol: 'hate' }
const APPEAL = { id: 'e1', tenant: 'acme', by: 'author', text: 'No.', contact: 'x', ground: 'y', at: AT }
const DECISION = { ...SUBJECT, kind: 'post', subjectKind: 'post', against: 1, by: 'ann', why: 'x', at: AT }
const ACTION = { id: 'a1', tenant: 'acme', by: 'ann', at: AT }

/** Messages that have every field of their schema between them. */
const MESSAGES: Readonly<Record<string, readonly [z.ZodType, ...object[]]>> = {
  reach: [reachMessage, { postId: 'p1', tenant: 'acme', reach: 4, at: AT }],
  actions: [
    actionMessage,
    {
      ...ACTION,
      ...SUBJECT,
      verdictId: 'hate~p1~r1',
      decisionAt: AT,
      what: 'remove',
      ground: 'law',
      clause: '1',
      since: AT,
      until: AT,
      countries: ['DE'],
      source: 'notice',
      automated: true,
    },
    { ...ACTION, withdraw: true },
  ],
  appeals: [
    appealMessage,
    { ...APPEAL, ...SUBJECT },
    { ...APPEAL, verdictId: 'hate~p1~r1' },
    { ...APPEAL, actionId: 'a1', objectsTo: 'measure' },
    { id: 'e1', tenant: 'acme', withdraw: true, at: AT },
  ],
  decisions: [
    decisionMessage,
    {
      ...DECISION,
      label: 'hate',
      clauses: [{ id: '1', quote: 'words' }],
      code: 'rule',
      seconds: 4,
      appeals: ['e1'],
      measure: 'keep',
      unseen: true,
      sawLabel: true,
      force: true,
    },
    { ...DECISION, label: 'hate', opinion: true, golden: 'answer' },
    { ...DECISION, withdraw: true },
  ],
  feedback: [feedbackMessage, { ...SUBJECT, label: 'hate', by: 'ann', at: AT, note: 'x', sawLabel: true }],
}

/** Every text and list in it grown to an absurd size, one at a time. */
function* grown(value: unknown, path: string): Generator<[path: string, value: unknown]> {
  if (typeof value === 'string')
    yield [path, value === AT ? `2026-01-01T00:00:00.${'0'.repeat(100_000)}Z` : value.repeat(100_000)]
  if (Array.isArray(value)) yield [path, Array(5_000).fill(value[0])]
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value))
    for (const [at, larger] of grown(one, `${path}.${name}`))
      yield [at, Array.isArray(value) ? [larger] : { ...value, [name]: larger }]
}

const fieldsOf = (topic: string): Set<string> => {
  const { oneOf, ...only } = JSON.parse(contractFiles().get(`${topic}.schema.json`) ?? '{}')
  const forms: { properties: object }[] = oneOf ?? [only]
  return new Set(forms.flatMap(({ properties }) => Object.keys(properties)))
}

test.each(Object.entries(MESSAGES))(
  'no text and no list of a message is kept at any size: %s',
  (topic, [schema, ...all]) => {
    expect(new Set(all.flatMap((one) => Object.keys(one)))).toEqual(fieldsOf(topic))
    const kept = all.flatMap((message) => {
      expect(schema.safeParse(message).error).toBeUndefined()
      return [...grown(message, topic)].flatMap(([path, larger]) => {
        const read = schema.safeParse(larger)
        return read.success && JSON.stringify(read.data).length > 15_000 ? [path] : []
      })
    })
    expect(kept).toEqual([])
  },
)

test('of a list that is too long few entries are looked at', () => {
  const { error } = actionMessage.safeParse({ ...ACTION, countries: Array(19_000).fill(1) })
  expect(error?.issues.filter(({ path }) => path[0] === 'countries')).toHaveLength(301)
})
