import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { estimateTokens } from '../../../src/contracts/facts/token-estimate.ts'

/** Short texts of our own by language, with their tokens in o200k, counted by gpt-tokenizer 3.4.0. */
const SAMPLES = JSON.parse(readFileSync(join(import.meta.dirname, 'token-samples.json'), 'utf8')) as Record<
  string,
  { readonly text: string; readonly o200k: number }[]
>
const all = Object.values(SAMPLES).flat()

/** How far an estimate may be from the measured count: of all samples of a language, and of a single sentence. */
const OF_A_LANGUAGE = { least: 0.75, most: 1.35 }
const OF_A_SENTENCE = { least: 0.7, most: 1.65 }

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

function expectWithin(ratio: number, { least, most }: typeof OF_A_LANGUAGE, of: string): void {
  expect(ratio, of).toBeGreaterThanOrEqual(least)
  expect(ratio, of).toBeLessThanOrEqual(most)
}

describe.each(Object.entries(SAMPLES))('%s', (language, samples) => {
  test('has about as many tokens as are estimated', () => {
    const estimated = samples.map(({ text }) => estimateTokens(text))
    expectWithin(sum(estimated) / sum(samples.map(({ o200k }) => o200k)), OF_A_LANGUAGE, language)
    for (const [at, { text, o200k }] of samples.entries())
      expectWithin((estimated[at] ?? 0) / o200k, OF_A_SENTENCE, text)
  })
})

test('texts of many languages have about as many tokens as are estimated', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 30 }), (samples) => {
      const text = samples.map((sample) => sample.text).join('\n')
      // A line end is a token of its own at most.
      const lineEnds = samples.length - 1
      const measured = sum(samples.map(({ o200k }) => o200k))
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(OF_A_SENTENCE.least * measured)
      expect(estimateTokens(text)).toBeLessThanOrEqual(OF_A_SENTENCE.most * (measured + lineEnds))
    }),
  )
})
