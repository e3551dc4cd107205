import { hmac } from '../../contracts/facts/hmac.ts'
import { redactWords } from '../../contracts/facts/redact-words.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type {
  ApplyOutcome,
  Arrivals,
  Entry,
  NoteEntry,
  RecordBatch,
  RecordedRow,
  RecordedTopic,
  RecordFilter,
  RecordStore,
  RulingEntry,
  SubjectPreview,
  SubjectRecord,
  TranscriptEntry,
} from '../../contracts/ports/record.ts'
import { MOST_ERASED, MOST_WORDS } from '../../contracts/ports/record.ts'
import type { ReviewQueue } from '../../contracts/ports/review.ts'
import { folded, holdsTerms, termsOf } from '../grams.ts'
import { judgedKinds, noteSubject } from '../note-subject.ts'
import { isGone, MOST_CANDIDATES, recordedRow, recordedVerdict, recordedWord } from '../recorded.ts'
import type { Costs } from '../review-queue.ts'
import { memoryReview } from './review.ts'

interface Subject {
  readonly ref: ThreadRef
  deletedAt: number | null
  shown: SubjectPreview | null
  goneSeq: number
}
interface Ruling extends RulingEntry {
  readonly order: number
  json: string
  readonly sent: string
  conflicting: boolean
  /** When it came, once its words are there; 0 before. */
  seq: number
  erased: boolean
}

const keyOf = ({ tenant, kind, postId }: ThreadRef) => `${tenant} ${kind} ${postId}`
const goneKey = (post: ThreadRef, comment: string) => JSON.stringify([post.tenant, post.postId, comment])

/** The rows, and what each entry does with them. */
function rowsInMemory(isSampled: (one: RulingEntry) => boolean) {
  const subjects = new Map<string, Subject>()
  const rulings = new Map<string, Ruling>()
  const transcripts = new Map<string, TranscriptEntry | { readonly erased: true; readonly subject: ThreadRef }>()
  const said = new Map<string, NoteEntry>()
  const gone = new Set<string>()
  const quotes = new Map<string, { post: ThreadRef; reply: ThreadRef; at: number }>()
  const unread = new Map<string, Extract<Entry, { what: 'unread' }>>()
  let [order, arrivals] = [0, 0]

  const hasLost = (post: ThreadRef) => [...gone].some((one) => one.startsWith(goneKey(post, '').slice(0, -2)))
  function subjectOf(ref: ThreadRef): Subject {
    const one = subjects.get(keyOf(ref)) ?? { ref, deletedAt: null, shown: null, goneSeq: 0 }
    subjects.set(keyOf(ref), one)
    return one
  }
  const ofSubject = (ref: ThreadRef) => [...rulings.values()].filter(({ subject }) => keyOf(subject) === keyOf(ref))
  const isStanding = (one: Ruling) =>
    ofSubject(one.subject).every(({ protocol, number }) => protocol !== one.protocol || number <= one.number)
  const recorded = (one: Ruling) => recordedVerdict({ ...one, standing: isStanding(one), sampled: isSampled(one) })
  const arrived = () => arrivals

  function erase(ref: ThreadRef, at: number): void {
    const subject = subjectOf(ref)
    if (subject.deletedAt === null || subject.deletedAt < at)
      Object.assign(subject, { deletedAt: at, shown: null, goneSeq: ++arrivals })
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
    for (const one of rulings.values()) {
      if (one.erased || (one.id !== id && one.restores !== id)) continue
      Object.assign(one, { json: redactWords(one.json), erased: true, seq: ++arrivals })
      strip(one.id)
    }
    const proposed = said.get(id)
    if (proposed !== undefined) said.set(id, { ...proposed, json: redactWords(proposed.json) })
  }

  /** A comment that it rests on was deleted. */
  function isErased(id: string): boolean {
    const shown = transcripts.get(id)
    return (shown !== undefined && 'erased' in shown) || rulings.get(id)?.erased === true
  }

  function arrive(id: string): void {
    const one = rulings.get(id)
    if (one !== undefined && isStanding(one)) one.seq = ++arrivals
  }

  const takes: { readonly [What in Entry['what']]: (entry: Extract<Entry, { what: What }>, place: string) => void } = {
    ruling(entry) {
      if (entry.decidedBy === 'deleted') erase(entry.subject, entry.openedAt)
      const { deletedAt } = subjectOf(entry.subject)
      if (entry.decidedBy !== 'deleted' && deletedAt !== null && entry.openedAt <= deletedAt) return
      const before = rulings.get(entry.id)
      if (before !== undefined) before.conflicting ||= before.sent !== entry.json
      else {
        rulings.set(entry.id, { ...entry, sent: entry.json, conflicting: false, erased: false, order: ++order, seq: 0 })
        const shown = transcripts.get(entry.id)
        if (isErased(entry.id) || (entry.restores !== null && isErased(entry.restores))) strip(entry.id)
        else if (shown !== undefined) arrive(entry.id)
      }
    },
    transcript(entry) {
      const { deletedAt } = subjectOf(entry.subject)
      const { verdictId, askedAt, comments, subject } = entry
      if (transcripts.has(verdictId)) return
      if (!rulings.has(verdictId) && deletedAt !== null && (askedAt === null || askedAt <= deletedAt)) return
      const erased =
        subject.kind === 'post' && (comments?.some((id) => gone.has(goneKey(subject, id))) ?? hasLost(subject))
      transcripts.set(verdictId, erased ? { erased, subject } : entry)
      if (entry.shown !== null) subjectOf(subject).shown = entry.shown
      if (erased) strip(verdictId)
      else arrive(verdictId)
    },
    said(entry) {
      const subject = noteSubject(entry, () => judgedKinds(rulings.values(), entry))
      const { deletedAt } = subjectOf(subject)
      if (deletedAt !== null && entry.at <= deletedAt) return
      said.set(entry.id, said.get(entry.id) ?? { ...entry, subject })
      if (isErased(entry.id)) strip(entry.id)
    },
    deletion: ({ subject, at }) => erase(subject, at),
    'comment-deletion'({ post, comment }) {
      gone.add(goneKey(post, comment))
      for (const [id, one] of transcripts)
        if (!('erased' in one) && keyOf(one.subject) === keyOf(post) && (one.comments?.includes(comment) ?? true)) {
          transcripts.set(id, { erased: true, subject: post })
          strip(id)
        }
    },
    quote({ post, reply, at }) {
      const deletedAt = subjects.get(keyOf(post))?.deletedAt ?? null
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

  return { subjects, rulings, transcripts, said, unread, takes, isStanding, recorded, arrived }
}

/** Newer than those of earlier seconds and, within a second, than those that came before. */
const docOf = ({ decidedAt, order }: Ruling) => Math.floor(decidedAt / 1000) * 4_096 + order

function fitsFacts(one: Ruling, filter: RecordFilter): boolean {
  const { tenants, protocol, label, degraded, contested, since, until, before } = filter
  return (
    (tenants === undefined || tenants.includes(one.subject.tenant)) &&
    (protocol === undefined || one.protocol === protocol) &&
    (label === undefined || one.label === label) &&
    (degraded === undefined || one.degraded) &&
    (contested === undefined || one.contested) &&
    (since === undefined || one.decidedAt >= since) &&
    (until === undefined || one.decidedAt < until) &&
    (before === undefined || docOf(one) < Number(before))
  )
}

function isMarked(one: Ruling, { model, prompts, fault }: RecordFilter): boolean {
  const wanted = Object.entries({ model, prompts, fault })
  return wanted.every(
    ([mark, value]) => value === undefined || one.marks.some((own) => own.mark === mark && own.value === value),
  )
}

function arrivalsIn(
  rows: {
    readonly rulings: ReadonlyMap<string, Ruling>
    readonly subjects: ReadonlyMap<string, Subject>
    readonly isStanding: (one: Ruling) => boolean
    readonly rowOf: (one: Ruling) => RecordedRow
    readonly now: number
  },
  after: string | null,
  most: number,
): Arrivals {
  const { rulings, subjects, isStanding, rowOf, now } = rows
  const since = /^memory\/\d+$/.test(after ?? '') ? Number(after?.slice(7)) : now
  const all = [...rulings.values()].filter((one) => one.seq > since && isStanding(one)).sort((a, b) => a.seq - b.seq)
  const page = all.slice(0, most)
  const upTo = page.length < most ? now : (page.at(-1)?.seq ?? now)
  const gone = [...subjects.values()].filter(({ goneSeq }) => goneSeq > since && goneSeq <= upTo)
  gone.sort((a, b) => a.goneSeq - b.goneSeq)
  const erased = gone.length > MOST_ERASED ? null : gone.map(({ ref }) => ref)
  return { rows: page.map(rowOf), erased, at: `memory/${upTo}`, left: all.filter(({ seq }) => seq > upTo).length }
}

function beneath(rulings: ReadonlyMap<string, Ruling>, { subject, protocol, number }: RulingEntry): Ruling | undefined {
  return [...rulings.values()]
    .filter((one) => keyOf(one.subject) === keyOf(subject) && one.protocol === protocol && one.number < number)
    .filter(({ decidedBy }) => decidedBy !== 'human' && decidedBy !== 'deleted')
    .sort((a, b) => b.number - a.number)[0]
}

/** The position in each partition, beside what was taken of it. */
function positionsInMemory(take: (entry: Entry, place: string) => void) {
  const offsets = new Map<string, number>()
  let holes = 0
  return {
    holes: () => holes,
    store: {
      positions: async () => new Map(offsets),
      async restart(topic: RecordedTopic, partition: number) {
        holes++
        offsets.set(`${topic}/${partition}`, 0)
      },
      async apply({ topic, partition, from, next, entries, pastHole }: RecordBatch): Promise<ApplyOutcome> {
        const known = offsets.get(`${topic}/${partition}`)
        const at = known ?? from ?? 0
        if (next <= at && known !== undefined) return 'behind'
        if (from !== null && from > at) {
          if (pastHole !== true) return 'gap'
          holes++
        }
        for (const { offset, entry } of entries) if (offset >= at) take(entry, `${topic}/${partition}@${offset}`)
        offsets.set(`${topic}/${partition}`, next)
        return 'applied'
      },
    },
  }
}

function isDecided({ said, verdicts }: SubjectRecord): boolean {
  const isHuman = verdicts.some(({ verdict }) => verdict.decidedBy === 'human')
  return isHuman || said.some((word) => word.said === 'decision')
}

/** The record in memory: what the others promise, in as few words as it can be said. Nothing in it is indexed. */
export function memoryRecord(settings: {
  readonly keep: number
  readonly costs: Costs
  readonly auditShare: number
  readonly blindShare: number
}): RecordStore & { readonly review: ReviewQueue } {
  const { keep, auditShare } = settings
  const draw = hmac('memory')
  const isDrawn = (id: string, share: number) => Number.parseInt(draw(id, 'hex').slice(0, 12), 16) < share * 2 ** 48
  const isSampled = ({ id, decidedBy }: RulingEntry) =>
    decidedBy !== 'human' && decidedBy !== 'deleted' && isDrawn(id, auditShare)
  const { subjects, rulings, transcripts, said, unread, takes, isStanding, recorded, arrived } = rowsInMemory(isSampled)
  const reading = positionsInMemory((entry, place) => takes[entry.what](entry as never, place))
  let names = 1

  function wordsOf(one: Ruling): string | null {
    const own = transcripts.get(one.id)
    const words = (shown: typeof own) => (shown === undefined || 'erased' in shown ? null : shown.words)
    const others = [...transcripts.values()]
      .flatMap((shown) => ('erased' in shown || keyOf(shown.subject) !== keyOf(one.subject) ? [] : [shown]))
      .filter((shown) => shown.words !== null)
      .sort((a, b) => b.at - a.at)
    return words(own) ?? words(others[0])
  }
  const searched = (one: Ruling) => folded(`${wordsOf(one) ?? ''}\n${recorded(one).verdict.rationale}`)

  function rowOf(one: Ruling): RecordedRow {
    const { tenant, kind, postId } = one.subject
    const { author = null, lang = null, begins = null } = subjects.get(keyOf(one.subject))?.shown ?? {}
    const own = { doc: docOf(one), tenant, kind, subject: postId, author, lang, words: begins }
    return recordedRow({ ...one, ...own, standing: isStanding(one), sampled: isSampled(one) })
  }

  const isShown = (one: Ruling, { author, lang }: RecordFilter) => {
    const by = subjects.get(keyOf(one.subject))?.shown
    return (author === undefined || by?.author === author) && (lang === undefined || by?.lang === lang)
  }
  const fits = (one: Ruling, filter: RecordFilter) =>
    fitsFacts(one, filter) &&
    isMarked(one, filter) &&
    isShown(one, filter) &&
    (filter.standing === undefined || isStanding(one))
  const newestFirst = () => [...rulings.values()].sort((a, b) => docOf(b) - docOf(a))

  function recordOf({ ref, deletedAt, shown }: Subject): SubjectRecord {
    const own = newestFirst().filter(({ subject }) => keyOf(subject) === keyOf(ref))
    const words = [...said.values()].filter(({ subject }) => keyOf(subject) === keyOf(ref)).sort((a, b) => a.at - b.at)
    const lang = shown?.lang ?? null
    return { subject: ref, lang, deletedAt, verdicts: own.reverse().map(recorded), said: words.map(recordedWord) }
  }
  const isEmpty = ({ verdicts, said: words, deletedAt }: SubjectRecord) =>
    verdicts.length + words.length === 0 && deletedAt === null

  return {
    name: async () => `memory-${names}`,
    rename: async () => `memory-${++names}`,
    ...reading.store,
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
      const found = wanted.map(recordOf).find((one) => !isEmpty(one))
      return found === undefined ? null : { ...found, said: found.said.slice(-MOST_WORDS) }
    },
    find: async (filter, limit) =>
      newestFirst()
        .filter((one) => fits(one, filter))
        .slice(0, limit)
        .map(rowOf),
    async verdict(id, tenants) {
      const one = rulings.get(id)
      return one === undefined || tenants?.includes(one.subject.tenant) === false ? null : rowOf(one)
    },
    async word(id, tenants) {
      const one = said.get(id)
      return one === undefined || tenants?.includes(one.subject.tenant) === false ? null : recordedWord(one)
    },
    arrivals: async (after, most) => arrivalsIn({ rulings, subjects, isStanding, rowOf, now: arrived() }, after, most),
    async search(query, filter, limit) {
      const terms = termsOf(query)
      const standing = newestFirst().filter((one) => isStanding(one) && !one.erased && fits(one, filter))
      const found = terms.length === 0 ? [] : standing.filter((one) => holdsTerms(searched(one), terms))
      return { found: found.slice(0, limit).map(rowOf), stoppedEarly: standing.length > MOST_CANDIDATES }
    },
    async transcript(id) {
      const one = transcripts.get(id)
      return one === undefined || 'erased' in one ? null : one.json
    },
    async *export(only) {
      const all = [...subjects.values()].map(recordOf).filter((one) => !isGone(one))
      yield* only === 'decided' ? all.filter(isDecided) : all
    },
    async size() {
      const oldest = Math.min(...[...rulings.values()].map(({ decidedAt }) => decidedAt))
      const kept = [...transcripts.values()]
      return {
        bytes: 0,
        holes: reading.holes(),
        full: false,
        erasingSince: null,
        oldest: Number.isFinite(oldest) ? oldest : null,
        rows: { verdicts: rulings.size, transcripts: kept.length, said: said.size, unread: unread.size },
      }
    },
    close: async () => {},
    review: memoryReview(
      {
        standing: () => [...rulings.values()].filter((one) => one.decidedBy !== 'deleted' && isStanding(one)),
        beneath: (ruling) => beneath(rulings, ruling),
        said: () => [...said.values()],
        shownOf: ({ subject }) => subjects.get(keyOf(subject))?.shown ?? null,
        isDrawn,
      },
      settings,
    ),
  }
}
