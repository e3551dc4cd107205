import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RecordedTopic, SubjectRecord } from '../../src/contracts/ports/record.ts'
import { entriesOf } from '../../src/record/project.ts'
import { sameThreadHalf } from '../../src/record/sqlite/halves.ts'
import { sqliteRecord } from '../../src/record/sqlite/record.ts'
import { aTranscript, at, CONTEXT, DAY } from '../contracts/record.ts'
import { aVerdict } from '../support/verdicts.ts'
import { DEAD_HEADER } from './expected.ts'
import type { TopicRecord } from './reader.ts'
import { type Held, heldIn, type RecordedEvidence, recordBreaches } from './recorded.ts'
import { ownWords } from './stream.ts'

const T0 = Date.parse(at(0))
const onTopic = (values: readonly (readonly [object, number, Record<string, string>?])[]): TopicRecord[] =>
  values.map(([value, seconds, headers = {}], offset) => ({
    partition: 0,
    offset: String(offset),
    timestamp: T0 + seconds * 1000,
    value: JSON.stringify(value),
    headers,
  }))

const judged = (subjectId: string, revision: number, seconds: number, change: Parameters<typeof aVerdict>[1] = {}) =>
  aVerdict(at(seconds), { subjectId, revision, rationale: `of ${subjectId}`, ...change })
const said = (subjectId: string, id: string) => ({
  id,
  postId: subjectId,
  createdAt: at(1),
  text: `So it is. ${ownWords(id)}`,
})
const decision = (subjectId: string, label: string) => ({
  subjectId,
  protocol: 'rumor',
  label,
  against: 1,
  by: 'ann',
  why: 'The city says so.',
  at: at(20),
})
const outcome = (subjectId: string, change: object = {}) => ({
  schema: 1,
  subjectId,
  tenant: 'default',
  kind: 'post',
  protocol: 'rumor',
  outcome: 'stands',
  of: '0@0',
  revision: 2,
  label: 'non-rumor',
  by: 'ann',
  at: at(21),
  ...change,
})

/** A post that people decided on, two of which a comment was deleted, one that was deleted itself. */
function topics(): RecordedEvidence {
  const human = judged('p', 2, 21, {
    label: 'non-rumor',
    decidedBy: 'human',
    supersedes: 'rumor~p~r1',
    decision: { by: 'ann', against: 'rumor~p~r1', of: '0@0' },
  })
  const withdrawn = judged('q', 2, 30, { restored: { from: 'rumor~q~r1', by: 'ann', why: 'No.', of: '0@1' } })
  const retraction = judged('d', 2, 40, { label: null, decidedBy: 'deleted', degraded: ['deleted'] })
  const { revision: _, supersedes: __, ...ruled } = judged('p', 1, 25)
  return {
    posts: onTopic([
      [{ id: 'p', text: 'a post', createdAt: at(0) }, 0],
      [{ id: 'd', createdAt: at(0), deleted: true }, 39],
    ]),
    comments: onTopic([
      [said('q', 'c1'), 2],
      [{ id: 'c1', postId: 'q', createdAt: at(1), deleted: true }, 35],
      [said('k', 'c3'), 2],
      [{ id: 'c3', postId: 'k', createdAt: at(1), deleted: true }, 3],
    ]),
    counterspeech: [],
    verdicts: onTopic([
      [judged('p', 1, 10), 10],
      [human, 21],
      [judged('q', 1, 11), 11],
      [withdrawn, 30],
      [judged('d', 1, 12), 12],
      [judged('k', 1, 13), 13],
      [retraction, 40],
    ]),
    transcripts: onTopic([
      [aTranscript('rumor~p~r1', 'a post', { c2: ownWords('c2') }), 10],
      [{ ...aTranscript('rumor~q~r1', 'another', { c1: ownWords('c1') }), subject: withPost('q') }, 11],
      [aTranscript('rumor~d~r1', 'gone'), 12],
      // It was shown nothing of the comment, and handed on what may quote it.
      [
        {
          ...aTranscript('rumor~k~r1', 'kept', {}),
          subject: { ...withPost('k'), comments: [] },
          replay: { carry: { shown: ['c3'] } },
        },
        13,
      ],
    ]),
    proposals: onTopic([[{ ...ruled, id: 'rumor~p~p1', proposal: 1, beneath: human.id, differs: true }, 25]]),
    decisions: onTopic([
      [decision('p', 'non-rumor'), 20],
      [decision('q', 'non-rumor'), 20],
      [decision('d', 'non-rumor'), 20],
      [decision('p', 'hoax'), 22, { [DEAD_HEADER]: 'invalid' }],
    ]),
    outcomes: onTopic([
      [outcome('p'), 21],
      [outcome('d', { outcome: 'deleted', of: '0@2', at: at(39) }), 39],
    ]),
    reviews: onTopic([
      [
        {
          schema: 1,
          id: `${human.id}~differs~rumor`,
          subjectId: 'p',
          tenant: 'default',
          kind: 'post',
          protocol: 'rumor',
          why: 'differs',
          verdict: human.id,
          label: 'rumor',
          at: at(26),
        },
        26,
      ],
    ]),
  }
}

function withPost(id: string) {
  const comment = { id: 'c1', text: ownWords('c1'), createdAt: T0 }
  return { post: { id, text: 'another', createdAt: T0 }, comments: [comment], leftOut: 0 }
}

const NAMES: { readonly [Name in keyof RecordedEvidence]: RecordedTopic } = {
  verdicts: 'verdicts',
  transcripts: 'transcripts',
  proposals: 'proposals',
  decisions: 'decisions',
  outcomes: 'decisionOutcomes',
  reviews: 'reviews',
  posts: 'posts',
  comments: 'comments',
  counterspeech: 'counterspeech',
}

describe('the account of a record', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gavel-recorded-'))
  let held: Held
  const lines = (of: Partial<Held>) => recordBreaches(topics(), { ...held, ...of })
  const changed = (name: string, change: (one: SubjectRecord) => Partial<SubjectRecord>) => {
    const subjects = new Map(held.subjects)
    const one = subjects.get(name)
    if (one === undefined) throw new Error(`no subject ${name}`)
    return lines({ subjects: subjects.set(name, { ...one, ...change(one) }) })
  }

  beforeAll(async () => {
    const path = join(folder, 'record.sqlite')
    const settings = {
      path,
      keep: 36_500 * DAY,
      maxBytes: 2 ** 30,
      sourceKeep: 36_500 * DAY,
      auditShare: 0,
      blindShare: 0,
    }
    const store = await sqliteRecord(settings, sameThreadHalf)
    const evidence = topics()
    for (const [name, topic] of Object.entries(NAMES)) {
      for (const { partition, offset, value, timestamp, headers } of evidence[
        name as Exclude<keyof RecordedEvidence, 'judgesComments'>
      ]) {
        const key = (JSON.parse(value) as { subjectId?: string }).subjectId ?? subjectOfTranscript(value)
        const message = { topic, partition, offset, key, value: Buffer.from(value), headers, timestamp }
        const entries = entriesOf(topic, message, CONTEXT).map((entry) => ({ offset: Number(offset), entry }))
        await store.apply({ topic, partition, from: Number(offset), next: Number(offset) + 1, entries })
      }
    }
    await store.close()
    held = await heldIn(path, evidence)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('has no breach where the record is what the topics say', () => {
    expect(lines({})).toEqual([])
  })

  it('finds what is missing', () => {
    expect(changed('post default:p', ({ verdicts }) => ({ verdicts: verdicts.slice(1) }))).toEqual([
      'is missing in the record: 1 (rumor~p~r1)',
    ])
    for (const word of ['decision 0@0', 'outcome 0@0 stands', 'review rumor~p~r2~differs~rumor', 'rumor~p~p1'])
      expect(changed('post default:p', (one) => ({ said: one.said.filter(({ id }) => id !== word) }))).toEqual([
        `is missing in the record: 1 (${word})`,
      ])
    expect(lines({ transcripts: new Map() })).toEqual(['is missing in the record: 1 (the transcript of rumor~p~r1)'])
  })

  it('finds what no topic has, and what is another', () => {
    const renamed = (one: SubjectRecord) => ({
      verdicts: one.verdicts.map((row) =>
        row.standing ? row : { ...row, verdict: { ...row.verdict, rationale: 'another' } },
      ),
      said: one.said.map((row) => (row.id === 'decision 0@0' ? { ...row, message: {} } : row)),
    })
    expect(changed('post default:p', renamed)).toEqual([
      'is in the record otherwise than on its topic: 2 (rumor~p~r1; decision 0@0)',
    ])
    const [word] = held.subjects.get('post default:p')?.said ?? []
    if (word === undefined) throw new Error('nothing was said')
    const invented = { ...word, id: 'decision 0@3' }
    expect(changed('post default:p', ({ said: own }) => ({ said: [...own, invented] }))).toEqual([
      'is in the record, and on no topic: 1 (decision 0@3)',
    ])
  })

  it('finds two that stand, and none', () => {
    const stands = (standing: boolean) =>
      changed('post default:p', ({ verdicts }) => ({ verdicts: verdicts.map((row) => ({ ...row, standing })) }))
    expect(stands(true)).toEqual(['the record is wrong about: 1 (rumor~p~r1 stands, and is not the last)'])
    expect(stands(false)).toEqual(['the record is wrong about: 1 (rumor~p~r2 is the last, and does not stand)'])
  })

  it('finds what is left of a deleted subject, and of a deleted comment, also in a verdict that stands again', () => {
    const [row] = held.subjects.get('post default:p')?.verdicts ?? []
    if (row === undefined) throw new Error('no verdict')
    const back = { ...row, standing: false, verdict: judged('d', 1, 12) }
    expect(changed('post default:d', ({ verdicts }) => ({ verdicts: [back, ...verdicts] }))).toEqual([
      'is in the record though its subject or a comment was deleted: 1 (rumor~d~r1)',
    ])
    const transcripts = new Map(held.transcripts).set('rumor~q~r1', `… ${ownWords('c1')} …`)
    expect(lines({ transcripts })).toEqual([
      'is in the record though its subject or a comment was deleted: 1 (the transcript of rumor~q~r1)',
      'words of deleted comments in the record: 1 (post default:q c1)',
    ])
    expect(lines({ bytes: `\0${ownWords('c1')}` })).toEqual([
      'words of deleted comments in the record: 1 (post default:q c1)',
    ])
    const whole = ({ verdicts }: SubjectRecord) => ({
      verdicts: verdicts.map((one) => ({
        ...one,
        erased: false,
        verdict: { ...one.verdict, rationale: 'of q' },
      })),
    })
    expect(changed('post default:q', whole)).toEqual([
      'is in the record otherwise than on its topic: 2 (rumor~q~r1; rumor~q~r2)',
      'the record is wrong about: 2 (rumor~q~r1 is not erased; rumor~q~r2 is not erased)',
    ])
  })

  it('finds what was not read', () => {
    const rows = { ...held.size.rows, unread: 2 }
    expect(lines({ size: { rows, holes: 1 } })).toEqual([
      'the record is wrong about: 2 (2 messages were not understood; 1 ranges of topics were not read)',
    ])
  })
})

function subjectOfTranscript(value: string): string {
  const { verdictId = '' } = JSON.parse(value) as { verdictId?: string }
  return /~(.*)~/.exec(verdictId)?.[1] ?? ''
}
