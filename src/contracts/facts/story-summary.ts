import type { ThreadRef } from './thread.ts'
import type { Verdict } from './verdict.ts'
import { UNVERIFIED } from './verdict-fields.ts'

// What the record knows of posts that say the same, by their verdicts.

/** A verdict with what is known of its post. */
interface StoryVerdictRow {
  readonly verdict: Verdict
  readonly subject: ThreadRef
  readonly standing: boolean
  readonly author: string | null
  readonly lang: string | null
  readonly words: string | null
}

/** A story, or a post that has none. */
export interface StorySummary {
  /** Null of a post that has none. */
  readonly id: string | null
  readonly tenant: string
  readonly posts: number
  /** How many people they reached together, by the newest verdict that says so; null where none does. */
  readonly reach: number | null
  /** The post that was written first. */
  readonly first: {
    readonly subjectId: string
    readonly verdictId: string
    readonly author: string | null
    readonly at: string
  }
  readonly languages: readonly string[]
  readonly labels: readonly { readonly protocol: string; readonly label: string | null; readonly posts: number }[]
  /** By protocol since when verdicts that stand contradict one another. */
  readonly differs: readonly { readonly protocol: string; readonly since: string }[]
  /** By protocol how many of its posts are disputed by their comments, how many of these are on which side, and since the first against it. */
  readonly opposed: readonly {
    readonly protocol: string
    readonly posts: number
    readonly support: number
    readonly oppose: number
    readonly since: string
  }[]
  /** What people decided, the newest first. */
  readonly decided: readonly {
    readonly protocol: string
    readonly label: string | null
    readonly by: string
    readonly at: string
    readonly verdictId: string
  }[]
  /** What people decided and took back, where its earlier verdicts are known, the newest first. `by`: who took it back. */
  readonly withdrawn: readonly {
    readonly protocol: string
    readonly label: string | null
    readonly by: string
    readonly decidedAt: string
    readonly at: string
    readonly verdictId: string
  }[]
}

/** What groups the verdicts of a story, or of a post without one; null for what is no post. */
function storyKeyOf({ subject, verdict }: Pick<StoryVerdictRow, 'subject' | 'verdict'>): string | null {
  if (subject.kind !== 'post') return null
  return JSON.stringify([
    subject.tenant,
    verdict.story?.id ?? null,
    verdict.story === undefined ? subject.postId : null,
  ])
}

/** The rows by story, in their order. A post's verdicts go with the one that names its story. */
export function byStory<Row extends StoryVerdictRow>(rows: readonly Row[]): Row[][] {
  const keys = new Map<string, string>()
  const nameOf = ({ subject: { tenant, postId } }: Row) => JSON.stringify([tenant, postId])
  for (const row of rows) {
    const key = storyKeyOf(row)
    if (key !== null && (row.verdict.story !== undefined || !keys.has(nameOf(row)))) keys.set(nameOf(row), key)
  }
  const posts = rows.filter(({ subject }) => subject.kind === 'post')
  return [...Map.groupBy(posts, (row) => keys.get(nameOf(row)) ?? nameOf(row)).values()]
}

/** What stands of one story; `rows` are verdicts of its posts, the newest first, with those before where `hasHistory`. Null if none stands. */
export function storySummary(rows: readonly StoryVerdictRow[]): StorySummary | null {
  const standing = rows.filter((row) => row.standing && row.verdict.decidedBy !== 'deleted')
  const [newest] = standing
  if (newest === undefined) return null
  const first = standing.reduce((one, other) => (writtenAt(other) < writtenAt(one) ? other : one))
  const named = standing.find(({ verdict }) => verdict.story !== undefined)?.verdict.story
  const labels = Map.groupBy(standing, ({ verdict: { protocol, label } }) => JSON.stringify([protocol, label]))
  return {
    id: named?.id ?? null,
    tenant: newest.subject.tenant,
    posts: new Set(standing.map(({ subject }) => subject.postId)).size,
    reach: named?.reach ?? null,
    first: {
      subjectId: first.subject.postId,
      verdictId: first.verdict.id,
      author: first.author,
      at: first.verdict.timing.createdAt,
    },
    languages: [...new Set(standing.flatMap(({ lang }) => lang ?? []))].sort(),
    labels: [...labels]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, [row, ...more]]) =>
        row === undefined ? [] : [{ protocol: row.verdict.protocol, label: row.verdict.label, posts: 1 + more.length }],
      ),
    differs: [...Map.groupBy(rows, ({ verdict }) => verdict.protocol)].flatMap(([protocol, own]) => {
      const since = differSince(own)
      return since === null ? [] : [{ protocol, since }]
    }),
    opposed: opposedIn(standing, rows),
    decided: standing.flatMap(({ verdict: { decidedBy, protocol, label, decision, timing, id } }) =>
      decidedBy === 'human' ? [{ protocol, label, by: decision?.by ?? '', at: timing.decidedAt, verdictId: id }] : [],
    ),
    withdrawn: withdrawnIn(rows),
  }
}

/** A decision is told by the verdict that took its place. */
function withdrawnIn(rows: readonly StoryVerdictRow[]): StorySummary['withdrawn'] {
  const known = new Map(rows.map(({ verdict }) => [verdict.id, verdict]))
  return rows.flatMap(({ verdict: { restored, supersedes, timing } }) => {
    const decided = known.get(supersedes ?? '')
    if (restored === undefined || decided === undefined) return []
    const { protocol, label, id } = decided
    return [
      { protocol, label, by: restored.by, decidedAt: decided.timing.decidedAt, at: timing.decidedAt, verdictId: id },
    ]
  })
}

/** What comments dispute, by the verdicts that stand, or the machines' beneath what a person decided. */
function opposedIn(standing: readonly StoryVerdictRow[], rows: readonly StoryVerdictRow[]): StorySummary['opposed'] {
  const ofPost = Map.groupBy(rows, ({ subject }) => subject.postId)
  const some = standing.flatMap((row) => {
    const own = ofPost.get(row.subject.postId) ?? []
    const ruled = row.verdict.decidedBy === 'human' ? beneath(row, own) : row.verdict
    const { opposed = ruled.opposed } = row.verdict
    return opposed === undefined ? [] : [{ ruled, ...opposed }]
  })
  return [...Map.groupBy(some, ({ ruled }) => ruled.protocol)].map(([protocol, own]) => {
    const all = own.map(({ ruled }) => ruled)
    const [since = ''] = own.map((one) => one.since).sort()
    return { protocol, posts: own.length, support: sumOf(all, 'support'), oppose: sumOf(all, 'oppose'), since }
  })
}

/** The machines' last ruling beneath what a person decided, of these rows of its post; that itself where they have none. */
function beneath({ verdict }: StoryVerdictRow, rows: readonly StoryVerdictRow[]): Verdict {
  return rows
    .filter((row) => row.verdict.protocol === verdict.protocol)
    .map((row) => row.verdict)
    .filter(({ decidedBy, revision }) => decidedBy !== 'human' && revision < verdict.revision)
    .reduce((last, one) => (last.decidedBy === 'human' || one.revision > last.revision ? one : last), verdict)
}

/** When its subject was written; null of what people brought about where no ruling of machines told it. */
export function writtenOf({ timing, decision, restored }: Verdict): string | null {
  const isOfPeople = decision !== undefined || restored !== undefined
  return isOfPeople && timing.createdAt === timing.decidedAt ? null : timing.createdAt
}

/** When a row's post was written, or where that is not known, when it was decided. */
const writtenAt = ({ verdict }: StoryVerdictRow) => Date.parse(writtenOf(verdict) ?? verdict.timing.decidedAt)

/** Since when labels of these posts, as they stood, have contradicted one another without a break; null if they do not now. */
function differSince(rows: readonly StoryVerdictRow[]): string | null {
  const labels = new Map<string, string>()
  /** How many posts have each label. */
  const posts = new Map<string, number>()
  const last = new Map<string, number>()
  const count = (label: string | undefined, by: number) => {
    if (label === undefined) return
    const now = (posts.get(label) ?? 0) + by
    if (now === 0) posts.delete(label)
    else posts.set(label, now)
  }
  let since: string | null = null
  for (const { verdict, subject } of inTime(rows)) {
    const { label, decidedBy, timing, revision } = verdict
    // Clocks of two processes may disagree: a later revision stands nonetheless.
    if (revision < (last.get(subject.postId) ?? 0)) continue
    last.set(subject.postId, revision)
    count(labels.get(subject.postId), -1)
    if (label === null || label === UNVERIFIED || decidedBy === 'deleted') labels.delete(subject.postId)
    else labels.set(subject.postId, label)
    count(labels.get(subject.postId), 1)
    since = posts.size > 1 ? (since ?? timing.decidedAt) : null
  }
  return since
}

/** The rows of verdicts, the first of each post before its next. */
function inTime<Row extends StoryVerdictRow>(rows: readonly Row[]): (Row & { readonly at: number })[] {
  return rows
    .map((row) => ({ ...row, at: Date.parse(row.verdict.timing.decidedAt) }))
    .toSorted((a, b) => a.at - b.at || a.verdict.revision - b.verdict.revision)
}

/**
 * Whether verdicts that stand no more tell of it what these, which stand, do not: since when labels contradict one another, and what was
 * beneath a person's decision, or withdrawn.
 */
export function hasHistory(standing: readonly StoryVerdictRow[]): boolean {
  const labels = [...Map.groupBy(standing, ({ verdict }) => verdict.protocol).values()]
  return (
    labels.some((own) => differSince(own) !== null) ||
    standing.some(({ verdict: { decision, restored } }) => decision !== undefined || restored !== undefined)
  )
}

/** Verdicts, and what stood by then, in one stretch of time. */
interface StoryBin {
  /** ms since 1970 */
  readonly at: number
  readonly labels: Readonly<Record<string, number>>
  /** By the names of a protocol's scores, the sums over its posts as they stood at its end. */
  readonly scores: Readonly<Record<string, number>>
}

/** The verdicts of one protocol on a story's posts, by quarters of an hour, the first one first. */
export function storyQuarters(
  rows: readonly StoryVerdictRow[],
  names: readonly string[],
  widthMs = 900_000,
): StoryBin[] {
  const last = new Map<string, Verdict>()
  const bins = new Map<number, Map<string, number>>()
  const sums = new Map<number, Record<string, number>>()
  for (const { verdict, subject, at } of inTime(rows.filter((row) => row.verdict.decidedBy !== 'deleted'))) {
    const bin = Math.floor(at / widthMs) * widthMs
    const labels = bins.get(bin) ?? new Map<string, number>()
    labels.set(verdict.label ?? '', (labels.get(verdict.label ?? '') ?? 0) + 1)
    bins.set(bin, labels)
    if (verdict.decidedBy !== 'human') last.set(subject.postId, verdict)
    sums.set(bin, Object.fromEntries(names.map((name) => [name, sumOf([...last.values()], name)])))
  }
  return [...bins].map(([at, labels]) => ({ at, labels: Object.fromEntries(labels), scores: sums.get(at) ?? {} }))
}

function sumOf(verdicts: readonly Verdict[], name: string): number {
  const own = verdicts.map(({ scores }) => new Map(Object.entries(scores)).get(name) ?? 0)
  return own.reduce((sum, one) => sum + one, 0)
}
