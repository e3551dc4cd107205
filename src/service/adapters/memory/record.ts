import type { ThreadRef } from '../../domain/thread.ts'
import type {
  Applied,
  Entry,
  RecordBatch,
  RecordedTopic,
  RecordFilter,
  RecordStore,
  RulingEntry,
  SaidEntry,
  SubjectRecord,
  TranscriptEntry,
} from '../../ports/record.ts'
import { withoutWords } from '../../record/erased.ts'
import { folded, holdsTerms, termsOf } from '../../record/grams.ts'
import { MOST_CANDIDATES, recordedVerdict, recordedWord } from '../../record/recorded.ts'

interface Subject {
  readonly ref: ThreadRef
  deletedAt: number | null
}
interface Ruling extends RulingEntry {
  readonly order: number
  json: string
  readonly sent: string
  contested: boolean
  erased: boolean
}

const keyOf = ({ tenant, kind, postId }: ThreadRef) => `${tenant} ${kind} ${postId}`
const goneKey = (post: ThreadRef, comment: string) => JSON.stringify([post.tenant, post.postId, comment])

/** The rows, and what each entry does with them. */
function rowsInMemory() {
  const subjects = new Map<string, Subject>()
  const rulings = new Map<string, Ruling>()
  const transcripts = new Map<string, TranscriptEntry | { readonly erased: true; readonly subject: ThreadRef }>()
  const said = new Map<string, SaidEntry>()
  const gone = new Set<string>()
  const quotes = new Map<string, { post: ThreadRef; reply: ThreadRef; at: number }>()
  const unread = new Map<string, Extract<Entry, { what: 'unread' }>>()
  let order = 0

  function subjectOf(ref: ThreadRef): Subject {
    const one = subjects.get(keyOf(ref)) ?? { ref, deletedAt: null }
    subjects.set(keyOf(ref), one)
    return one
  }
  const ofSubject = (ref: ThreadRef) => [...rulings.values()].filter(({ subject }) => keyOf(subject) === keyOf(ref))
  const isStanding = (one: Ruling) =>
    ofSubject(one.subject).every(({ protocol, number }) => protocol !== one.protocol || number <= one.number)
  const recorded = (one: Ruling) => recordedVerdict({ ...one, standing: isStanding(one) })

  function erase(ref: ThreadRef, at: number): void {
    const subject = subjectOf(ref)
    subject.deletedAt = Math.max(at, subject.deletedAt ?? at)
    for (const { id, openedAt, decidedBy } of ofSubject(ref))
      if (openedAt <= at && decidedBy !== 'deleted') rulings.delete(id)
    for (const [id, one] of transcripts)
      if (keyOf(one.subject) === keyOf(ref) && !rulings.has(id)) transcripts.delete(id)
    for (const [id, one] of said) if (keyOf(one.subject) === keyOf(ref) && one.at <= at) said.delete(id)
    for (const [place, one] of unread) if (one.subjectId === ref.postId && one.at <= at) unread.delete(place)
    for (const [key, { post, reply }] of quotes)
      if (keyOf(post) === keyOf(ref)) {
        quotes.delete(key)
        erase(reply, at)
      }
  }

  function strip(id: string): void {
    const one = rulings.get(id)
    if (one !== undefined) {
      one.json = withoutWords(one.json)
      one.erased = true
    }
    const proposed = said.get(id)
    if (proposed !== undefined) said.set(id, { ...proposed, json: withoutWords(proposed.json) })
  }

  const takes: { readonly [What in Entry['what']]: (entry: Extract<Entry, { what: What }>, place: string) => void } = {
    ruling(entry) {
      if (entry.decidedBy === 'deleted') erase(entry.subject, entry.openedAt)
      const { deletedAt } = subjectOf(entry.subject)
      if (entry.decidedBy !== 'deleted' && deletedAt !== null && entry.openedAt <= deletedAt) return
      const before = rulings.get(entry.id)
      if (before !== undefined) before.contested ||= before.sent !== entry.json
      else {
        rulings.set(entry.id, { ...entry, sent: entry.json, contested: false, erased: false, order: ++order })
        const shown = transcripts.get(entry.id)
        if (shown !== undefined && 'erased' in shown) strip(entry.id)
      }
    },
    transcript(entry) {
      const { deletedAt } = subjectOf(entry.subject)
      const { verdictId, askedAt, comments, subject } = entry
      if (transcripts.has(verdictId)) return
      if (!rulings.has(verdictId) && deletedAt !== null && (askedAt === null || askedAt <= deletedAt)) return
      const erased = subject.kind === 'post' && comments.some((id) => gone.has(goneKey(subject, id)))
      transcripts.set(verdictId, erased ? { erased, subject } : entry)
      if (erased) strip(verdictId)
    },
    said(entry) {
      const { deletedAt } = subjectOf(entry.subject)
      if (deletedAt !== null && entry.at <= deletedAt) return
      said.set(entry.id, said.get(entry.id) ?? entry)
      const shown = transcripts.get(entry.id)
      if (shown !== undefined && 'erased' in shown) strip(entry.id)
    },
    deletion: ({ subject, at }) => erase(subject, at),
    'comment-deletion'({ post, comment }) {
      gone.add(goneKey(post, comment))
      for (const [id, one] of transcripts)
        if (!('erased' in one) && keyOf(one.subject) === keyOf(post) && one.comments.includes(comment)) {
          transcripts.set(id, { erased: true, subject: post })
          strip(id)
        }
    },
    quote({ post, reply, at }) {
      const { deletedAt } = subjects.get(keyOf(post)) ?? { deletedAt: null }
      if (deletedAt !== null && deletedAt >= at) erase(reply, deletedAt)
      else quotes.set(JSON.stringify([post, reply]), { post, reply, at })
    },
    unread(entry, place) {
      const erased = [...subjects.values()].some(
        ({ ref, deletedAt }) => ref.postId === entry.subjectId && (deletedAt ?? 0) >= entry.at,
      )
      if (!erased) unread.set(place, entry)
    },
  }

  return { subjects, rulings, transcripts, said, unread, takes, isStanding, recorded }
}

/** The record in memory: what the others promise, in as few words as it can be said. Nothing in it is indexed. */
export function memoryRecord({ keep }: { readonly keep: number }): RecordStore {
  const { subjects, rulings, transcripts, said, unread, takes, isStanding, recorded } = rowsInMemory()
  const offsets = new Map<string, number>()
  let [holes, names] = [0, 1]

  function wordsOf(one: Ruling): string {
    const own = transcripts.get(one.id)
    const words = (shown: typeof own) => (shown === undefined || 'erased' in shown ? null : shown.words)
    const others = [...transcripts.values()]
      .flatMap((shown) => ('erased' in shown || keyOf(shown.subject) !== keyOf(one.subject) ? [] : [shown]))
      .filter((shown) => shown.words !== null)
      .sort((a, b) => b.at - a.at)
    return folded(`${words(own) ?? words(others[0]) ?? ''}\n${recorded(one).verdict.rationale}`)
  }

  const fits = (one: Ruling, { tenant, protocol, label, degraded, since }: RecordFilter) =>
    (tenant === undefined || one.subject.tenant === tenant) &&
    (protocol === undefined || one.protocol === protocol) &&
    (label === undefined || one.label === label) &&
    (degraded === undefined || one.degraded) &&
    (since === undefined || one.decidedAt >= since)
  const newestFirst = () =>
    [...rulings.values()].sort(
      (a, b) => Math.floor(b.decidedAt / 1000) - Math.floor(a.decidedAt / 1000) || b.order - a.order,
    )

  function recordOf({ ref, deletedAt }: Subject): SubjectRecord {
    const own = newestFirst().filter(({ subject }) => keyOf(subject) === keyOf(ref))
    const words = [...said.values()].filter(({ subject }) => keyOf(subject) === keyOf(ref)).sort((a, b) => a.at - b.at)
    return { subject: ref, deletedAt, verdicts: own.reverse().map(recorded), said: words.map(recordedWord) }
  }
  const isEmpty = ({ verdicts, said: words, deletedAt }: SubjectRecord) =>
    verdicts.length + words.length === 0 && deletedAt === null
  const isErased = ({ verdicts, said: words }: SubjectRecord) =>
    words.length === 0 && verdicts.every(({ verdict }) => verdict.decidedBy === 'deleted')

  return {
    name: async () => `memory-${names}`,
    rename: async () => `memory-${++names}`,
    positions: async () => new Map(offsets),
    async restart(topic: RecordedTopic, partition: number) {
      holes++
      offsets.set(`${topic}/${partition}`, 0)
    },
    async apply({ topic, partition, from, next, entries, pastHole }: RecordBatch): Promise<Applied> {
      const known = offsets.get(`${topic}/${partition}`)
      const at = known ?? from ?? 0
      if (next <= at && known !== undefined) return 'behind'
      if (from !== null && from > at) {
        if (pastHole !== true) return 'gap'
        holes++
      }
      for (const { offset, entry } of entries)
        if (offset >= at) takes[entry.what](entry as never, `${topic}/${partition}@${offset}`)
      offsets.set(`${topic}/${partition}`, next)
      return 'applied'
    },
    async tidy(now) {
      const cutOff = now - keep
      for (const { id, decidedAt } of rulings.values())
        if (Math.floor(decidedAt / 1000) < Math.floor(cutOff / 1000)) {
          rulings.delete(id)
          transcripts.delete(id)
        }
      for (const [id, { at }] of said) if (at < cutOff) said.delete(id)
    },
    async subject({ tenant, id, kind }) {
      const all = [...subjects.values()].filter(({ ref }) => ref.tenant === tenant && ref.postId === id)
      const wanted = all.filter(({ ref }) => kind === undefined || ref.kind === kind)
      wanted.sort((a, b) => (a.ref.kind < b.ref.kind ? -1 : 1))
      return wanted.map(recordOf).find((one) => !isEmpty(one)) ?? null
    },
    find: async (filter, limit) =>
      newestFirst()
        .filter((one) => fits(one, filter))
        .slice(0, limit)
        .map(recorded),
    async search(query, filter, limit) {
      const terms = termsOf(query)
      const standing = newestFirst().filter((one) => isStanding(one) && !one.erased && fits(one, filter))
      const found = terms.length === 0 ? [] : standing.filter((one) => holdsTerms(wordsOf(one), terms))
      return { found: found.slice(0, limit).map(recorded), stoppedEarly: standing.length > MOST_CANDIDATES }
    },
    async transcript(id) {
      const one = transcripts.get(id)
      return one === undefined || 'erased' in one ? null : one.json
    },
    async *export() {
      yield* [...subjects.values()].map(recordOf).filter((one) => !isErased(one))
    },
    async size() {
      const oldest = Math.min(...[...rulings.values()].map(({ decidedAt }) => decidedAt))
      const kept = [...transcripts.values()]
      return {
        ...{ bytes: 0, holes, full: false, erasingSince: null, oldest: Number.isFinite(oldest) ? oldest : null },
        rows: { verdicts: rulings.size, transcripts: kept.length, said: said.size, unread: unread.size },
      }
    },
    close: async () => {},
  }
}
