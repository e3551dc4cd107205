import { expect, it } from 'vitest'
import { beginningProbabilities, logprobs } from '../../src/models/openai/number-probabilities.ts'
import { withOptions } from '../../src/models/read-answer.ts'

type Others = readonly (readonly [token: string, probability: number])[]
const read = (...tokens: (string | readonly [token: string, others: Others])[]) =>
  beginningProbabilities(
    logprobs.parse({
      content: tokens.map((one) => {
        const [token, others] = typeof one === 'string' ? [one, []] : one
        const told = others.map(([other, probability]) => ({ token: other, logprob: Math.log(probability) }))
        return { token, logprob: told.find((other) => other.token === token)?.logprob ?? 0, top_logprobs: told }
      }),
    }),
  )

const between = (...values: readonly string[]) => ({
  decision: { field: 'label', instructions: '', input: '', options: values.map((value) => ({ value })) },
})
const ask = between('hate', 'non-hate')
const answer = { label: 'hate' }
const near = (value: number) => expect.closeTo(value, 10)

it.each([
  [
    '{"',
    'label',
    '":"',
    [
      'hate',
      [
        ['hate', 0.7],
        ['non', 0.2],
        ['x', 0.1],
      ],
    ],
    '"}',
  ],
  [
    '{"label":',
    ' "',
    [
      'hate',
      [
        ['hate', 0.7],
        ['non', 0.2],
      ],
    ],
    '"}',
  ],
  [
    '{"label":',
    [
      ' "hate',
      [
        [' "hate', 0.7],
        [' "non', 0.2],
        [' null', 0.1],
      ],
    ],
    '"}',
  ],
  [
    '{"label": "',
    [
      'hate"}',
      [
        ['hate"}', 0.5],
        ['hate', 0.2],
        ['Non', 0.2],
      ],
    ],
  ],
] as const)('are how likely each option was, however the text is cut into tokens: %j', (...tokens) => {
  expect(withOptions(ask, answer, { beginnings: read(...tokens) })).toEqual({
    label: 'hate',
    probabilities: { hate: near(7 / 9), 'non-hate': near(2 / 9) },
    wire: 'chat',
  })
})

it('count no beginning that several options have, nor another text that begins as one', () => {
  const both = between('safe', 'safer')
  expect(
    withOptions(
      both,
      { label: 'safe' },
      {
        beginnings: {
          label: [
            ['sa', 0.4],
            ['safer', 0.6],
          ],
        },
      },
    ),
  ).toEqual({
    label: 'safe',
    probabilities: { safe: 0, safer: 1 },
    wire: 'chat',
  })
  expect(
    withOptions(
      both,
      { label: 'safe' },
      {
        beginnings: {
          label: [
            ['safe"', 0.8],
            ['saf"', 0.2],
          ],
        },
      },
    ),
  ).toEqual({
    label: 'safe',
    probabilities: { safe: 1, safer: 0 },
    wire: 'chat',
  })
})

it('are left out where nobody wants them, and where the model would rather have said something else', () => {
  expect(withOptions({}, answer, { beginnings: { label: [['hate', 1]] } })).toBe(answer)
  for (const none of [
    undefined,
    {},
    { other: [['hate', 1]] as const },
    {
      label: [
        ['hate', 0.3],
        ['I', 0.7],
      ] as const,
    },
  ])
    expect(withOptions(ask, answer, { beginnings: none })).toBe(answer)
})

it('are none of a text that is no value, and of no log-probabilities', () => {
  expect(read('{"label": ', ['4', [['4', 1]]], '}')).toEqual({ label: [] })
  expect(read('{"why": 3, ', '"label"', '}')).toBeUndefined()
  for (const none of [null, undefined, {}, { content: null }])
    expect(beginningProbabilities(logprobs.parse(none))).toBeUndefined()
})
