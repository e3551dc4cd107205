import { describe, expect, test } from 'vitest'
import { promptsOf } from '../../../src/app/composition/make-protocols.ts'
import { noUsage, type Transcript, type Turn } from '../../../src/contracts/facts/verdict.ts'
import { readPrompts } from '../../../src/protocols/prompts.ts'
import { CURATOR_PROMPTS, safetyCuration } from '../../../src/protocols/safety/curation.ts'
import { argumentOf } from '../../../src/shelves/curator/feedback.ts'
import { plainFence } from '../../protocols/drive.ts'

const turn = (stage: string, role: string, answer: unknown, over: Partial<Turn> = {}): Turn => ({
  round: 0,
  stage,
  role,
  model: 'm',
  messages: [{ role: 'user', content: 'A PROMPT' }],
  answer,
  raw: null,
  calls: [],
  usage: noUsage(),
  startedAt: '2026-01-01T00:00:00Z',
  ms: 1,
  memo: false,
  ...over,
})
const image = (alt?: string) => ({ kind: 'image', ...(alt === undefined ? {} : { alt }) })
const transcript = (turns: readonly Turn[], media: readonly object[] = []): Transcript => ({
  schema: 1,
  verdictId: 'safety~p~r1',
  subject: { post: { id: 'p', text: 'the text', createdAt: 0, media }, comments: [], leftOut: 0 },
  turns: [...turns],
  cut: [],
})
/** As the describer answers; under `paper` it is not asked whether it saw the image. */
const described = (number: number, words: string, seen: object = { seen: 'yes' }) =>
  turn('describe', `describer (image ${number})`, { ...seen, description: words })

const { words } = safetyCuration({
  fence: plainFence,
  prompts: readPrompts(promptsOf('curator'), CURATOR_PROMPTS),
  preset: 'none',
})
const wordsIn = (one: Transcript) => {
  const argument = argumentOf(one)
  return argument === null ? null : words(argument.subject, argument.turns)
}

describe('the argument in a transcript', () => {
  test('has the post in words: what was seen of each image, by its number, else what its author says', () => {
    const turns = [described(10, 'tenth', {}), described(2, 'second')]
    const media = Array.from({ length: 10 }, (_, index) => image(`caption ${index + 1}`))
    expect(wordsIn(transcript(turns, media))?.split('\n')).toEqual([
      'the text',
      'caption 1',
      'second',
      ...[3, 4, 5, 6, 7, 8, 9].map((number) => `caption ${number}`),
      'tenth',
    ])
  })

  test('has what a data set says that a vision model saw, which no turn tells', () => {
    const media = [{ kind: 'image', description: 'first' }, image('its caption')]
    expect(wordsIn(transcript([described(2, 'second')], media))).toBe('the text\nfirst\nsecond')
  })

  test.each([
    ['a failed look', turn('describe', 'describer (image 1)', null, { failed: { code: 'image', detail: 'gone' } })],
    ['another stage', turn('brief', 'supporter (image 1)', { description: 'wrong' })],
    ['no number', turn('describe', 'describer', { description: 'wrong' })],
    ['a number that there is not', described(2, 'wrong')],
    ['a blank description', described(1, ' ')],
    ['what is said in place of a look', described(1, 'I cannot view images.', { seen: 'no' })],
  ])('takes no description from %s', (_what, one) => {
    expect(wordsIn(transcript([one], [image('its caption')]))).toBe('the text\nits caption')
  })

  test('has what is said in clips', () => {
    const clips = [{ kind: 'audio', transcript: 'said aloud' }]
    const post = { id: 'p', text: 'the text', createdAt: 0, clips }
    expect(
      wordsIn({ ...transcript([turn('strict', 'strict', {})]), subject: { post, comments: [], leftOut: 0 } }),
    ).toContain('said aloud')
  })

  test('has every turn without its prompt, and how it failed', () => {
    const failed = { code: 'timeout', detail: 'why' }
    const turns = [turn('strict', 'strict', { score: 0.5 }), turn('loose', 'loose', null, { failed })]
    expect(argumentOf(transcript(turns))).toEqual({
      verdictId: 'safety~p~r1',
      subject: { post: { id: 'p', text: 'the text', createdAt: 0, media: [] }, comments: [], leftOut: 0 },
      turns: [
        { stage: 'strict', role: 'strict', answer: { score: 0.5 } },
        { stage: 'loose', role: 'loose', answer: null, failed },
      ],
    })
  })

  test('is none where the post was cut out or deleted', () => {
    expect(argumentOf({ ...transcript([]), subject: '[cut: too large]' })).toBeNull()
  })

  test('is none of a post that was on a list, whose words are hashes', () => {
    const post = { id: 'p', text: `sha256:${'0f'.repeat(32)}`, createdAt: 0, media: [] }
    const vetoed = { ...transcript([]), subject: { post, comments: [], leftOut: 0 } }
    expect(argumentOf(vetoed)).toBeNull()
    expect(argumentOf({ ...vetoed, turns: [turn('strict', 'strict', {})] })).not.toBeNull()
  })
})
