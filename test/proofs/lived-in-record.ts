import { hmac } from '../../src/contracts/facts/hmac.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Entry, NoteEntry, RecordedTopic, RecordStore } from '../../src/contracts/ports/record.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { isDrawn } from '../../src/record/documents.ts'
import { scopeOfVerdict } from '../../src/record/draws.ts'
import { aTranscript, at, DAY, KEEP } from '../contracts/record.ts'
import { aVerdict } from '../support/verdicts.ts'

/** What a record is opened with that is filled by {@link filled}. */
export const LIVED_IN = {
  keep: 2 * KEEP,
  maxBytes: 2 ** 40,
  sourceKeep: 8 * DAY,
  auditShare: 0.02,
  blindShare: 0.1,
  drawKey: 'drawn by a key of the proof',
}
/** What a wrong label costs: some labels are dear, and few verdicts have the dearest. */
export const COSTS = { rumor: { 'non-rumor': 2 }, hate: { 'non-hateful': 5, hateful: 1 } }
const PEOPLE = 30
/** So long after a machine's verdict people decide on it, in verdicts, each of which is a second later. */
const LATER = 5_000
const BATCH = 500
const REASONS = ['refused', 'disputed', 'differs', 'edited'] as const
const LANGS = ['en', 'ko', 'ar', 'de', null] as const
const TEXTS = {
  en: 'The bridge over the river fell at noon says the mayor',
  ko: '경찰은 오늘 다리가 무너졌다고 확인했다',
  ar: 'الشرطة تؤكد خبر انهيار الجسر اليوم',
  de: 'Die Polizei meldet eine Überschwemmung am Bahnhofsvorplatz',
}

/** When the n-th verdict is decided, ms since 1970. */
export const timeOf = (n: number) => Date.parse(at(n))

/** What is said about a verdict, n seconds after the first one: a topic has its own partition. */
type Said = readonly [topic: RecordedTopic, entry: Entry]

/**
 * Fills an empty record with so many verdicts, one a second, of several tenants, protocols and revisions. Some 15 of 100 wait for
 * people, two thirds of them with the same weight; two of a hundred subjects were drawn for audit, and people have decided on two
 * thirds of these and on as many others.
 */
export async function filled(
  store: Pick<RecordStore, 'apply'>,
  verdicts: number,
  progress: (done: number) => void,
): Promise<void> {
  const draw = hmac(LIVED_IN.drawKey)
  const random = seededRandom(65)
  const ends = new Map<RecordedTopic, number>()
  const due: { readonly n: number; readonly of: Verdict }[] = []
  let said: Said[] = []
  async function written(): Promise<void> {
    const topics = Map.groupBy(said, ([topic]) => topic)
    said = []
    for (const [topic, own] of topics) {
      const from = ends.get(topic) ?? 0
      ends.set(topic, from + own.length)
      const entries = own.map(([, entry], nth) => ({ offset: from + nth, entry }))
      await store.apply({ topic, partition: 0, from, next: from + own.length, entries })
    }
  }
  for (let n = 0; n < verdicts; n++) {
    const [first] = due
    if (first !== undefined && first.n + LATER <= n) {
      due.shift()
      said.push(...decided(n, first.of))
    } else {
      const [verdict, entries] = judged(n, random)
      said.push(...entries)
      const isAudited = isDrawn(draw, scopeOfVerdict(verdict.id), LIVED_IN.auditShare)
      if (verdict.revision === 1 && (isAudited ? n % 3 > 0 : n % 73 === 0)) due.push({ n, of: verdict })
    }
    if (n % BATCH === BATCH - 1) await written()
    if (n % 50_000 === 49_999) progress(n + 1)
  }
  await written()
}

const refOf = ({ tenant, subjectId }: Verdict): ThreadRef => ({ tenant, postId: subjectId, kind: 'post' })
const tenantOf = (subject: number) => {
  const part = subject % 10
  return part < 7 ? 'default' : part < 9 ? 'acme' : `small${Math.floor(subject / 10) % 4}`
}

/** A machine's verdict with what came of it: of five, one is a further one of the same subject as the one before. */
function judged(n: number, random: ReturnType<typeof seededRandom>): [Verdict, Said[]] {
  const [group, part] = [Math.floor(n / 5), n % 5]
  const subject = group * 4 + Math.min(part, 3)
  const isHate = part === 4 && group % 2 === 1
  // Equal ones; and one in twenty that is like no other.
  const [isEqual, isOwn] = [n % 10 === 1, n % 20 === 2]
  const accepted = isOwn ? random.below(400) : 0
  const kind = isOwn ? random.below(4) : -1
  const labels = isHate ? ['hateful', 'non-hateful'] : ['rumor', 'non-rumor']
  const label = kind === 0 ? null : (labels[random.below(7) === 0 ? 0 : 1] ?? null)
  const verdict = aVerdict(at(n), {
    protocol: isHate ? 'hate' : 'rumor',
    tenant: tenantOf(subject),
    subjectId: `post${subject}`,
    revision: part === 4 && !isHate ? 2 : 1,
    label,
    decidedBy: kind === 0 ? 'none' : kind === 1 ? 'single' : 'consensus',
    degraded: isEqual || kind === 2 ? ['image:unread'] : [],
    models: { judge: `model-${n % 5}` },
    versions: { script: 1, prompts: `prompts${n % 11}`, settings: 's' },
  })
  const ruling = rulingOf(verdict, n, {
    contested: kind === 3,
    accepted,
    confidence: isOwn ? random.below(1_000) / 1_000 : null,
  })
  const said: Said[] = [['verdicts', ruling]]
  const lang = LANGS[subject % LANGS.length] ?? null
  if (isEqual || isOwn || n % 20 === 7) {
    const text = `${TEXTS[lang ?? 'en']} ${subject}`
    const author = `author${subject % 5_003}`
    const json = JSON.stringify({
      ...aTranscript(verdict.id, text, { c1: 'No.' }, n, { author, ...(lang === null ? {} : { lang }) }),
      turns: [],
    })
    const shown = {
      author,
      lang,
      begins: text,
      same: subject % 50 === 0 ? `same${subject % 100_000}` : text,
      pictures: 0,
    }
    const of = { what: 'transcript', subject: refOf(verdict), verdictId: verdict.id } as const
    said.push([
      'transcripts',
      {
        ...of,
        comments: ['c1'],
        words: `${text}\nNo.`,
        shown,
        written: [{ author, comment: null }],
        askedAt: timeOf(n),
        at: timeOf(n),
        json,
      },
    ])
  }
  const why = REASONS[n % REASONS.length] ?? 'disputed'
  if (n % 500 === 10)
    said.push(['reviews', noteOf(verdict, n, 'review', { label: null, by: '', message: { why, verdict: verdict.id } })])
  if (n % 2_500 === 1)
    said.push(['casework', noteOf(verdict, n, 'assignment', { label: personOf(n), by: 'lead', message: {} })])
  return [verdict, said]
}

const personOf = (n: number) => `person${(n * 7) % PEOPLE}`

/** A person's decision on a verdict, and the verdict that it is; one in eight overrules, one in twenty is a second opinion on it. */
function decided(n: number, of: Verdict): Said[] {
  const by = personOf(n)
  const label = n % 8 === 0 ? 'rumor' : of.label
  const against = of.revision
  const verdict = {
    ...of,
    revision: 3,
    id: of.id.replace(/r1$/, 'r3'),
    label,
    decidedBy: 'human' as const,
    decision: { by, against: of.id, of: '0@0' },
    degraded: [],
    timing: { ...of.timing, decidedAt: at(n) },
  }
  const decision = noteOf(of, n, 'decision', { label, by, message: { label, by, against, why: 'seen' } })
  const opinion = noteOf(of, n + 0.5, 'decision', {
    label: of.label,
    by: personOf(n + 1),
    message: { label, by: personOf(n + 1), against: 3, opinion: true, why: 'seen' },
  })
  const outcome = noteOf(of, n, 'outcome', { label, by, message: { outcome: 'stands' } })
  return [
    ['decisions', decision],
    ['decisionOutcomes', { ...outcome, id: `outcome ${n} stands` }],
    ['verdicts', rulingOf(verdict, n, { contested: false, accepted: 0, confidence: null })],
    ...(n % 20 === 0 ? [['decisions', opinion] as const] : []),
  ]
}

function rulingOf(
  verdict: Verdict,
  n: number,
  own: { contested: boolean; accepted: number; confidence: number | null },
): Entry {
  const { id, protocol, revision: number, label, decidedBy, degraded, models, versions, decision } = verdict
  return {
    what: 'ruling',
    subject: refOf(verdict),
    id,
    protocol,
    number,
    label,
    decidedBy,
    json: JSON.stringify(verdict),
    degraded: degraded.length > 0,
    ...own,
    control: null,
    restores: null,
    marks: [
      ...Object.values(models).map((value) => ({ mark: 'model', value }) as const),
      { mark: 'prompts', value: versions.prompts },
      ...(decision === undefined ? [] : [{ mark: 'decider', value: decision.by } as const]),
      ...(n % 1_000 === 0 ? [{ mark: 'fault', value: 'weather' } as const] : []),
    ],
    openedAt: timeOf(n),
    decidedAt: timeOf(n),
  }
}

function noteOf(
  of: Verdict,
  n: number,
  said: NoteEntry['said'],
  { label, by, message }: { label: string | null; by: string; message: object },
): NoteEntry {
  const protocol = said === 'assignment' ? '' : of.protocol
  return {
    what: 'said',
    said,
    subject: refOf(of),
    id: `${said} ${n}`,
    protocol,
    label,
    by,
    at: timeOf(n),
    json: JSON.stringify(message),
  }
}
