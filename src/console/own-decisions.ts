import type { ThreadRef } from '../contracts/facts/thread.ts'
import { namedIn, nameIn, nameOfSubject, readVerdictId, verdictId } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionDesk, DecisionResult } from '../contracts/ports/decisions.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import type { PersonDecision, ReviewQueue } from '../contracts/ports/review.ts'
import { answeredBy } from './appeals-section.ts'
import type { SubmittedForms } from './decision-form.ts'
import { doneOf, sendDecision, shownAfter } from './decision-page.ts'
import { DECISIONS_TEXTS } from './decisions-texts.ts'
import { type DisturbingSubjects, subjectWords } from './lists.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { button } from './review-list.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** How far back a person's own decisions are shown, in ms, and how many. */
const [OWN_MS, MOST_OWN] = [86_400_000, 200]
/** Of how many the words are shown, and most verdicts of these posts. */
const [MOST_WORDS, MOST_ROWS] = [50, 400]
/** What is so old is undone once somebody says so again, in minutes. */
const [MINUTE_MS, ASKED_AFTER] = [60_000, 10]
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
  readonly #noted = new Map<string, NotedDecision>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(by: string, verdict: string, label: string | null = null): void {
    if (label !== null) this.#noted.set(by, { verdict, label })
    for (const name of this.#noted.keys()) if (this.#noted.size > MOST_DECIDED) this.#noted.delete(name)
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
   * The last one of these tenants, which is undone once, and then the one before. An opinion can't be undone, and nothing from before it
   * is. `own`: what the record has of theirs, the newest first; what they decided on a verdict's page, or by a command, is not known here.
   */
  last(by: string, { own, tenants }: { own: readonly PersonDecision[] } & Pick<Session, 'tenants'>): TakenDecision {
    const isTheirs = ({ subject }: LastDecision) => tenants?.includes(subject.tenant) ?? true
    const all = (this.#last.get(by) ?? []).filter(({ made }) => made.every(isTheirs))
    const known = new Set(all.flatMap(({ made, opinion }) => [...made.map(({ verdict }) => verdict), opinion ?? '']))
    const last = all.findLast(({ isUndone }) => !isUndone)
    const elsewhere = own.find((one) => !known.has(verdictOf(one)) && (one.isOpinion || this.#isLast(one)))
    if (elsewhere === undefined || (last !== undefined && elsewhere.at <= last.at)) return last ?? NONE_LEFT
    const { at, isOpinion, isTaken } = elsewhere
    if (isOpinion) return { at, made: [], opinion: verdictOf(elsewhere) }
    return { at, made: [elsewhere], opinion: null, ...(isTaken ? {} : { isUnknown: true }) }
  }

  /** It is undone from now on. */
  noteUndone(by: string, one: TakenDecision): void {
    const known = this.#last.get(by)?.find((other) => other === one)
    if (known !== undefined) known.isUndone = true
  }

  /** It can be undone, or nobody knows yet whether it was carried out. */
  #isLast(one: PersonDecision): boolean {
    return isUndoable(one) || (!one.isTaken && one.label !== null && one.at > this.#clock() - RECORDED_MS)
  }

  /** The verdicts of the copies that they decided together with this one, and have not taken back together. */
  copiesOf(by: string, verdict: string): string[] {
    const [scope, all] = [scopeIn(verdict), this.#last.get(by) ?? []]
    const batch = all.findLast(({ made, isUndone }) => !isUndone && made.some((one) => scopeIn(one.verdict) === scope))
    return (batch?.made ?? []).map((one) => one.verdict).filter((one) => scopeIn(one) !== scope)
  }

  /** What they decided last, or gave as an opinion, and on which verdict. */
  lastOf(by: string): NotedDecision | undefined {
    return this.#noted.get(by)
  }

  isRecent(by: string, verdict: string): boolean {
    return (this.#until.get(`${verdict} ${by}`) ?? 0) > this.#clock()
  }
}

/** A label, and the verdict on which it was decided. */
export interface NotedDecision {
  readonly verdict: string
  readonly label: string
}

export interface LastDecision {
  readonly subject: ThreadRef
  readonly protocol: string
  readonly verdict: string
}

/** What can be taken back, or the verdict that an opinion is on, and when it was made, in ms. */
interface TakenDecision {
  readonly at: number
  readonly made: readonly Pick<PersonDecision, keyof LastDecision>[]
  readonly opinion: string | null
  /** Whether it was carried out is not known yet. */
  readonly isUnknown?: true
}
const NONE_LEFT: TakenDecision = { at: 0, made: [], opinion: null }

/** A decision with its copies, or an opinion. */
interface KnownDecision extends TakenDecision {
  readonly made: readonly LastDecision[]
  isUndone: boolean
}

/** The verdict that a decision made, or that an opinion is on: where the record has none, its post by name. */
function verdictOf({ isOpinion, seen, verdict, protocol, subject }: PersonDecision): string {
  return (
    (isOpinion ? seen?.verdict : verdict) ??
    verdictId({ protocol, tenant: subject.tenant, ...namedIn(subject), revision: 0 })
  )
}

function scopeIn(verdict: string): string {
  return readVerdictId(verdict)?.scope ?? verdict
}

export interface OwnDecisionParts {
  readonly queue: Pick<ReviewQueue, 'decisions'>
  readonly record: Pick<RecordReader, 'verdict' | 'find' | 'subject'>
  readonly disturbing: DisturbingSubjects
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
  const undo = async ({ form, session, signal }: PageCall): Promise<PageAnswer> => {
    const last = decided.last(session.by, { own: await ownDecisions(session), tenants: session.tenants })
    const { at, made, opinion, isUnknown = false } = last
    if (opinion !== null) return { to: link('/review', { said: 'opinionStands', posts: opinion }) }
    if (isUnknown) return { to: link('/review', { said: 'notYet' }) }
    const minutes = Math.max(0, Math.floor((clock() - at) / MINUTE_MS))
    const ago = String(minutes)
    if (made.length > 0 && form.get('sure') !== String(at)) {
      const answered = (await Promise.all(made.map((one) => answersOf(one, parts)))).reduce((sum, one) => sum + one, 0)
      if (answered > 0) return sureOf(last, TEXTS.decide.answered(answered), session)
      if (minutes >= ASKED_AFTER) return sureOf(last, TEXTS.review.sureSays(minutes), session)
    }
    decided.noteUndone(session.by, last)
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
      return { to: link('/verdict', { id, done: first.done, ago }), about }
    }
    const open = undone.filter(({ done }) => done === 'unconfirmed').length
    const counts = { withdrawn: undone.length - open, late: all.length - undone.length, open }
    const said = Object.entries(counts).map(([name, count]) => [name, String(count)])
    return { to: link('/review', { said: 'batch', ...Object.fromEntries(said), ago, posts }), about }
  }
  return [
    {
      method: 'GET',
      path: '/review/mine',
      right: 'decide',
      async answer({ session }) {
        const all = await ownDecisions(session)
        const rows = await parts.disturbing.look(await rowsOf(all.slice(0, MOST_WORDS), parts, session))
        const last = decided.last(session.by, { own: all, tenants: session.tenants })
        return { title: TEXTS.review.mine, body: ownBody(all, { last, rows, disturbing: parts.disturbing, session }) }
      },
    },
    {
      method: 'POST',
      path: '/review/undo',
      right: 'decide',
      answer: (call) => once.take(call.form, call.session, () => undo(call)),
    },
  ]
}

/** How many appeals a decision answered. */
async function answersOf(
  { subject: { tenant, postId: id, kind }, verdict }: Pick<PersonDecision, keyof LastDecision>,
  { record }: Pick<OwnDecisionParts, 'record'>,
): Promise<number> {
  const of = verdict === null ? null : await record.verdict(verdict, [tenant])
  const whole = of === null ? null : await record.subject({ tenant, id, kind })
  return whole === null ? 0 : answeredBy(of?.verdict.decision?.of, whole).length
}

/** What was decided so long ago, or has answered appeals, is undone by who says so once more. */
function sureOf({ at, made }: TakenDecision, says: string, { token }: Session): PageAnswer {
  const { sure, undo } = TEXTS.review
  const posts = made.slice(0, MOST_NAMED)
  return {
    title: sure,
    status: 409,
    body: html`<h1>${sure}</h1><p>${says}</p>
<ul>${posts.map(({ subject, protocol, verdict }) => html`<li><a href="${link('/verdict', { id: verdict ?? '' })}">${words(nameIn(subject), { most: 200 })}</a> ${TEXTS.verdict.by(protocol)}</li>`)}</ul>
<form method="post" action="/review/undo"><input type="hidden" name="token" value="${token}"><input type="hidden" name="sure" value="${at}"><button class="main">${undo}</button></form><p><a href="/review/mine">${TEXTS.review.mine}</a></p>`,
  }
}

/** How long ago it was what was undone, in words; empty where an address does not say. */
export function undoneAgo(query: URLSearchParams): string {
  const minutes = Number.parseInt(query.get('ago') ?? '', 10)
  return Number.isNaN(minutes) ? '' : TEXTS.review.ago(minutes)
}

/** The posts of these verdicts by their names, each with its protocol. */
export function namesIn(verdicts: string): string {
  const read = verdicts.split(' ').flatMap((id) => readVerdictId(id) ?? [])
  return read
    .slice(0, MOST_NAMED)
    .map(({ subjectId, postId, protocol }) => {
      const name = nameOfSubject({ subjectId: subjectId.slice(0, 60), postId: postId?.slice(0, 60) })
      return `${name} (${protocol})`
    })
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

/** The record's rows of what was decided on; they are noted as seen. */
async function rowsOf(
  all: readonly PersonDecision[],
  { record }: Pick<OwnDecisionParts, 'record'>,
  { tenants }: Session,
): Promise<readonly RecordedRow[]> {
  const subject = [...new Set(all.map((one) => one.subject.postId))]
  return subject.length === 0 ? [] : record.find({ tenants, subject, standing: true }, MOST_ROWS)
}

/** A decision beside what it was on: as that said, or in its place. */
function besideIt({ label, seen, isOpinion }: PersonDecision): string {
  if (label === null || seen === null || isOpinion) return ''
  return seen.label === label ? TEXTS.review.confirmed : TEXTS.review.inPlaceOf(seen.label ?? TEXTS.row.noLabel)
}

interface OwnList {
  readonly last: TakenDecision
  readonly rows: readonly RecordedRow[]
  readonly disturbing: DisturbingSubjects
  readonly session: Session
}

/** What would be undone, with the way to do that. */
function undoing({ last: { made }, session }: OwnList): TemplatePart {
  const ids = made.flatMap(({ verdict }) => verdict ?? [])
  if (ids.length === 0) return NOTHING
  return html`<p>${TEXTS.review.lastOne} ${words(namesIn(ids.join(' ')), { most: 400 })}</p>${button('/review/undo', TEXTS.review.undo, { session })}`
}

/** What one decided, with a way back. */
function ownBody(all: readonly PersonDecision[], list: OwnList): SafeMarkup {
  return html`<h1>${TEXTS.review.mine}</h1><p>${TEXTS.review.mineSays} ${TEXTS.review.mineCount(all.length)}</p>${undoing(list)}
${all.length === 0 ? html`<p>${TEXTS.review.noneOfMine} <a href="/review">${TEXTS.review.title}</a></p>` : NOTHING}
<ol class="rows">${all.map(
    (one) =>
      html`<li class="row"><div class="row-head">${moment(one.at)} <strong>${words(one.label ?? TEXTS.review.withdrewIt, { most: 64 })}</strong> <span class="protocol">${TEXTS.verdict.by(one.protocol)}</span> <span class="faint">${besideIt(one)} ${becameOf(one)}</span> <span class="row-of">${one.verdict === null ? words(nameIn(one.subject), { most: 200 }) : html`<a href="${link('/verdict', { id: one.verdict })}">${words(nameIn(one.subject), { most: 200 })}</a>`}</span></div>${subjectWords(one.subject, list)}</li>`,
  )}</ol>`
}
