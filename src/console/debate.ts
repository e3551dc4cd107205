import { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ReadingGuide } from '../contracts/facts/reading.ts'
import type { Comment } from '../contracts/facts/thread.ts'
import type { Transcript, Turn, Verdict } from '../contracts/facts/verdict.ts'

/** What was said in one turn. */
export interface Speech {
  /** Of the transcript, from 0. */
  readonly turn: number
  readonly text: string
  /** The label or view that it takes, in its model's word; null if it takes none. */
  readonly says: string | null
  readonly score: number | null
  readonly rule: string | null
  /** What else it lists: evidence, categories. */
  readonly lists: readonly string[]
  /** Why there is no answer; null if there is one. */
  readonly failed: string | null
  /** Of the comments that it was shown, those that it quotes. */
  readonly quotes: readonly string[]
}

/** The nth words of both sides; null where a side has none. */
export interface Round {
  readonly isOpening: boolean
  readonly sides: readonly [Speech | null, Speech | null]
}

/** What one comment was scored. */
export interface Mark {
  readonly score: number
  readonly reason: string
}

/** A transcript as people read it: each turn in exactly one place. */
export interface DebateView {
  readonly titles: readonly [string, string] | null
  readonly rounds: readonly Round[]
  readonly voices: readonly { readonly name: string; readonly speech: Speech }[]
  /** By comment. */
  readonly marks: ReadonlyMap<string, Mark>
  readonly judge: Speech | null
  /** Turns from before the argument, or of a stage without a description. */
  readonly rest: readonly { readonly stage: string; readonly role: string; readonly speech: Speech }[]
}

/** Reads a transcript by its protocol's description of its stages; without one, all turns keep their order. */
export function debateOf(
  transcript: Pick<Transcript, 'turns'>,
  reading: ReadingGuide | undefined,
  { evidence, comments }: { evidence: Verdict['evidence']; comments: readonly Comment[] },
): DebateView {
  const { debate } = reading ?? {}
  const texts = new Map(comments.map(({ id, text }) => [id, text]))
  const runs = memoized((id) => runsOf((texts.get(id) ?? '').slice(0, MOST_OF_COMMENT)))
  const shownTo = (side: 0 | 1) =>
    debate?.showsComments === true ? (side === 0 ? evidence.support : evidence.oppose) : []
  const said: [Speech[], Speech[]] = [[], []]
  const openings = new Set<Speech>()
  const voices: { name: string; speech: Speech }[] = []
  const marks = new Map<string, Mark>()
  const rest: { stage: string; role: string; speech: Speech }[] = []
  let judge: { stage: string; role: string; speech: Speech } | null = null
  for (const [at, turn] of transcript.turns.entries()) {
    const { stage, role } = turn
    const side = debate?.stages.includes(stage) === true ? sideOf(role, debate.sides) : null
    if (side !== null) {
      const speech = speechOf(turn, at, quotedIn(shownTo(side), runs))
      said[side].push(speech)
      if (stage === debate?.opening) openings.add(speech)
    } else if (stage === reading?.judge) {
      // The last ruling decides.
      if (judge !== null) rest.push(judge)
      judge = { stage, role, speech: speechOf(turn, at) }
    } else if (stage === reading?.voices) voices.push(...voicesOf(turn, at))
    else if (stage === reading?.comments && noteMarks(turn, marks)) continue
    else rest.push({ stage, role, speech: speechOf(turn, at) })
  }
  const rounds = Array.from({ length: Math.max(said[0].length, said[1].length) }, (_, n): Round => {
    const [one = null, other = null] = [said[0][n], said[1][n]]
    return { isOpening: [one, other].some((speech) => speech !== null && openings.has(speech)), sides: [one, other] }
  })
  const titles = debate === undefined ? null : ([debate.sides[0].title, debate.sides[1].title] as const)
  return { titles, rounds, voices, marks, judge: judge?.speech ?? null, rest }
}

/** What stands in brackets behind a role; the role where nothing does. */
function speakerOf(role: string): string {
  return /\((.*)\)$/.exec(role)?.[1] ?? role
}

function sideOf(role: string, sides: readonly { readonly speaker: string }[]): 0 | 1 | null {
  const at = sides.findIndex(({ speaker }) => speaker === speakerOf(role))
  return at === 0 || at === 1 ? at : null
}

/** Fields of an answer that hold its reasons, the first that is there. */
const REASONS = ['reasoning', 'reason', 'argument', 'summary', 'description'] as const
const fields = z.record(z.string(), z.unknown())
const text = z.string()
const number = z.number()

function speechOf(turn: Turn, at: number, quoted: (text: string) => string[] = () => []): Speech {
  return answerSpeech(turn.answer, turn, at, quoted)
}

function answerSpeech(answer: unknown, turn: Turn, at: number, quoted: (text: string) => string[] = () => []): Speech {
  const nothing = { turn: at, text: '', says: null, score: null, rule: null, lists: [], quotes: [] }
  if (turn.failed !== undefined) return { ...nothing, failed: turn.failed.code }
  const read = fields.safeParse(answer)
  if (!read.success) return { ...nothing, text: text.safeParse(answer).data ?? turn.raw ?? '', failed: null }
  const stringOf = (name: string) => text.safeParse(entryOf(read.data, name)).data
  const known = new Set<string>([...REASONS, 'label', 'answer', 'score', 'rule'])
  const reasons = REASONS.flatMap((name) => stringOf(name) ?? []).join('\n\n')
  return {
    ...nothing,
    text: reasons,
    says: stringOf('label') ?? stringOf('answer') ?? null,
    score: number.safeParse(entryOf(read.data, 'score')).data ?? null,
    rule: stringOf('rule') ?? null,
    lists: Object.entries(read.data).flatMap(([name, value]) => (known.has(name) ? [] : listed(value))),
    quotes: quoted(reasons),
    failed: null,
  }
}

/** Most entries of an answer's lists that are read, and the deepest of them. */
const [MOST_LISTED, DEEPEST] = [40, 3]

/** The words in a value, each text of its own. */
function listed(value: unknown, level = 0): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value]
  if (typeof value !== 'object' || value === null || level >= DEEPEST) return []
  return Object.values(value)
    .slice(0, MOST_LISTED)
    .flatMap((inner) => listed(inner, level + 1))
    .slice(0, MOST_LISTED)
}

/** Each voice of a turn: one that was asked alone, or several in a call. */
function voicesOf(turn: Turn, at: number): { name: string; speech: Speech }[] {
  const names = speakerOf(turn.role).split(', ')
  if (names.length === 1) return [{ name: names[0] ?? '', speech: speechOf(turn, at) }]
  const all = fields.safeParse(turn.answer).data ?? {}
  return names.map((name, nth) => {
    const own = entryOf(all, `annotator${nth + 1}`) ?? entryOf(all, name)
    return { name, speech: answerSpeech(own ?? '', turn, at) }
  })
}

const single = z.object({ score: z.number(), reason: z.string().catch('') })
const several = z.object({ scores: z.array(single.extend({ comment: z.int() })) })

/** Notes what comments were scored; false where the turn scored none. */
function noteMarks({ answer, about = [] }: Turn, marks: Map<string, Mark>): boolean {
  const [batch, alone] = [several.safeParse(answer), single.safeParse(answer)]
  const all = batch.success ? batch.data.scores : alone.success ? [{ comment: 1, ...alone.data }] : []
  for (const { comment, score, reason } of all) {
    const id = about[comment - 1]
    if (id !== undefined) marks.set(id, { score, reason })
  }
  return all.length > 0
}

/** As many words of a comment in a row are a quotation. */
const QUOTED_WORDS = 4
/** Of what was said, and of a comment, so many characters are looked at. */
const [MOST_LOOKED, MOST_OF_COMMENT] = [10_000, 2_000]

/** Which of the shown comments a text quotes: models quote words, and no ids. */
function quotedIn(shown: readonly string[], runsIn: (id: string) => readonly string[]) {
  return (said: string): string[] => {
    const runs = new Set(runsOf(said))
    return shown.filter((id) => runsIn(id).some((run) => runs.has(run)))
  }
}

/** What is made of a name, once. */
function memoized<Made>(make: (name: string) => Made): (name: string) => Made {
  const all = new Map<string, Made>()
  return (name) => {
    const made = all.get(name) ?? make(name)
    all.set(name, made)
    return made
  }
}

function runsOf(said: string): string[] {
  const all =
    said
      .slice(0, MOST_LOOKED)
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  return all.slice(QUOTED_WORDS - 1).map((_, at) => all.slice(at, at + QUOTED_WORDS).join(' '))
}
