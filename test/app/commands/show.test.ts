import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { meaningsOf } from '../../../src/app/commands/show/meanings.ts'
import { printRecord } from '../../../src/app/commands/show/of-record.ts'
import { printInspection } from '../../../src/app/commands/show/print.ts'
import { printTranscript } from '../../../src/app/commands/show/transcript.ts'
import type { Transcript } from '../../../src/contracts/facts/verdict.ts'
import type { SubjectRecord } from '../../../src/contracts/ports/record.ts'
import type { SubjectInspection } from '../../../src/recovery/inspection/subject-status.ts'
import { TEXTS } from '../../bystander/registry.ts'
import { ATTACKS } from '../../models/attacks.ts'
import { aVerdict } from '../../support/verdicts.ts'

const AT = Date.UTC(2026, 0, 1, 12)
const MEANINGS = new Map([['rumor', { fake: 'rumor', real: 'non-rumor' }]])

function told(print: (terminal: { out(line: string): void; say(): void; progress(): void }) => void): string[] {
  const lines: string[] = []
  print({ out: (line) => void lines.push(...String(line).split('\n')), say() {}, progress() {} })
  return lines
}

const turn = (more: Partial<Transcript['turns'][number]>): Transcript['turns'][number] => ({
  round: 0,
  stage: 'stance',
  role: 'scorer',
  model: 'm',
  messages: [],
  raw: null,
  calls: [],
  ms: 1,
  memo: false,
  answer: null,
  startedAt: '',
  usage: {} as never,
  ...more,
})
const transcriptOf = (...turns: Transcript['turns']): Transcript => ({
  schema: 1,
  verdictId: 'rumor~p~r1',
  cut: [],
  turns,
  subject: {
    post: { text: 'a post' },
    comments: [
      { id: 'c1', text: 'I saw it\u001b[2J' },
      { id: 'c2', text: 'An old picture' },
    ],
  },
})
const printed = (of: Transcript, meanings = MEANINGS) =>
  told((terminal) => printTranscript(of, { prompts: false, meanings }, terminal))

test('each comment’s words are beside its score, in the order of the answer, whatever their number', () => {
  const scores = [
    { comment: 2, reason: 'denies it', score: -0.8 },
    { comment: 1, reason: 'saw it', score: 1 },
    { comment: 3, reason: 'gone', score: 0 },
  ]
  const lines = printed(transcriptOf(turn({ answer: { scores }, about: ['c1', 'c2', 'c9'] })))
  expect(lines.slice(2)).toEqual([
    '    -0.80  "An old picture"  (c2)',
    '           denies it',
    '    +1.00  "I saw it [2J"  (c1)',
    '           saw it',
    '     0.00  its words are not in the transcript  (c9)',
    '           gone',
  ])
  expect(printed(transcriptOf(turn({ answer: { reason: 'so', score: 0.5 }, about: ['c2'] }))).slice(2)).toEqual([
    '    +0.50  "An old picture"  (c2)',
    '           so',
  ])
  // A score of something else is no comment's.
  expect(printed(transcriptOf(turn({ answer: { score: 0.5 } }))).slice(2)).toEqual(['    score: 0.5'])
})

test('what a lookup found is a line for each neighbour, and a verdict without questions says so', () => {
  const near = {
    id: 'i1',
    text: 'burn it\u001b[2J',
    label: 'unsafe',
    similarity: 0.834,
    metadata: { keyCues: 'a threat' },
  }
  const answer = {
    shelves: [
      { shelf: 'precedents', neighbours: [near], problem: null },
      { shelf: 'learnt', neighbours: [], problem: 'the shelf "learnt" is missing' },
      { shelf: 'own', neighbours: [], problem: 'there is no text to look for' },
    ],
    weak: 'the embedder does not know Korean',
  }
  expect(printed(transcriptOf(turn({ stage: 'lookup', answer }))).slice(2)).toEqual([
    '    precedents: 1 neighbour',
    '      0.83  unsafe  "burn it [2J"  (i1)',
    '            keyCues: a threat',
    '    the shelf "learnt" is missing',
    '    own: there is no text to look for',
    '    the embedder does not know Korean',
  ])
  expect(printed(transcriptOf())).toEqual(['  (nothing was asked for this verdict)'])
})

test('the paper’s word is beside the label that it means', () => {
  const lines = printed(transcriptOf(turn({ stage: 'opinion', answer: { reasoning: 'Real harm.', answer: 'Fake' } })))
  expect(lines).toContain('    reasoning: Real harm.')
  expect(lines).toContain('    answer: Fake (the label rumor)')
  const shipped = meaningsOf(loadSettings({}))
  expect(shipped.get('rumor')).toEqual({ fake: 'rumor', real: 'non-rumor' })
  expect(Object.values(shipped.get('hate') ?? {}).every((side) => ['hate', 'non-hate'].includes(side))).toBe(true)
  expect(Object.keys(shipped.get('hate') ?? {})).not.toEqual([])
})

test('the verdict comes first, earlier ones and messages last, and where records lie only when it is asked for', () => {
  const verdict = (revision: number, label: string) =>
    aVerdict(new Date(AT).toISOString(), {
      id: `rumor~p~r${revision}`,
      revision,
      label,
      rationale: `because ${revision}`,
    })
  const published = { publishedAt: AT, partition: 7, offset: '31', records: 1 }
  const message = { topic: 'posts', partition: 7, offset: '30', receivedAt: AT, what: 'post', id: 'p', deletes: false }
  // What is printed of an inspection; the rest of its messages and verdicts is for --json.
  const shown = {
    subject: { tenant: 'default', postId: 'p', kind: 'post' },
    standing: 'Judged.',
    at: AT,
    paused: [],
    messages: [{ ...message, outcome: 'judged', detail: null }],
    thread: null,
    cases: [],
    deleted: false,
    verdicts: [1, 2].map((revision) => ({
      verdict: verdict(revision, revision === 1 ? 'non-rumor' : 'rumor'),
      ...published,
    })),
    read: [{ topic: 'posts', partition: 7, records: 1, fromBeginning: true }],
    transcripts: [],
    proposals: [],
    reviews: [],
  } as unknown as SubjectInspection
  const print = (offsets: boolean) =>
    told((terminal) => printInspection(shown, { offsets }, { terminal, meanings: MEANINGS }))
  const lines = print(false)
  const at = (start: string) => lines.findIndex((line) => line.trimStart().startsWith(start))
  expect(lines.slice(2, 6)).toEqual([
    '',
    'Verdict rumor~p~r2',
    expect.stringMatching(/^ {2}rumor \(to the models: fake\), for (good|now), decided by /),
    '  because 2',
  ])
  expect(at('Earlier verdicts')).toBeGreaterThan(at('Verdict rumor~p~r2'))
  expect(at('Messages')).toBeGreaterThan(at('Earlier verdicts'))
  expect(lines.join('\n')).not.toMatch(/7@3|posts\/7/)
  expect(print(true).join('\n')).toMatch(/as 7@31;.*posts\/7@30.*read: 1 of posts\/7/s)
})

test('people’s notes and names are plain words in a line, whatever they contain', () => {
  const attacks = [
    ...ATTACKS.map(({ text }) => text),
    ...TEXTS.map(({ make }) => make(2_000)),
    '\u001b]0;x\u0007',
    'a\nb\r\n  c',
  ]
  const linesOf = (text: string): string[] => {
    const decision = { by: text, against: text, of: '0@0' }
    const change = { rationale: text, decidedBy: 'human' as const, label: text, decision }
    const human = aVerdict(new Date(AT).toISOString(), { id: 'rumor~p~r2', revision: 2, ...change })
    const restored = { from: 'rumor~p~r1', by: text, why: text, of: '0@1' }
    const again = aVerdict(new Date(AT).toISOString(), { id: 'rumor~p~r3', revision: 3, restored })
    const published = { publishedAt: AT, partition: 7, offset: '31', records: 1 }
    const reviews = [{ why: 'refused', verdict: text, label: text, by: text, at: text }]
    const shown = {
      subject: { tenant: 'default', postId: 'p', kind: 'post' },
      standing: 'Judged.',
      at: AT,
      paused: [],
      messages: [],
      thread: null,
      cases: [],
      deleted: false,
      read: [],
      transcripts: [],
      verdicts: [human, again].map((verdict) => ({ verdict, ...published })),
      proposals: [{ id: text, label: text, differs: true, beneath: text }],
      reviews,
    } as unknown as SubjectInspection
    const flags = { standing: true, contested: false, conflicting: false, erased: false, sampled: false }
    const word = {
      said: 'decision' as const,
      id: text,
      protocol: text,
      label: text,
      by: text,
      at: AT,
      message: { why: text },
    }
    const record: SubjectRecord = {
      subject: { tenant: text, postId: text, kind: 'post' },
      lang: null,
      deletedAt: null,
      verdicts: [{ verdict: human, sent: '', ...flags }],
      said: [word],
    }
    const calls: string[] = []
    const terminal = { out: (line: unknown) => void calls.push(String(line)), say() {}, progress() {} }
    printInspection({ ...shown, verdicts: shown.verdicts.slice(0, 1) }, {}, { terminal, meanings: MEANINGS })
    printInspection(shown, {}, { terminal, meanings: MEANINGS })
    printRecord(record, terminal)
    return calls.flatMap((call) => call.split('\n'))
  }
  const harmless = linesOf('a word').length
  for (const text of attacks) {
    const lines = linesOf(text)
    expect(lines.length, text).toBe(harmless)
    for (const line of lines)
      expect(line).not.toMatch(/[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/u)
  }
})
