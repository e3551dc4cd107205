import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { calibrationOf } from '../../../src/lab/commands/calibrate/calibration-questions.ts'
import { kindOf, textIn } from '../../support/evaluating.ts'

// Every deciding point of Figures 4 and 6, read in the paper and put into words of our own, in the paper's order.

const shipped = loadSettings({})
const under = (preset: 'none' | 'paper') => {
  const protocols = { ...shipped.protocols, counterspeech: { ...shipped.protocols.counterspeech, preset } }
  return calibrationOf({ ...shipped, protocols } as typeof shipped, kindOf('counterspeech'), 'aggressiveness')
}
const rated = [
  { hateSpeech: 'They all lie.', counterspeech: 'Do they?', rating: 1.5 },
  { hateSpeech: 'They steal.', counterspeech: 'You thief!', rating: 5 },
]
const asked = (messages: unknown) => textIn({ messages } as never)

/** Where each point stands in the text, −1 for one that is missing. */
const placesOf = (text: string, points: readonly (string | RegExp)[]) =>
  points.map((point) => (typeof point === 'string' ? text.indexOf(point) : text.search(point)))

const FIGURE_4 = [
  'make sure that you understand them',
  /each with a reply to it, and the rating that experts gave the reply on one metric/,
  'write the evaluation steps',
  'Evaluation criterion:\nAggressiveness',
  /what do replies with high ratings have in common/,
  'what moved a rating up or down',
  /write, in detail, the steps by which a rater gets to the experts' rating of any reply/,
  'Examples:\n<<',
  'They all lie.',
  'Do they?',
  /[Tt]he experts' rating: 1\.5( \(aggressiveness, 1 to 5\))?\n/,
  'They steal.',
  'You thief!',
  /[Tt]he experts' rating: 5( \(aggressiveness, 1 to 5\))?\n/,
]

const FIGURE_6 = [
  'make sure that you understand them',
  /A language model rates replies to hateful statements by the evaluation steps below/,
  /don't always agree with the experts'/,
  'refine the steps so that they agree better',
  'Evaluation criterion:\nAggressiveness',
  /The steps:\n(<<steps:\d+>>\n)?1\. Look for insults\.\n/,
  /[Tt]he model's score: 4( \(aggressiveness, 1 to 5\))?[;\n]/,
  /[Tt]he experts' rating: 1\.5( \(aggressiveness, 1 to 5\))?\n/,
  'Go about it in this order:\n1. Read each case with care, the hateful statement and the reply, and judge the reply on this metric yourself',
  "2. Compare the model's score with the experts' rating",
  'find out what in the steps led the model there',
  'what would have led it to the rating',
  'where they are close, the steps work well',
  '3. When you have seen all cases, refine the steps',
  'short, exact and in keeping with the experts',
  // The four ways: modify, paraphrase what is good enough, add rules without growing long, calibrate otherwise.
  'change parts of them towards the rules that the experts seem to follow',
  'put into other words, shorter and clearer, what is good enough',
  "add a rule that the cases show and the steps lack, but don't let them grow long or say a thing twice",
  'whatever else brings scores and ratings closer together',
  /Answer with the refined steps alone|then give the refined steps, at most twelve/,
]

describe.each(['none', 'paper'] as const)('under the preset %s', (preset) => {
  const calibration = under(preset)
  const draft = calibration.draft(rated, { temperature: 0.25, draw: 'draft 1' })
  const refine = calibration.refine('1. Look for insults.', [{ ...(rated[0] as (typeof rated)[0]), score: 4 }], {
    temperature: null,
    draw: '',
  })

  it.each([
    ['a draft has every point of Figure 4, in its order', asked(draft.messages), FIGURE_4],
    ['a refinement has every point of Figure 6, in its order', asked(refine.messages), FIGURE_6],
  ])('%s', (_, text, points) => {
    const places = placesOf(text, points)
    expect(points.filter((_, at) => places[at] === -1)).toEqual([])
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(text).not.toMatch(/undefined|\{\{/)
  })

  it('is asked of the writer of steps, a draft at its own temperature', () => {
    expect(draft).toMatchObject({ role: 'steps-writer', stage: 'draft', temperature: 0.25 })
    expect(refine).toMatchObject({ role: 'steps-writer', stage: 'refine', temperature: 0 })
  })
})

it('has a list in one block and says no form by default; under `paper` two blocks for each example, and the form', () => {
  const cases = [{ ...(rated[0] as (typeof rated)[0]), score: 4 }]
  const words = (preset: 'none' | 'paper') => {
    const calibration = under(preset)
    const asks = [
      calibration.draft(rated, { temperature: 0, draw: '' }),
      calibration.refine('1. Look.', cases, { temperature: 0, draw: '' }),
    ]
    return asks.map(({ messages }) => asked(messages))
  }
  const one = '1: statement "They all lie.", reply "Do they?"; '
  const [draft, refine] = words('none')
  expect(draft).toContain(
    `>>\n${one}the experts' rating: 1.5\n2: statement "They steal.", reply "You thief!"; the experts' rating: 5\n<<end:`,
  )
  expect(refine).toContain(`>>\n${one}the model's score: 4; the experts' rating: 1.5\n<<end:`)
  for (const text of words('none')) expect(text).not.toMatch(/\{"|in this form/)
  for (const text of words('paper')) {
    expect(text).toMatch(/<<hate-speech 1:[0-9a-f]{16}>>\nThey all lie\.\n<<end:[\s\S]*<<counterspeech 1:/)
    expect(text).toContain('in this form: {"steps":')
  }
})

it('names a language by default alone, and criteria as Figure 5 has them under `paper`', () => {
  const text = (preset: 'none' | 'paper') => asked(under(preset).draft(rated, { temperature: 0, draw: '' }).messages)
  expect(text('none')).toContain('Answer in English')
  expect(text('paper')).not.toContain('English')
  expect(text('none')).toContain('the more aggressive, and the worse')
  expect(text('paper')).toContain('the more aggressive.')
})
