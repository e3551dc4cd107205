import type { ThreadRef } from '../contracts/facts/thread.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { PersonDecision, ReviewQueue } from '../contracts/ports/review.ts'
import type { SubmittedForms } from './decision-form.ts'
import { doneOf, sendDecision, shownAfter } from './decision-page.ts'
import { DECISIONS_TEXTS } from './decisions-texts.ts'
import type { Page, PageAnswer } from './page.ts'
import { button } from './review-list.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, words } from './view.ts'

/** How far back a person's own decisions are shown, in ms, and how many. */
const [OWN_MS, MOST_OWN] = [86_400_000, 200]
/** Most posts that are named where they are undone. */
const MOST_NAMED = 16
/** Most of a person's decisions that are known with their copies. */
const MOST_KNOWN = 20
/** How long the record may take to read a decision, in ms; most decisions of which that is known. */
const [RECORDED_MS, MOST_DECIDED] = [30_000, 10_000]

/** What people have decided just now. */
export class JustDecided {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()
  readonly #last = new Map<string, readonly KnownDecision[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(by: string, verdict: string): void {
    this.#until.set(`${verdict} ${by}`, this.#clock() + RECORDED_MS)
    for (const name of this.#until.keys()) if (this.#until.size > MOST_DECIDED) this.#until.delete(name)
  }

  /** The verdicts that this person's decision brought about: its own, and those of its copies; of an opinion, on which verdict it is. */
  remember(by: string, made: readonly LastDecision[], opinion: string | null = null): void {
    const before = this.#last.get(by) ?? []
    this.#last.delete(by)
    this.#last.set(by, [...before, { at: this.#clock(), made, opinion, isUndone: false }].slice(-MOST_KNOWN))
    for (const name of this.#last.keys()) if (this.#last.size > MOST_DECIDED) this.#last.delete(name)
  }

  /**
   * Takes the last one out: it is undone once, and then the one before. An opinion can't be undone, and nothing from before it is.
   * `own`: what the record has of theirs, the newest first; what they decided on a verdict's page, or by a command, is not known here.
   */
  takeLast(by: string, own: readonly PersonDecision[]): TakenDecision {
    const all = this.#last.get(by) ?? []
    const known = new Set(all.flatMap(({ made, opinion }) => [...made.map(({ verdict }) => verdict), opinion]))
    const last = all.findLast(({ isUndone }) => !isUndone)
    const elsewhere = own.find((one) =>
      one.isOpinion ? !known.has(one.seen?.verdict ?? null) : isUndoable(one) && !known.has(one.verdict),
    )
    if (elsewhere !== undefined && (last === undefined || elsewhere.at > last.at))
      return elsewhere.isOpinion
        ? { made: [], opinion: elsewhere.seen?.verdict ?? null }
        : { made: [elsewhere], opinion: null }
    if (last === undefined) return { made: [], opinion: null }
    last.isUndone = last.opinion === null
    return last
  }

  isRecent(by: string, verdict: string): boolean {
    return (this.#until.get(`${verdict} ${by}`) ?? 0) > this.#clock()
  }
}

export interface LastDecision {
  readonly subject: ThreadRef
  readonly protocol: string
  readonly verdict: string
}

/** What can be taken back, or the verdict that an opinion is on. */
interface TakenDecision {
  readonly made: readonly Pick<PersonDecision, keyof LastDecision>[]
  readonly opinion: string | null
}

/** A decision with its copies, or an opinion, and when it was made, in ms. */
interface KnownDecision extends TakenDecision {
  readonly at: number
  readonly made: readonly LastDecision[]
  isUndone: boolean
}

export interface OwnDecisionParts {
  readonly queue: Pick<ReviewQueue, 'decisions'>
  readonly record: Pick<RecordReader, 'verdict'>
  readonly decisionDesk: DecisionDesk
  readonly clock: Clock
  readonly decided: JustDecided
  readonly once: SubmittedForms
}

/** What a person decided of late, and the way back from the last of it, wherever they are. */
export function ownDecisionPages(parts: OwnDecisionParts): Page[] {
  const { queue, clock, decided, once } = parts
  const ownDecisions = ({ by, tenants }: Session) =>
    queue.decisions({ viewer: by, person: by, since: clock() - OWN_MS, tenants }, MOST_OWN)
  /** Withdraws what this person decided last, with its copies, wherever nothing has come since. */
  const undo = async (session: Session, signal: AbortSignal): Promise<PageAnswer> => {
    const { made, opinion } = decided.takeLast(session.by, await ownDecisions(session))
    if (opinion !== null) return { to: link('/review', { said: 'opinionStands', posts: opinion }) }
    const all = made.flatMap(({ subject, protocol, verdict }) => {
      const against = verdict === null ? null : (readVerdictId(verdict)?.number ?? null)
      return verdict === null || against === null ? [] : [{ subject, protocol, verdict, against }]
    })
    if (all.length === 0) return { to: link('/review', { said: 'nothing' }) }
    const [by, why] = [session.by, TEXTS.review.undone]
    const sent: { readonly verdict: string; readonly outcome: DecisionResult | null; readonly done: string | null }[] =
      []
    for (const { verdict, ...of } of all) {
      const outcome = await sendDecision({ ...of, by, why, withdraw: true }, parts, signal)
      if (outcome !== 'invalid') sent.push({ verdict, outcome, done: doneOf(outcome) })
    }
    const undone = sent.filter(({ done }) => done !== null)
    const [first] = undone
    const about = all.map(({ verdict }) => verdict)
    const posts = about.slice(0, MOST_NAMED).join(' ')
    if (first?.done == null) return { to: link('/review', { said: 'late', posts }), about }
    if (all.length === 1) {
      const id = await shownAfter(parts.record, first.outcome, first.verdict)
      return { to: link('/verdict', { id, done: first.done }), about }
    }
    const open = undone.filter(({ done }) => done === 'unconfirmed').length
    const counts = { withdrawn: undone.length - open, late: all.length - undone.length, open }
    const said = Object.entries(counts).map(([name, count]) => [name, String(count)])
    return { to: link('/review', { said: 'batch', ...Object.fromEntries(said), posts }), about }
  }
  return [
    {
      method: 'GET',
      path: '/review/mine',
      right: 'decide',
      async answer({ session }) {
        return { title: TEXTS.review.mine, body: ownBody(await ownDecisions(session), session) }
      },
    },
    {
      method: 'POST',
      path: '/review/undo',
      right: 'decide',
      answer: ({ form, session, signal }) => once.take(form, session, () => undo(session, signal)),
    },
  ]
}

/** The posts of these verdicts by their names, each with its protocol. */
export function namesIn(verdicts: string): string {
  const read = verdicts.split(' ').flatMap((id) => readVerdictId(id) ?? [])
  return read
    .slice(0, MOST_NAMED)
    .map(({ subjectId, protocol }) => `${subjectId.slice(0, 60)} (${protocol})`)
    .join(', ')
}

function isUndoable({ isCurrent, isOpinion, label }: PersonDecision): boolean {
  return isCurrent && !isOpinion && label !== null
}

/** What became of one's own decision, in words; nothing where it stands, or is a withdrawal itself. */
function becameOf({ isOpinion, isTaken, isCurrent, isWithdrawn, label }: PersonDecision): string {
  if (isOpinion) return TEXTS.review.opinion
  if (!isTaken) return DECISIONS_TEXTS.kinds.refused
  if (isCurrent || label === null) return ''
  return isWithdrawn ? TEXTS.review.withdrew : TEXTS.review.replaced
}

/** What one decided, with a way back. */
function ownBody(all: readonly PersonDecision[], session: Session): SafeMarkup {
  return html`<h1>${TEXTS.review.mine}</h1><p>${TEXTS.review.mineSays}</p>
${all.length === 0 ? html`<p>${TEXTS.review.noneOfMine} <a href="/review">${TEXTS.review.title}</a></p>` : NOTHING}
<ol class="rows">${all.map(
    (
      one,
    ) => html`<li class="row"><div class="row-head">${moment(one.at)} <strong>${words(one.label ?? TEXTS.review.withdrewIt, { most: 64 })}</strong> <span class="protocol">${TEXTS.verdict.by(one.protocol)}</span> <span class="faint">${becameOf(one)}</span></div>
<p class="row-words">${one.verdict === null ? words(one.subject.postId, { most: 200 }) : html`<a href="${link('/verdict', { id: one.verdict })}">${words(one.subject.postId, { most: 200 })}</a>`}</p></li>`,
  )}</ol>
${all.some(isUndoable) ? button('/review/undo', TEXTS.review.undo, { session }) : NOTHING}`
}
