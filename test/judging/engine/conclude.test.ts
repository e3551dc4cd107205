import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Ask } from '../../../src/contracts/facts/ask.ts'
import type { CaseRecord, JournalEntry } from '../../../src/contracts/facts/case.ts'
import { noUsage, type Ruling, transcript } from '../../../src/contracts/facts/verdict.ts'
import { type EndedCase, endOf, transcriptOf, verdictOf } from '../../../src/judging/engine/conclude.ts'
import { callOf, HOUR, T0 } from '../../contracts/samples.ts'
import { WRITES } from '../../support/verdicts.ts'

const record: CaseRecord = {
  id: 'talk~p~r1',
  protocol: 'talk',
  tenant: 'default',
  subjectId: 'p',
  kind: 'post',
  revision: 1,
  final: true,
  supersedes: null,
  subject: {},
  comments: { accepted: 0, cap: 0, late: 0, author: 0 },
  overloaded: false,
  carry: null,
  versions: { script: 1, prompts: 'p', settings: 's' },
  createdAt: T0,
  receivedAt: T0,
  openedAt: T0 + 10,
  deadline: T0 + HOUR,
}
const ask: Ask = {
  stage: 'word',
  role: 'speaker',
  messages: [{ role: 'user', content: 'Say it.' }],
  answer: z.object({ word: z.string() }),
  temperature: 0,
  maxTokens: 10,
}
type Said = Partial<JournalEntry> & { ask?: Ask }

/** A case whose rounds went as given, decided 1,000 ms after its message came. */
function endedAfter(...rounds: readonly (readonly Said[])[]): EndedCase {
  const asked = rounds.flatMap((round, at) =>
    round.map((said, index) => ({ key: `${at}.${index}`, round: at, ask: said.ask ?? ask })),
  )
  const entries = rounds.flatMap((round, at) =>
    round.map(({ ask: _, ...said }, index): [string, JournalEntry] => [
      `${at}.${index}`,
      {
        stage: 'word',
        role: 'speaker',
        model: 'm',
        answer: { word: 'so' },
        raw: null,
        calls: [],
        usage: noUsage(),
        startedAt: T0,
        ms: 0,
        heldMs: 0,
        memo: false,
        ...said,
      },
    ]),
  )
  return {
    record,
    asked,
    journal: new Map(entries),
    lostCalls: [],
    decidedAt: T0 + 1_000,
    writes: WRITES,
    ruling: {
      label: 'good',
      scores: {},
      rationale: 'so',
      decidedBy: 'judge',
      rounds: rounds.length,
      degraded: [],
      evidence: { support: [], oppose: [], precedents: [] },
    },
  }
}

const timingOf = (ended: EndedCase) => {
  const { modelMs, overheadMs } = verdictOf(ended).timing
  return { modelMs, overheadMs }
}

test('a verdict stays small, however much a script says', () => {
  const ended = endedAfter([{}])
  const ids = Array.from({ length: 5_000 }, (_, at) => `${at} ${'i'.repeat(500)}`)
  const words = 'so it is '.repeat(100_000)
  const degraded = ids.map((id) => `${id} ${words.slice(0, 2_000)}`)
  const evidence = { support: ids, oppose: ids, precedents: ids }
  const verdict = verdictOf({ ...ended, ruling: { ...ended.ruling, rationale: words, degraded, evidence } })
  expect(Buffer.byteLength(JSON.stringify(verdict))).toBeLessThan(400_000)
  expect(verdict.degraded.at(-1)).toBe('and 4950 more')
  expect(verdict.rationale).toMatch(/^so it is.*so it is $/s)
  expect(verdict.evidence.support).toEqual(ids.slice(0, 200))
})

test('a verdict says that its comments were drawn under more than one key, beside what its script says', () => {
  const ended = endedAfter([{}])
  const { comments } = ended.record
  const ruling = { ...ended.ruling, degraded: ['a script says so'] }
  expect(verdictOf({ ...ended, ruling }).degraded).toEqual(['a script says so'])
  expect(
    verdictOf({ ...ended, ruling, record: { ...ended.record, comments: { ...comments, rekeyed: true } } }).degraded,
  ).toEqual(['the sample of comments was drawn under more than one key', 'a script says so'])
})

test('a verdict says how many comments of an earlier one had expired from their topic, and that is a fault of ours', () => {
  const ended = endedAfter([{}])
  const record = { ...ended.record, comments: { ...ended.record.comments, missing: 12 } }
  const { degraded, faults } = verdictOf({ ...ended, record, ruling: { ...ended.ruling, degraded: [] } })
  expect(degraded).toEqual(['12 comments of an earlier verdict had expired from their topic, and were not read again'])
  expect(faults).toEqual(['ours'])
})

test('a verdict names each comment under another post that its case held, also where its script says of none', () => {
  const ended = endedAfter([{}])
  const { evidence } = ended.ruling
  const comment = (id: string) => ({ id, text: 'so it is', createdAt: 0 })
  const subject = {
    post: { id: 'p', text: 'So?', createdAt: 0 },
    comments: [],
    leftOut: 0,
    elsewhere: [comment('t~x')],
  }
  const record = { ...ended.record, subject, carry: { decision: 'of before', elsewhere: ['t~y', 't~x'] } }
  const named = (of: Partial<typeof ended>) => verdictOf({ ...ended, ...of }).evidence.elsewhere
  expect(named({ record })).toEqual(['t~x', 't~y'])
  const ruling = { ...ended.ruling, evidence: { ...evidence, elsewhere: ['t~z', 't~x'] } }
  expect(named({ record, ruling })).toEqual(['t~z', 't~x', 't~y'])
  expect(named({})).toBeUndefined()
})

test('a proposal repeats nothing that its case held of other posts, and says so', () => {
  const shown = { ...ask, messages: [{ role: 'user' as const, content: 'Say it. THE OTHER' }] }
  const ended = endedAfter([{ ask: shown, answer: { word: 'THE OTHER' } }])
  const elsewhere = [{ id: 't~x', text: 'THE OTHER', createdAt: 0 }]
  const subject = { post: { id: 'p', text: 'So?', createdAt: 0 }, comments: [], leftOut: 0 }
  const ruling = { ...ended.ruling, rationale: 'says THE OTHER' }
  const sent = (one: { ask: Ask }) => [...one.ask.messages]
  const of = (held: object) =>
    endOf({ ...ended, ruling, record: { ...ended.record, subject: { ...subject, ...held } } }, sent, 100_000)
  const above = { id: 'talk~p~r1', label: 'bad' }
  const texts = (held: object) => Object.values(of(held).proposal(above)).join()
  expect(of({ elsewhere }).transcript).toContain('THE OTHER')
  expect(texts({ elsewhere })).not.toContain('THE OTHER')
  expect(texts({ elsewhere })).toContain('its case held comments under other posts: its reasons are left out')
  expect(texts({})).toContain('says THE OTHER')
})

describe('a verdict of schema 2', () => {
  const ended = endedAfter([{}])
  const inLanguage = (lang?: string) => ({ ...ended.record, subject: { post: { text: 'So?', lang } } })

  test('says what it judged, in which language, whether it was debated, how sure it is, and who wrote it', () => {
    const debated = { held: true, why: 'contested' }
    const confidence = { value: 0.8, how: 'perspectives' }
    const given = { ...ended, record: inLanguage('pt_br'), ruling: { ...ended.ruling, debated }, confidence }
    expect(verdictOf(given)).toMatchObject({ schema: 2, subjectKind: 'post', lang: 'pt-BR', debated, confidence })
    expect(verdictOf(given).versions).toEqual({ ...ended.record.versions, gavel: 'test' })
  })

  test('names the step of load in which its case was opened, whatever its protocol says of debates', () => {
    const of = (change: Partial<CaseRecord>) => verdictOf({ ...ended, record: { ...ended.record, ...change } }).debated
    expect(of({ overloaded: true, step: 3 })).toEqual({ held: false, why: 'none', step: 3 })
    // Of an earlier version.
    expect(of({ overloaded: true })?.step).toBe(2)
    expect(of({})).toEqual({ held: false, why: 'none' })
  })

  test('says of what it does not know that it is not known, and leaves out what nothing fills', () => {
    const bare = verdictOf({ ...ended, record: inLanguage() })
    const unknown = { lang: 'und', debated: { held: false, why: 'none' }, confidence: { value: null, how: null } }
    expect(bare).toMatchObject(unknown)
    for (const field of ['postId', 'unverified', 'policy', 'clauses', 'story', 'veto', 'variant'])
      expect(bare).not.toHaveProperty(field)
    for (const lang of ['no language', '']) expect(verdictOf({ ...ended, record: inLanguage(lang) }).lang).toBe('und')
    expect(verdictOf({ ...ended, record: { ...ended.record, subject: null } }).lang).toBe('und')
  })

  test('is without all of it where schema 1 is written, and says the same otherwise', () => {
    const two = verdictOf(ended)
    const one = verdictOf({ ...ended, writes: { schema: 1, gavel: 'test' } })
    const { subjectKind: _, lang: __, debated: ___, confidence: ____, ...known } = two
    expect(one).toEqual({ ...known, schema: 1, versions: ended.record.versions })
  })
})

describe('the time of a verdict', () => {
  test('is the model’s along the slowest ask of each round, and the rest is overhead', () => {
    const ended = endedAfter([{ ms: 100 }, { ms: 300 }, { ms: 200 }], [{ ms: 50 }])
    expect(timingOf(ended)).toEqual({ modelMs: 350, overheadMs: 650 })
  })

  test('counts a hold neither as the model’s nor as overhead, and an ask that was held long as the slowest', () => {
    const ended = endedAfter([{ ms: 300 }, { ms: 100, heldMs: 400 }], [{ ms: 50, heldMs: 20 }])
    expect(timingOf(ended)).toEqual({ modelMs: 150, overheadMs: 430 })
    expect(timingOf(endedAfter([{ ms: 100, heldMs: 400 }, { ms: 300 }]))).toEqual({ modelMs: 100, overheadMs: 500 })
  })

  test('is never less than none', () => {
    expect(timingOf(endedAfter([{ ms: 5_000 }]))).toEqual({ modelMs: 5_000, overheadMs: 0 })
  })
})

describe('the models of a verdict', () => {
  test('are those that answered, by role', () => {
    const failed = { code: 'unreadable', detail: '' }
    const ended = endedAfter([
      { role: 'scorer', model: 'small' },
      { role: 'debater', model: 'large', failed },
      { role: 'curator', model: '' },
    ])
    expect(verdictOf(ended).models).toEqual({ scorer: 'small' })
  })
})

describe('the faults of a degraded verdict', () => {
  const failed = (code: string, ...outcomes: string[]): Said => ({
    failed: { code, detail: '' },
    calls: outcomes.map((outcome, at) => callOf(`c${at}`, outcome)),
  })
  const faultsOf = (ended: EndedCase, ruling: Partial<Ruling> = {}, comments: Partial<CaseRecord['comments']> = {}) =>
    verdictOf({
      ...ended,
      ruling: { ...ended.ruling, degraded: ['a script says so'], ...ruling },
      record: { ...ended.record, comments: { ...ended.record.comments, ...comments } },
    }).faults
  const weighed = { judged: 1, folded: 0, author: 0, cap: 0, load: 0 }

  test.each([
    [
      'nothing was left out, whatever failed on the way',
      endedAfter([failed('timeout', 'timeout')]),
      { degraded: [] },
      [],
    ],
    ['the subject was deleted', endedAfter(), { decidedBy: 'deleted' as const }, []],
    ['a model refused what it was shown', endedAfter([failed('refused', 'refused')]), {}, ['evidence']],
    ['a filter refused it', endedAfter([failed('content-filter', 'content-filter')]), {}, ['evidence']],
    ['a model can’t be read', endedAfter([failed('unreadable', 'unreadable')]), {}, ['model']],
    ['a budget was spent', endedAfter([failed('budget')]), {}, ['ours']],
    ['an image can’t be read', endedAfter([failed('image')]), {}, ['evidence']],
    ['the deadline came before any call', endedAfter([failed('deadline')]), {}, ['ours']],
    ['a model failed until the deadline', endedAfter([failed('deadline', 'timeout', 'unavailable')]), {}, ['model']],
    ['there is little evidence', endedAfter([{}]), {}, ['evidence']],
    ['comments were left out under load', endedAfter([{}]), { comments: { ...weighed, load: 2 } }, ['ours']],
    ['the script knows better', endedAfter([{}]), { faults: ['ours' as const] }, ['ours']],
    [
      'several things failed',
      endedAfter([failed('image'), failed('timeout'), failed('limited')]),
      {},
      ['ours', 'model', 'evidence'],
    ],
  ])('are told where %s', (_, ended, ruling, faults) => expect(faultsOf(ended, ruling)).toEqual(faults))

  test('are a model’s where its call before the deadline brought no answer', () => {
    const ended = endedAfter([failed('deadline')])
    const lost = { key: '0.0', ...callOf('c', 'rate-limited') }
    expect(faultsOf({ ...ended, lostCalls: [lost] })).toEqual(['model'])
    expect(faultsOf({ ...ended, lostCalls: [{ ...lost, key: '0.1' }] })).toEqual(['ours'])
  })

  test('are ours where the key of the sample was changed', () => {
    expect(faultsOf(endedAfter([{}]), { degraded: [] }, { rekeyed: true })).toEqual(['ours'])
  })
})

describe('a turn of the transcript', () => {
  const turnsOf = (ended: EndedCase) =>
    transcript.parse(JSON.parse(transcriptOf(ended, () => [{ role: 'user', content: 'Say it.' }], 1e6))).turns

  test('says which pieces were sent, where the question did not go out as it stands', () => {
    const [whole, some] = turnsOf(endedAfter([{}, { sent: [[0, 2]] }]))
    expect(whole).not.toHaveProperty('sent')
    expect(some?.sent).toEqual([[0, 2]])
  })

  test('has the hashes of the images that its question showed', () => {
    const [without, shown] = turnsOf(endedAfter([{}, { imageHashes: ['ab', 'cd'] }]))
    expect(without).not.toHaveProperty('imageHashes')
    expect(shown?.imageHashes).toEqual(['ab', 'cd'])
  })

  test('stands whole in a transcript of exactly the bytes that it may have', () => {
    const ended = endedAfter([{ raw: 'x'.repeat(30_000) }])
    const bytes = Buffer.byteLength(transcriptOf(ended, () => [], 1e6))
    expect(JSON.parse(transcriptOf(ended, () => [], bytes))).toMatchObject({ cut: [] })
    expect(JSON.parse(transcriptOf(ended, () => [], bytes - 1))).not.toMatchObject({ cut: [] })
  })
})

describe('what a replay needs', () => {
  const noted = { key: 'k1', firstModel: () => 'first', withThinking: (model: string) => `${model}!` }
  const read = (ended: EndedCase, most = 1e6) =>
    transcript.parse(JSON.parse(transcriptOf({ ...ended, noted }, () => [], most)))
  /** A question about these words, all of them in one call. */
  const about = (texts: readonly string[], temperature = 0): Ask => ({
    ...ask,
    temperature,
    messages: [{ role: 'user', content: `Say it of ${texts.join(' and ')}.` }],
    maxTokens: 10 + texts.length,
    batch: {
      count: texts.length,
      texts,
      single: ask.answer,
      subset: (items) =>
        about(
          items.flatMap((item) => texts[item] ?? []),
          temperature,
        ),
      pick: (answer) => answer,
      merge: () => ({}),
    },
  })

  test('stands in the transcript: who was asked, under which key, in which load, with what was handed on', () => {
    const ended = endedAfter([{ calls: [{ ...callOf('c', 'answered'), model: 'second' }] }, { memo: true }])
    const { turns, replay } = read({
      ...ended,
      record: { ...ended.record, overloaded: true, step: 2, carry: { a: 1 } },
    })
    expect(turns.map(({ asked }) => asked)).toEqual(['second!', 'first!'])
    expect(replay).toEqual({ key: 'k1', overloaded: true, step: 2, carry: { a: 1 } })
    // Also of a case that rests on what was handed on, and asked nothing.
    expect(read(endedAfter()).replay).toEqual({ key: 'k1', overloaded: false })
  })

  test('tells questions apart by all that is asked, and finds an item of a batch again in any other', () => {
    const other = { ...ask, messages: [{ role: 'user', content: 'Say it!' }] } satisfies Ask
    const asks = [ask, other, { ...ask, temperature: 1 }, { ...ask, maxTokens: 11 }, { ...ask, draw: 'draw 2' }]
    const [one = [], ...others] = read(endedAfter(asks.map((one) => ({ ask: one })))).turns.map(
      ({ questions = [] }) => questions,
    )
    expect(new Set([one, ...others].flat()).size).toBe(asks.length)
    const [first, second, colder] = read(
      endedAfter([{ ask: about(['a', 'b']) }, { ask: about(['c', 'a']) }, { ask: about(['a'], 1) }]),
    ).turns.map(({ questions = [] }) => questions)
    expect(first?.[0]).toBe(second?.[1])
    expect(first?.[1]).not.toBe(second?.[0])
    expect(colder).not.toContain(first?.[0])
  })

  test('makes room for the evidence: of a transcript that is too long it goes first', () => {
    const ended = endedAfter([{ raw: 'x'.repeat(30_000) }])
    const bytes = Buffer.byteLength(transcriptOf({ ...ended, noted }, () => [], 1e6))
    expect(read(ended, bytes)).toMatchObject({ cut: [], replay: { key: 'k1' } })
    const shorter = read(ended, bytes - 1)
    expect(shorter.replay).toBeUndefined()
    expect(shorter.turns.map(({ raw, questions }) => [raw?.length, questions])).toEqual([[30_000, undefined]])
    expect(shorter.cut).toEqual([`what a replay needs was left out to stay under ${bytes - 1} bytes`])
  })
})

describe('what an endpoint’s filter refused', () => {
  const HATE = { category: 'hate', severity: 'high' }
  const refused = (model: string, found: readonly { category: string }[], id = model) => ({
    ...callOf(id, 'content-filter'),
    filtered: { model, found: [...found] },
  })
  const about = (stage: string, ...ids: string[]): Ask => ({
    ...ask,
    stage,
    ...(ids.length === 0 ? {} : { about: ids }),
    ...(ids.length < 2 ? {} : { batch: { count: ids.length } as NonNullable<Ask['batch']> }),
  })

  test('is told by stage and model, with what it found, and with the comments that stood alone', () => {
    const verdict = verdictOf(
      endedAfter(
        [
          { ask: about('stance', 'a', 'b'), calls: [refused('small', [HATE])] },
          { ask: about('stance', 'c'), calls: [refused('small', [HATE])] },
          // Alone, beside the words of the one that it answers.
          { ask: { ...about('stance', 'd'), about: ['d', 'e'] }, calls: [refused('small', [])] },
        ],
        [{ ask: about('judge'), calls: [refused('large', []), callOf('x')] }],
      ),
    )
    expect(verdict.filtered).toEqual([
      { stage: 'stance', model: 'small', calls: 3, found: [HATE], comments: ['c', 'd'] },
      { stage: 'judge', model: 'large', calls: 1, found: [] },
    ])
  })

  test('is told of a call that was lost, too, without a comment: its question may have been another', () => {
    const ended = endedAfter([{ ask: about('stance', 'a') }])
    const lost = { key: '0.0', ...refused('small', [HATE]) }
    expect(verdictOf({ ...ended, lostCalls: [lost] }).filtered).toEqual([
      { stage: 'stance', model: 'small', calls: 1, found: [HATE] },
    ])
  })

  test('is not there where nothing was', () => {
    expect(verdictOf(endedAfter([{ calls: [callOf('x', 'refused')] }]))).not.toHaveProperty('filtered')
  })
})
