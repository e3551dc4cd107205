import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Judgement } from '../../../src/contracts/ports/review.ts'
import { agreementOf } from '../../../src/lab/evaluation/people.ts'
import type { Interval } from '../../../src/lab/evaluation/statistics/intervals.ts'

interface Share {
  readonly verdicts: number
  readonly agreeing: number
  readonly low: number
  readonly high: number
}
interface Planted {
  readonly rows: readonly (readonly [string, string, string, string, string, boolean, string | null])[]
  readonly machine: readonly {
    readonly drawn: string
    readonly parts: Readonly<Record<string, Readonly<Record<string, Share>>>>
    readonly alpha: number
    readonly alphaInterval: readonly [number, number]
    readonly macroF1: number
    readonly macroF1Interval: readonly [number, number]
  }[]
  readonly people: Share & { readonly alpha: number; readonly alphaInterval: readonly [number, number] }
}

/** Values of statsmodels, scikit-learn and krippendorff over a planted set; `people.py` makes them. */
const planted: Planted = JSON.parse(readFileSync(join(import.meta.dirname, 'people.json'), 'utf8'))

const judgements = planted.rows.map(
  ([label, machine, model, prompts, lang, audited, second], n): Judgement => ({
    subject: { tenant: 'default', postId: `p${n}`, kind: 'post' },
    protocol: 'hate',
    lang,
    label,
    by: 'ann',
    audited,
    machine: { label: machine, models: [model], prompts },
    opinions: second === null ? [] : [{ by: 'ben', label: second }],
  }),
)
const found = agreementOf(judgements)

/** Two resamplings of one set: their ends move by some hundredths from seed to seed. */
function near(interval: Interval | null | undefined, [low, high]: readonly [number, number]): void {
  expect(interval?.low).toBeCloseTo(low, 1)
  expect(interval?.high).toBeCloseTo(high, 1)
  expect(Math.abs((interval?.low ?? 9) - low)).toBeLessThan(0.03)
  expect(Math.abs((interval?.high ?? 9) - high)).toBeLessThan(0.03)
}

it.each(planted.machine)(
  'people and machines agree as often as Python counts, by every part ($drawn)',
  ({ drawn, parts }) => {
    const own = found.agreement.filter((one) => one.beside === 'machine' && one.drawn === drawn)
    const wanted = Object.entries(parts).flatMap(([part, values]) =>
      Object.entries(values).map(([value, share]) => ({ part, value, ...share })),
    )
    expect(own).toHaveLength(wanted.length)
    for (const { part, value, verdicts, agreeing, low, high } of wanted) {
      const one = own.find((other) => other.part === part && other.value === value)
      expect(one).toMatchObject({ protocol: 'hate', verdicts, agreeing })
      expect(one?.interval?.low).toBeCloseTo(low, 10)
      expect(one?.interval?.high).toBeCloseTo(high, 10)
    }
  },
)

it.each(planted.machine)('beyond chance and by label, too ($drawn)', ({ drawn, ...wanted }) => {
  const own = found.protocols.find((one) => one.beside === 'machine' && one.drawn === drawn)
  expect(own?.alpha.value).toBeCloseTo(wanted.alpha, 10)
  expect(own?.macroF1?.value).toBeCloseTo(wanted.macroF1, 10)
  near(own?.alpha.interval, wanted.alphaInterval)
  near(own?.macroF1?.interval, wanted.macroF1Interval)
})

it('people agree with one another as Python says', () => {
  const { verdicts, agreeing, low, high, alpha, alphaInterval } = planted.people
  const own = found.agreement.find(({ beside, part }) => beside === 'person' && part === 'all')
  expect(own).toMatchObject({ verdicts, agreeing })
  expect(own?.interval?.low).toBeCloseTo(low, 10)
  expect(own?.interval?.high).toBeCloseTo(high, 10)
  const whole = found.protocols.find(({ beside }) => beside === 'person')
  expect(whole?.alpha.value).toBeCloseTo(alpha, 10)
  expect(whole?.macroF1).toBeNull()
  near(whole?.alpha.interval, alphaInterval)
})

it('says why there is no number where there is none', () => {
  const one = judgements.filter(({ label, machine }) => label === 'hate' && machine?.label === 'hate').slice(0, 3)
  expect(agreementOf(one).protocols[0]).toMatchObject({ alpha: { value: null, why: 'all say the same label' } })
  expect(agreementOf([])).toEqual({ agreement: [], protocols: [] })
})

it('leaves out of machines what had no label, and names what has no language', () => {
  const bare: Judgement = {
    ...(judgements[0] as Judgement),
    machine: null,
    lang: null,
    opinions: [{ by: 'x', label: 'hate' }],
  }
  expect(agreementOf([bare]).agreement).toMatchObject([
    { beside: 'person', part: 'all', verdicts: 1 },
    { part: 'label', value: 'hate' },
    { part: 'language', value: '(none named)' },
  ])
})
