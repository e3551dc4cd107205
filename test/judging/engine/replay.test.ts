import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../../src/contracts/facts/ask.ts'
import type { JournalEntry } from '../../../src/contracts/facts/case.ts'
import { noUsage } from '../../../src/contracts/facts/verdict.ts'
import { begin, proceed, type ReplayState, replay } from '../../../src/judging/engine/replay.ts'
import { type Conclusion, round, type Script } from '../../../src/judging/engine/script.ts'

const said = z.object({ word: z.string() })

const asks = (stage: string, content: string): Ask<{ word: string }> => ({
  stage,
  role: 'speaker',
  messages: [{ role: 'user', content }],
  answer: said,
  temperature: 0,
  maxTokens: 10,
})

const concluded = (rationale: string): Conclusion => ({
  ruling: {
    label: null,
    scores: {},
    rationale,
    decidedBy: 'none',
    rounds: 0,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [],
  },
})

/** Two words at once, then one that is asked for with both; a word that failed is told by its code. */
function* sentence(): Script {
  const [first, second] = yield* round([asks('word', 'first'), asks('word', 'second')])
  const both = [first, second]
    .map((reply) => (reply.ok ? reply.answer.word : `(${reply.code}: ${reply.detail})`))
    .join(' ')
  const [last] = yield* round([asks('end', both)])
  return concluded(`${both} ${last.ok ? last.answer.word : `(${last.code})`}`)
}

const entry = (answer: unknown, over: Partial<JournalEntry> = {}): JournalEntry => ({
  stage: 'word',
  role: 'speaker',
  model: 'm',
  answer,
  raw: null,
  calls: [],
  usage: noUsage(),
  startedAt: 0,
  ms: 1,
  heldMs: 0,
  memo: false,
  ...over,
})
const failure = (code: string, detail: string) => entry(null, { failed: { code, detail } })
const run = (journal: Record<string, JournalEntry>) => replay(sentence(), new Map(Object.entries(journal)))
const openIn = (replayState: ReplayState) =>
  replayState.at === 'end' ? [] : replayState.open.map(({ key, ask }) => [key, ask.messages.at(-1)?.content])
const askedIn = (replayState: ReplayState) => replayState.asked.map(({ key }) => key)
const wordsOf = (replayState: ReplayState) =>
  replayState.at === 'end' ? replayState.conclusion.ruling.rationale : 'not at its end'

const both = { '0.0': entry({ word: 'It' }), '0.1': entry({ word: 'rained' }) }
const last = entry({ word: 'today' }, { stage: 'end' })

describe('a replay', () => {
  test('over an empty journal stands at the first round, all of it open', () => {
    const replayState = run({})
    expect(openIn(replayState)).toEqual([
      ['0.0', 'first'],
      ['0.1', 'second'],
    ])
    expect(askedIn(replayState)).toEqual(['0.0', '0.1'])
  })

  test('goes on from the round where an earlier attempt broke off', () => {
    const replayState = run(both)
    expect(openIn(replayState)).toEqual([['1.0', 'It rained']])
    expect(askedIn(replayState)).toEqual(['0.0', '0.1', '1.0'])
    expect(replayState.asked.map(({ round }) => round)).toEqual([0, 0, 1])
  })

  test('asks again only for what is missing in a round that broke off midway', () => {
    const replayState = run({ '0.1': entry({ word: 'rained' }) })
    expect(openIn(replayState)).toEqual([['0.0', 'first']])
    expect(askedIn(replayState)).toEqual(['0.0', '0.1'])
  })

  test('waits for a whole round, even if the next one is in the journal', () => {
    expect(openIn(run({ '0.0': entry({ word: 'It' }), '1.0': last }))).toEqual([['0.1', 'second']])
  })

  test('reaches the conclusion, the same each time', () => {
    const journal = { ...both, '1.0': last }
    expect(wordsOf(run(journal))).toBe('It rained today')
    expect(run(journal)).toEqual(run(journal))
    expect(askedIn(run(journal))).toEqual(['0.0', '0.1', '1.0'])
  })

  test('hands a failed entry to the script as a failure', () => {
    const journal = { '0.0': failure('refused', 'the model refused'), '0.1': entry({ word: 'rained' }) }
    expect(openIn(run(journal))).toEqual([['1.0', '(refused: the model refused) rained']])
    const ended = run({ ...both, '1.0': { ...failure('deadline', 'too late'), stage: 'end' } })
    expect(wordsOf(ended)).toBe('It rained (deadline)')
  })

  test('takes a failed entry for a failure, though an answer stands beside it', () => {
    const odd = entry({ word: 'It' }, { failed: { code: 'unreadable', detail: 'd' } })
    expect(openIn(run({ ...both, '0.0': odd }))).toEqual([['1.0', '(unreadable: d) rained']])
  })

  test.each<[string, Partial<JournalEntry>]>([
    ['stage', { stage: 'judge' }],
    ['role', { role: 'judge' }],
  ])('throws where the journal has another %s than the script asks', (_, over) => {
    expect(() => run({ ...both, '0.1': entry({ word: 'rained' }, over) })).toThrow(/the journal has .* at 0\.1/)
  })

  test('throws where a failure stands under another stage, too', () => {
    expect(() => run({ ...both, '0.1': { ...failure('timeout', 'd'), stage: 'judge' } })).toThrow(/at 0\.1/)
  })

  test.each([{ word: 7 }, null, {}, 'It'])(
    'throws where the journal has %j, which answers another question',
    (answer) => {
      expect(() => run({ ...both, '0.0': entry(answer) })).toThrow()
    },
  )

  test('throws where an entry is no journal entry', () => {
    expect(() => run({ ...both, '0.0': { stage: 'word', role: 'speaker' } as JournalEntry })).toThrow()
  })

  test('is not led astray by keys that the script never asks for', () => {
    expect(openIn(run({ ...both, '7.0': entry({ word: 'x' }), '0.2': entry({ word: 'y' }) }))).toEqual([
      ['1.0', 'It rained'],
    ])
  })

  test('lets an error of the script through', () => {
    const faulty = function* (): Script {
      yield* round([asks('word', 'first')])
      throw new Error('a bug')
    }
    const journal = new Map([['0.0', entry({ word: 'It' })]])
    expect(() => replay(faulty(), journal)).toThrow('a bug')
    expect(replay(faulty(), new Map()).at).toBe('round')
  })

  test('passes over a round without asks, which takes no number', () => {
    const sparing = function* (): Script {
      expect(yield* round([])).toEqual([])
      const [only] = yield* round([asks('word', 'first')])
      return concluded(only.ok ? only.answer.word : only.code)
    }
    expect(openIn(replay(sparing(), new Map()))).toEqual([['0.0', 'first']])
    expect(wordsOf(replay(sparing(), new Map([['0.0', entry({ word: 'It' })]])))).toBe('It')
  })

  test('ends at once where a script asks nothing', () => {
    // biome-ignore lint/correctness/useYield: a script may need no answer
    const silent = function* (): Script {
      return concluded('nothing to ask')
    }
    expect(replay(silent(), new Map())).toEqual({ at: 'end', conclusion: concluded('nothing to ask'), asked: [] })
  })
})

describe('a script that waits in memory', () => {
  const journal = { ...both, '1.0': last }

  test('goes on from its round, and stands at each step where a replay would', () => {
    const progress = begin(sentence())
    const steps: Record<string, JournalEntry>[] = [{}, { '0.1': both['0.1'] }, both, both, journal]
    for (const known of steps) {
      const replayState = proceed(progress, new Map(Object.entries(known)))
      expect([openIn(replayState), askedIn(replayState)]).toEqual([openIn(run(known)), askedIn(run(known))])
      expect(replayState.at).toBe(run(known).at)
    }
  })

  test('reaches the same conclusion, and says it again when asked again', () => {
    const progress = begin(sentence())
    proceed(progress, new Map())
    const known = new Map(Object.entries(journal))
    expect(wordsOf(proceed(progress, known))).toBe('It rained today')
    expect(wordsOf(proceed(progress, known))).toBe('It rained today')
  })

  test('asks one thing under one key, however often it is looked at', () => {
    const progress = begin(sentence())
    for (let times = 0; times < 3; times++) proceed(progress, new Map())
    expect(askedIn(proceed(progress, new Map(Object.entries(both))))).toEqual(['0.0', '0.1', '1.0'])
  })

  test('is where it was after a journal that does not fit, and goes on over one that does', () => {
    const progress = begin(sentence())
    const wrong = { ...both, '0.1': entry({ word: 'rained' }, { stage: 'judge' }) }
    expect(() => proceed(progress, new Map(Object.entries(wrong)))).toThrow(/at 0\.1/)
    expect(wordsOf(proceed(progress, new Map(Object.entries(journal))))).toBe('It rained today')
  })
})
