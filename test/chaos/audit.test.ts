import { describe, expect, it } from 'vitest'
import { noComments } from '../../src/contracts/facts/verdict.ts'
import type { Asked } from './asked.ts'
import { audit, type Evidence } from './audit.ts'
import { DEAD_HEADER } from './expected.ts'
import { Progress } from './progress.ts'
import type { TopicRecord } from './reader.ts'

const AT = '2025-03-01T00:00:00.000Z'

let offsets = 0
const record = (value: object | string, headers: Record<string, string> = {}): TopicRecord => ({
  partition: 0,
  offset: String(offsets++),
  timestamp: Date.parse(AT),
  value: typeof value === 'string' ? value : JSON.stringify(value),
  headers,
})
const post = (id: string, change: object = {}) => record({ id, text: `words of ${id}`, createdAt: AT, ...change })
const comment = (id: string, postId: string, change: object = {}) =>
  record({ id, postId, text: `words of ${id}`, createdAt: AT, ...change })

function verdictOf(subjectId: string, revision = 1, change: object = {}) {
  const id = (number: number) => `rumor~${subjectId}~r${number}`
  return {
    schema: 1,
    id: id(revision),
    subjectId,
    tenant: 'default',
    protocol: 'rumor',
    revision,
    final: true,
    supersedes: revision === 1 ? null : id(revision - 1),
    label: 'rumor',
    scores: {},
    rationale: '',

    decidedBy: 'judge',
    rounds: 1,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [],
    faults: [],
    counts: noComments(),
    usage: { calls: 1, memoHits: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: 0 },
    models: {},
    versions: { script: 1, prompts: 'p', settings: 's' },
    timing: { createdAt: AT, receivedAt: AT, openedAt: AT, decidedAt: AT, modelMs: 0, overheadMs: 0 },
    ...change,
  }
}
const RETRACTED = { label: null, decidedBy: 'deleted', degraded: ['deleted'] }

function transcriptOf(
  verdictId: string,
  postId: string,
  comments: readonly string[],
  calls: readonly string[],
  outcomeOf: (id: string) => string = () => 'answered',
) {
  const usage = { calls: 1, memoHits: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: 0 }
  const turn = { round: 0, stage: 'judge', role: 'judge', model: 'm', messages: [], answer: {}, raw: '', usage }
  return {
    schema: 1,
    verdictId,
    cut: [],
    subject: {
      post: { id: postId, text: `words of ${postId}`, createdAt: 0 },
      comments: comments.map((id) => ({ id, text: `words of ${id}`, createdAt: 0 })),
      leftOut: 0,
    },
    turns: [{ ...turn, calls: calls.map((id) => ({ id, outcome: outcomeOf(id) })), startedAt: AT, ms: 1, memo: false }],
  }
}

const call = (name: string, seq: number, at: number) => ({
  seq,
  call: name,
  stage: 'judge',
  at,
  endedAt: at + 40,
  status: 'answered' as const,
  fault: null,
  question: null,
  promptTokens: 1,
  completionTokens: 1,
})
const asked = (name: string, question: string, subject = 'p'): Asked => ({
  call: name,
  by: 'worker-0',
  question,
  subject,
})

/** One post with a comment, judged with one call: nothing is wrong. */
function whole(): Evidence {
  return {
    posts: [post('p')],
    comments: [comment('c', 'p')],
    counterspeech: [],
    verdicts: [record(verdictOf('p'))],
    transcripts: [record(transcriptOf('rumor~p~r1', 'p', ['c'], ['a']))],
    deadLetters: [],
    decisions: [],
    outcomes: [],
    proposals: [],
    reviews: [],
    hasLost: false,
    calls: [call('a', 1, 1_000)],
    asked: [asked('a', 'q')],
    shadows: [],
    off: [],
    holdUps: [],
    offsets: [{ topic: 'posts', partition: 0, committed: '1', end: '1' }],
  }
}
const letter = (reason: string, offset: string, at = AT) =>
  record({
    schema: 1,
    topic: 'chaos.posts',
    partition: 0,
    offset,
    key: null,
    headers: {},
    reason,
    detail: '',
    raw: '',
    rawBytes: 0,
    truncated: false,
    at,
  })

/** One post with a comment, whose thread was forgotten when it was edited so long after its final verdict, ms. */
function editedAfter(ms: number): Evidence {
  const evidence = whole()
  const edited = { ...post('p', { text: 'other words' }), timestamp: Date.parse(AT) + ms }
  const transcript = transcriptOf('rumor~p~r2', 'p', [], ['b'])
  const subject = { ...transcript.subject, post: { id: 'p', text: 'other words', createdAt: Date.parse(AT) } }
  return {
    ...evidence,
    posts: [...evidence.posts, edited],
    verdicts: [...evidence.verdicts, record(verdictOf('p', 2))],
    transcripts: [...evidence.transcripts, record({ ...transcript, subject })],
    calls: [...evidence.calls, call('b', 5_000, 6_000)],
    asked: [...evidence.asked, asked('b', 'another')],
    offsets: [{ topic: 'posts', partition: 0, committed: '2', end: '2' }],
  }
}

it('lets a thread that was forgotten begin anew without its comments, and no other', () => {
  expect(audit(editedAfter(60_000)).breaches).toEqual([])
  expect(audit(editedAfter(1_000)).breaches).toEqual([expect.stringContaining('rumor~p~r2 lacks c')])
})

it('lets a deletion that a fault held up come to a thread that was forgotten meanwhile, and no other', () => {
  const evidence = whole()
  const sent = Date.parse(AT) + 1_000
  const deletion = { ...comment('c', 'p', { deleted: true }), timestamp: sent }
  const deleted = { ...evidence, comments: [...evidence.comments, deletion] }
  const counted = [expect.stringContaining('rumor~p~r1 counts c, which it must not')]
  expect(audit(deleted).breaches).toEqual(counted)
  expect(audit({ ...deleted, holdUps: [{ from: sent - 500, to: sent + 11_000 }] }).breaches).toEqual([])
  expect(audit({ ...deleted, holdUps: [{ from: sent - 9_000, to: sent - 500 }] }).breaches).toEqual(counted)
})

it('lets a deletion that waited in Kafka come to a thread that was forgotten meanwhile, and no other', () => {
  const evidence = whole()
  const sent = Date.parse(AT) + 1_000
  const deletion = { ...comment('c', 'p', { deleted: true }), timestamp: sent }
  const deleted = { ...evidence, comments: [...evidence.comments, deletion] }
  const takenAfter = (ms: number) => {
    const progress = new Progress()
    progress.note(sent + 500, 'comments', 0, Number(deletion.offset))
    progress.note(sent + ms, 'comments', 0, Number(deletion.offset) + 1)
    progress.note(sent + 60_000, 'comments', 0, Number(deletion.offset) + 2)
    return progress
  }
  const counted = [expect.stringContaining('rumor~p~r1 counts c, which it must not')]
  expect(audit({ ...deleted, progress: takenAfter(10_000) }).breaches).toEqual([])
  expect(audit({ ...deleted, progress: takenAfter(1_000) }).breaches).toEqual(counted)
  expect(audit({ ...deleted, progress: new Progress() }).breaches).toEqual(counted)
})

it('misses no verdict of a protocol that was off when the post came, and any other', () => {
  const evidence = whole()
  const hateful = { ...evidence, posts: [post('p', { lang: 'en' })] }
  const [from, to] = [Date.parse(AT) - 1_000, Date.parse(AT) + 1_000]
  expect(audit({ ...hateful, off: [{ protocol: 'hate', from, to }] }).breaches).toEqual([])
  const missed = [expect.stringContaining('hate of default:p: none')]
  expect(audit(hateful).breaches).toEqual(missed)
  const longAgo = { protocol: 'hate', from: from - 600_000, to: to - 600_000 }
  expect(audit({ ...hateful, off: [longAgo] }).breaches).toEqual(missed)
})

it('finds nothing where nothing is wrong', () => {
  const { breaches, calls, inputs } = audit(whole())
  expect(breaches).toEqual([])
  expect(calls).toEqual({ logged: 1, journaled: 1, failed: 0, orphaned: 0, erased: 0, neverArrived: 0 })
  expect(inputs).toEqual({ 'posts judged': 1, 'comments judged': 1 })
})

const bad = record('{', { [DEAD_HEADER]: 'not-json' })
const retraction = record(verdictOf('p', 2, RETRACTED))
const bare = record(transcriptOf('rumor~p~r2', 'p', [], []))
const gone = record({ id: 'd', postId: 'p', createdAt: AT, deleted: true })
const orphan = { calls: [call('a', 1, 1_000), call('b', 2, 9_000)], asked: [asked('a', 'q'), asked('b', 'other')] }

describe('lets pass', () => {
  it.each<[string, Partial<Evidence>]>([
    ['a repeat of the same bytes', { verdicts: [record(verdictOf('p')), record(verdictOf('p'))] }],
    [
      'a call that its asker gave up on, and that reached the model when another had been answered',
      {
        transcripts: [
          record(transcriptOf('rumor~p~r1', 'p', ['c'], ['b', 'a'], (id) => (id === 'b' ? 'timeout' : 'answered'))),
        ],
        calls: [call('a', 1, 1_000), { ...call('b', 2, 9_000), status: 'aborted' }],
        asked: [asked('a', 'q'), asked('b', 'q')],
      },
    ],
    [
      'a number that is skipped where a comment was deleted',
      {
        comments: [comment('c', 'p'), comment('d', 'p'), gone],
        verdicts: [record(verdictOf('p', 2))],
        transcripts: [record(transcriptOf('rumor~p~r2', 'p', ['c'], ['a']))],
      },
    ],
    [
      'a question that a fault has held up on its way, of a run that was restarted',
      {
        transcripts: [record(transcriptOf('rumor~p~r1', 'p', ['c'], ['b', 'a']))],
        calls: [call('a', 1, 1_000), call('b', 2, 9_000)],
        asked: [asked('a', 'q'), { ...asked('b', 'q'), by: 'worker-1' }],
        shadows: [{ worker: 'worker-1', from: 8_900, to: 9_100 }],
      },
    ],
    ['an orphan near a fault', { ...orphan, shadows: [{ worker: 'worker-0', from: 8_900, to: 9_100 }] }],
    [
      'a malformed message with its dead letter',
      { posts: [post('p'), bad], deadLetters: [letter('not-json', bad.offset)] },
    ],
    [
      'the retraction of what was deleted',
      {
        posts: [post('p'), record({ id: 'p', createdAt: AT, deleted: true })],
        verdicts: [record(verdictOf('p')), retraction],
        transcripts: [...whole().transcripts, bare],
      },
    ],
  ])('%s', (_, change) => {
    expect(audit({ ...whole(), ...change }).breaches).toEqual([])
  })
})

describe('names', () => {
  it.each<[string, Partial<Evidence>, string]>([
    ['a verdict that is missing', { verdicts: [], transcripts: [], calls: [] }, 'without their final verdict'],
    [
      'a last verdict that is not final',
      { verdicts: [record(verdictOf('p', 1, { final: false }))] },
      'without their final',
    ],
    ['a repeat that differs', { verdicts: [...whole().verdicts, record(verdictOf('p', 1, { rounds: 2 }))] }, 'differ'],
    ['a gap in a chain', { verdicts: [record(verdictOf('p', 2))] }, 'chains of revisions that are broken'],
    [
      'a number of the time',
      { verdicts: [record(verdictOf('p', 1_795_700_000))] },
      'chains of revisions that are broken',
    ],
    [
      'silence about why nothing was decided',
      { verdicts: [record(verdictOf('p', 1, { decidedBy: 'none' }))] },
      'say why',
    ],
    ['a verdict of a stranger', { posts: [], comments: [] }, 'nobody asked for'],
    ['a comment that was not judged', { comments: [comment('c', 'p'), comment('d', 'p')] }, 'another state'],
    [
      'a comment that is judged though it was deleted',
      { comments: [comment('c', 'p'), comment('c', 'p', { deleted: true })] },
      'another state',
    ],
    ['an edit that was not judged', { posts: [post('p'), post('p', { text: 'edited' })] }, 'another state'],
    ['a deleted post that is not retracted', { posts: [post('p'), post('p', { deleted: true })] }, 'retracted'],
    ['a verdict without its transcript', { transcripts: [], calls: [] }, 'without a transcript'],
    ['a malformed message without its dead letter', { posts: [post('p'), bad] }, 'without their dead letter'],
    ['a dead letter for nothing', { deadLetters: [letter('invalid', '99')] }, 'nothing is wrong with'],
    [
      'a comment without a post and without a dead letter',
      { comments: [comment('c', 'p'), comment('x', 'ghost')] },
      'orphan-expired',
    ],
    [
      'dead letters of one message that differ',
      {
        posts: [post('p'), bad],
        deadLetters: [letter('not-json', bad.offset), letter('not-json', bad.offset, '2025-04-01T00:00:00.000Z')],
      },
      'differ',
    ],
    ['an orphan without a fault near', orphan, 'no fault near'],
    [
      'an orphan of another process than the fault',
      { ...orphan, shadows: [{ worker: 'worker-1', from: 8_900, to: 9_100 }] },
      'no fault near',
    ],
    ['a call that nobody made', { calls: [] }, 'never answered'],
    [
      'a call that is claimed twice',
      { transcripts: [record(transcriptOf('rumor~p~r1', 'p', ['c'], ['a', 'a']))] },
      'claimed twice',
    ],
    [
      'a journaled answer that was asked for again',
      {
        transcripts: [record(transcriptOf('rumor~p~r1', 'p', ['c'], ['b', 'a']))],
        calls: [call('a', 1, 1_000), call('b', 2, 9_000)],
        asked: [asked('a', 'q'), asked('b', 'q')],
      },
      'asked for again',
    ],
    [
      'an offset that was not committed',
      { offsets: [{ topic: 'posts', partition: 0, committed: '0', end: '1' }] },
      'not their end',
    ],
  ])('%s', (_, change, named) => {
    expect(audit({ ...whole(), ...change }).breaches.join('\n')).toContain(named)
  })
})

describe('of what people decided', () => {
  const MINE = { subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'rumor' }
  const decision = (change: object = {}, headers = {}) =>
    record({ ...MINE, label: 'non-rumor', against: 1, by: 'ann', why: 'So it is.', at: AT, ...change }, headers)
  const humanBy = (of: string, revision = 2, change: object = {}) => {
    const decided = { decidedBy: 'human', label: 'non-rumor', decision: { by: 'ann', against: 'rumor~p~r1', of } }
    return verdictOf('p', revision, { ...decided, ...change })
  }
  const stub = (verdictId: string) => record({ schema: 1, verdictId, subject: null, turns: [], cut: [] })
  const outcome = (of: string, revision: number, what = 'stands') =>
    record({ schema: 1, ...MINE, outcome: what, of, revision, label: 'non-rumor', by: 'ann', at: AT })
  const review = (change: object) => record({ schema: 1, ...MINE, id: 'r', verdict: 'rumor~p~r2', at: AT, ...change })
  const proposal = (number: number, change: object = {}) => {
    const { revision: _, supersedes: __, ...said } = verdictOf('p', number)
    return { ...said, id: `rumor~p~p${number}`, proposal: number, beneath: 'rumor~p~r2', differs: true, ...change }
  }
  const placeOf = ({ partition, offset }: TopicRecord) => `${partition}@${offset}`

  /** Decided, and a proposal beneath it: nothing is wrong. */
  function decided(change: (all: Evidence, of: string) => Partial<Evidence> = () => ({})): Evidence {
    const [evidence, made] = [whole(), decision()]
    const of = placeOf(made)
    const transcript = transcriptOf('rumor~p~p3', 'p', ['c'], ['b'])
    const all: Evidence = {
      ...evidence,
      decisions: [made],
      outcomes: [outcome(of, 2)],
      verdicts: [...evidence.verdicts, record(humanBy(of))],
      proposals: [record(proposal(3))],
      reviews: [review({ why: 'differs', label: 'rumor', proposal: 'rumor~p~p3' })],
      transcripts: [...evidence.transcripts, stub('rumor~p~r2'), record(transcript)],
      calls: [...evidence.calls, call('b', 5_000, 6_000)],
      asked: [...evidence.asked, asked('b', 'another')],
    }
    return { ...all, ...change(all, of) }
  }
  const breachesOf = (change?: Parameters<typeof decided>[0]) => audit(decided(change)).breaches

  it('finds nothing wrong where each decision has its end', () => {
    expect(breachesOf()).toEqual([])
    const refused = decision({ by: 'ben' })
    expect(
      breachesOf((all) => ({
        decisions: [...all.decisions, refused, decision({ label: 'hoax' }, { [DEAD_HEADER]: 'invalid' })],
        reviews: [...all.reviews, review({ why: 'refused', of: placeOf(refused) })],
      })),
    ).toEqual([expect.stringContaining('malformed messages without their dead letter')])
  })

  it('lets numbers have gaps where proposals are, and nowhere else', () => {
    const again = { decision: { by: 'ann', against: 'rumor~p~r2', of: '' } }
    const following = (number: number) =>
      breachesOf((all) => {
        const made = decision({ against: 2 })
        const human = { ...again, decision: { ...again.decision, of: placeOf(made) }, supersedes: 'rumor~p~r2' }
        return {
          decisions: [...all.decisions, made],
          outcomes: [...all.outcomes, outcome(placeOf(made), number)],
          verdicts: [...all.verdicts, record(humanBy('', number, human))],
          transcripts: [...all.transcripts, stub(`rumor~p~r${number}`)],
        }
      })
    expect(following(4)).toEqual([])
    expect(following(5)).toEqual([expect.stringContaining('chains of revisions that are broken')])
  })

  it('asks nobody to look at a proposal beneath what was withdrawn before it', () => {
    const withdrawn = (at: string) =>
      breachesOf((all) => {
        const made = decision({ label: undefined, withdraw: true, against: 2, by: 'cay' })
        const told = {
          schema: 1,
          ...MINE,
          outcome: 'withdrawn',
          of: placeOf(made),
          revision: 0,
          label: null,
          by: 'cay',
          at,
        }
        return {
          decisions: [...all.decisions, made],
          outcomes: [...all.outcomes, record(told)],
          reviews: [],
        }
      }).filter((one) => one.includes('asked to look'))
    expect(withdrawn(AT)).toEqual([])
    expect(withdrawn('2099-01-01T00:00:00.000Z')).toHaveLength(1)
  })

  it('lets a decision that came before its subject be handled anew where Redis was emptied, and no other', () => {
    const both = (reason: string, hasLost: boolean) =>
      breachesOf((all, of) => {
        const refused = letter(reason, of.split('@')[1] ?? '')
        const value = refused.value.replace('chaos.posts', 'chaos.decisions')
        return { hasLost, deadLetters: [...all.deadLetters, { ...refused, value }] }
      }).filter((one) => one.includes('refused as well'))
    expect(both('unjudgeable', true)).toEqual([])
    expect(both('unjudgeable', false)).toHaveLength(1)
    expect(both('invalid', true)).toHaveLength(1)
  })

  it.each<[string, string, NonNullable<Parameters<typeof decided>[0]>]>([
    [
      'a machine’s verdict after it',
      'verdicts of machines after a human one',
      ({ verdicts, transcripts }) => ({
        verdicts: [...verdicts, record(verdictOf('p', 4, { supersedes: 'rumor~p~r2' }))],
        transcripts: [...transcripts, record(transcriptOf('rumor~p~r4', 'p', ['c'], []))],
      }),
    ],
    [
      'a decision of which nothing came',
      'nobody knows what came',
      ({ decisions }) => ({ decisions: [...decisions, decision({ by: 'ben' })] }),
    ],
    [
      'one that was carried out twice',
      'without their one verdict',
      ({ verdicts, transcripts }, of) => ({
        verdicts: [
          ...verdicts,
          record(humanBy(of, 4, { supersedes: 'rumor~p~r2', decision: { by: 'ann', against: 'rumor~p~r2', of } })),
        ],
        transcripts: [...transcripts, stub('rumor~p~r4')],
      }),
    ],
    [
      'one that was refused as well',
      'carried out, and refused',
      ({ reviews }, of) => ({ reviews: [...reviews, review({ why: 'refused', of })] }),
    ],
    [
      'a repeat that was handled',
      'handled twice',
      ({ decisions, reviews }) => {
        const again = decision()
        return {
          decisions: [...decisions, again],
          reviews: [...reviews, review({ why: 'refused', of: placeOf(again) })],
        }
      },
    ],
    ['no outcome', 'have no outcome', () => ({ outcomes: [] })],
    [
      'a state that its person did not see',
      'on another state',
      ({ verdicts }, of) => ({
        verdicts: [...verdicts.slice(0, -1), record(humanBy(of, 2, { decision: { by: 'ann', against: null, of } }))],
      }),
    ],
    [
      'a proposal with a verdict’s number',
      'with the number of a verdict',
      () => ({
        proposals: [record(proposal(3, { id: 'rumor~p~p2', proposal: 2 }))],
      }),
    ],
    [
      'a proposal beneath nothing',
      'beneath nothing',
      () => ({ proposals: [record(proposal(3, { beneath: 'rumor~p~r1' }))] }),
    ],
    ['nobody asked to look again', 'nobody was asked to look', () => ({ reviews: [] })],
  ])('finds %s', (_, found, change) => {
    expect(breachesOf(change).join('\n')).toContain(found)
  })
})
