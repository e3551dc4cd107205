import { describe, expect, it } from 'vitest'
import { noUsage, type Verdict } from '../../../src/contracts/facts/verdict.ts'
import type { InspectedCase, ShownWait } from '../../../src/recovery/inspection/cases.ts'
import type { Inspection, ShownThread } from '../../../src/recovery/inspection/inspection.ts'
import type { ShownMessage } from '../../../src/recovery/inspection/messages.ts'
import { standingOf } from '../../../src/recovery/inspection/subject-status.ts'
import { aVerdict } from '../../support/verdicts.ts'

const AT = Date.UTC(2026, 0, 1, 12)

const message: ShownMessage = {
  topic: 'posts',
  partition: 0,
  offset: '7',
  receivedAt: AT,
  what: 'post',
  id: 'p',
  deletes: false,
  outcome: 'judged',
  detail: null,
}
const thread: ShownThread = {
  status: 'threaded',
  post: true,
  text: 'x',
  createdAt: AT,
  version: 1,
  final: false,
  comments: { accepted: 3, kept: 3, late: 0, overAuthor: 0 },
  nextAge: null,
  dueSince: null,
  dormantFor: [],
  streamNow: AT,
  revisions: {},
}
const wait: ShownWait = {
  key: '1.0',
  state: 'waiting',
  readyAt: AT,
  tries: 0,
  heldMs: 0,
  why: null,
  stage: 'debate',
  role: 'debater',
  label: null,
}
const open: InspectedCase = {
  id: 'rumor~p~r1',
  protocol: 'rumor',
  revision: 1,
  final: false,
  state: 'open',
  withheld: false,
  openedAt: AT,

  deadline: AT + 60_000,
  takeovers: 1,
  round: 1,
  answers: [],
  waits: [wait],
  usage: noUsage(),
  note: null,
  groups: [],
}
const verdictOf = (change: Partial<Verdict>): Inspection['verdicts'][number] => ({
  verdict: aVerdict(new Date(AT).toISOString(), change),
  publishedAt: AT,
  partition: 0,
  offset: '3',
  records: 1,
})
/** Oldest first. */
const byTwo = [
  verdictOf({ final: false }),
  verdictOf({ protocol: 'hate', label: 'non-hate' }),
  verdictOf({ revision: 2, label: null, decidedBy: 'none' }),
]
const nothing: Inspection = {
  subject: { tenant: 'default', postId: 'p', kind: 'post' },
  at: AT,
  thread: null,
  paused: [],
  cases: [],
  verdicts: [],
  proposals: [],
  reviews: [],
  messages: [],
  transcripts: [],
  deleted: false,
  read: [{ topic: 'posts', partition: 0, records: 12, fromBeginning: false }],
}
const standing = (changes: Partial<Inspection>) => standingOf({ ...nothing, ...changes })

describe('how a subject stands', () => {
  it.each([
    ['never seen', {}, /^It never came.* among 12 records of its partitions \(older ones were not read/],
    [
      'asked about by the id of a verdict',
      { subject: { ...nothing.subject, postId: 'rumor~p~4~r2' } },
      / It looks like the id of a verdict: "gavel show p~4" shows its subject\.$/,
    ],
    [
      'asked about by the id of a verdict of another tenant',
      { subject: { ...nothing.subject, postId: 'hate/reply@acme~c~r1' } },
      / "gavel show c --tenant acme" shows its subject\.$/,
    ],
    [
      'asked about by the id of a verdict apart from the stream',
      { subject: { ...nothing.subject, postId: 'hate/asked~q~r1' } },
      /reads the others\)\.$/,
    ],
    [
      'not read yet',
      { messages: [{ ...message, outcome: 'unread' as const }] },
      /^It has arrived in Kafka\. A message of it, though, is in Kafka and not read yet\.$/,
    ],
    ['known to Kafka alone', { messages: [message] }, /^It came, and Redis knows nothing of it/],
    ['due at its age', { thread: { ...thread, nextAge: AT + 60_000 } }, /now, reaches 2026-01-01T12:01:00\.000Z\.$/],
    [
      'due now',
      { thread: { ...thread, dueSince: AT - 5_000 }, paused: ['rumor'] },
      /\(5 s\), and waits for a case to be opened\.$/,
    ],
    [
      'dormant',
      { thread: { ...thread, dormantFor: ['rumor'] }, paused: ['hate', 'rumor'] },
      /^It has arrived, and nothing is due\. It waits for rumor to be resumed\.$/,
    ],
    ['without its post', { thread: { ...thread, post: false } }, /^Its post has not arrived: 3 comments wait/],
    ['judged by nobody', { thread: { ...thread, status: 'unrouted' as const } }, /^No protocol judges it/],
    [
      'withheld',
      { cases: [{ ...open, withheld: true, waits: [] }] },
      /^rumor~p~r1 was shown content of a subject that was deleted since: it is withheld, and begins again without it\.$/,
    ],
    ['decided', { cases: [{ ...open, state: 'decided' as const }] }, /^rumor~p~r1 is decided, and waits for Kafka\.$/],
    ['at work', { cases: [open] }, /^rumor~p~r1 is being judged: round 1, 0 answered, 1 not yet\.$/],
    ['past its deadline', { cases: [{ ...open, deadline: AT - 1 }] }, /; its deadline has passed\.$/],
    [
      'without a job',
      { cases: [{ ...open, waits: [{ ...wait, state: 'none' as const }] }] },
      /; 1 has no job, and will get one\.$/,
    ],
    ['between two rounds', { cases: [{ ...open, waits: [] }] }, /waits for a worker to advance it\.$/],
    [
      'of other prompts',
      { cases: [{ ...open, note: 'it was opened under others' }] },
      /^rumor~p~r1 is open: it was opened under others\.$/,
    ],
    [
      'at work by one, while another is paused',
      { cases: [open], thread: { ...thread, dormantFor: ['hate'] }, paused: ['hate'] },
      / 1 not yet\. It waits for hate to be resumed\.$/,
    ],
    [
      'judged by two',
      { thread: { ...thread, final: true, revisions: {} }, verdicts: byTwo },
      /^Judged: rumor~p~r2 says no label \(none\), hate~p~r1 says non-hate\. That was for good\.$/,
    ],
    [
      'judged by two, and forgotten',
      { verdicts: byTwo },
      /^Judged for good, and since forgotten by Redis: rumor~p~r2 says no label \(none\), hate~p~r1 says non-hate\.$/,
    ],
    [
      'judged for the time being, and forgotten',
      { verdicts: byTwo.slice(0, 1) },
      /^Judged, and since forgotten by Redis: rumor~p~r1 says rumor\.$/,
    ],
    ['deleted early', { deleted: true }, /^Its post was deleted before any verdict/],
  ])('%s', (_, changes, says) => {
    expect(standing(changes)).toMatch(says)
  })
})
