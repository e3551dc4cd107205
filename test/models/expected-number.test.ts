import { describe, expect, it } from 'vitest'
import { logprobs, numberProbabilities } from '../../src/models/openai/number-probabilities.ts'
import { withExpected } from '../../src/models/read-answer.ts'

const ask = { expected: { field: 'score', lowest: 1, highest: 5 } }
const answer = { reasoning: 'so', score: 4 }

describe('the mean of a number by probabilities', () => {
  it('is Σ p·n ÷ Σ p over the scale; what lies beyond it does not count', () => {
    const given = {
      score: [
        [4, 0.6],
        [5, 0.2],
        [9, 0.15],
        [0, 0.05],
      ] as const,
    }
    expect(withExpected(ask, answer, given)).toEqual({
      ...answer,
      expected: expect.closeTo((4 * 0.6 + 5 * 0.2) / 0.8, 12),
    })
  })

  it('is left out where nobody wants it, and where there are no probabilities of it', () => {
    expect(withExpected({}, answer, { score: [[4, 1]] })).toBe(answer)
    for (const none of [undefined, {}, { other: [[4, 1]] as const }, { score: [] }, { score: [[9, 1]] as const }])
      expect(withExpected(ask, answer, none)).toBe(answer)
  })
})

describe('the probabilities of numbers in an answer', () => {
  type Others = readonly (readonly [token: string, probability: number])[]
  const content = (...tokens: (string | readonly [token: string, others: Others])[]) =>
    tokens.map((one) => {
      const [token, others] = typeof one === 'string' ? [one, []] : one
      const of = (text: string) => others.find(([other]) => other === text)?.[1] ?? 0.9
      return {
        token,
        logprob: Math.log(of(token)),
        bytes: null,
        top_logprobs: others.map(([other, probability]) => ({ token: other, logprob: Math.log(probability) })),
      }
    })
  const read = (...tokens: Parameters<typeof content>) =>
    numberProbabilities(logprobs.parse({ content: content(...tokens) }))

  it('are found at the value of their key, however the text is cut into tokens', () => {
    const others = [
      ['4', 0.7],
      [' 5', 0.2],
      ['four', 0.1],
    ] as const
    const found = {
      score: [
        [4, expect.closeTo(0.7, 12)],
        [5, expect.closeTo(0.2, 12)],
      ],
    }
    expect(read('{"reasoning": "3 of 5"', ', "sc', 'ore": ', ['4', others], '}')).toEqual(found)
    expect(read('{"score"', ':', ['4', others], '}')).toEqual(found)
  })

  it('are not those of a number inside a text, of a beginning of a number, or of no whole one', () => {
    expect(read('{"reasoning": "', ['4', [['4', 1]]], '", "score": ', ['"high"', []], '}')).toBeUndefined()
    expect(read('{"score": ', ['1', [['1', 1]]], '0', '}')).toBeUndefined()
    expect(read('{"score": ', ['4', [['4', 1]]], '.5', '}')).toBeUndefined()
    expect(read('{"score": ', ['-1', [['-1', 1]]], '}')).toBeUndefined()
  })

  it('hold the written token where the endpoint gives it no place among the likeliest', () => {
    expect(read('{"score": ', ['4', [['5', 0.05]]], '}')).toEqual({
      score: [
        [4, expect.closeTo(0.9, 12)],
        [5, expect.closeTo(0.05, 12)],
      ],
    })
  })

  it.each([[null], [undefined], [{}], [{ content: null }], [{ content: 'x' }], ['none']])('are none in %j', (given) => {
    expect(numberProbabilities(logprobs.parse(given))).toBeUndefined()
  })
})
