import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { ReviewPictures } from '../contracts/ports/pictures.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import type { ReviewItem, ReviewPost } from '../contracts/ports/review.ts'
import { appealedOf } from './appeals-section.ts'
import { coversOf } from './covers.ts'
import { APPEALS_AT, SubmittedForms } from './decision-form.ts'
import { goldenPage } from './golden.ts'
import { knownFor } from './known-for.ts'
import type { DisturbingSubjects } from './lists.ts'
import { type NotedDecision, namesIn, ownDecisionPages, undoneAgo } from './own-decisions.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { notePage } from './post-notes.ts'
import { assignmentPages } from './review-assign.ts'
import { type DecidingParts, decide } from './review-decide.ts'
import { askedQueue, type ReviewDesk, reviewDesk } from './review-desk.ts'
import { isLabelAfter, itemBody, MOST_OFFERED, ownItems } from './review-item.ts'
import { isBlind, LISTED, queueBody, whoTakes } from './review-list.ts'
import type { KnownReviewers } from './reviewers.ts'
import { viewPages } from './saved-views.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { html, idIn, link, NOTHING, type TemplatePart, words } from './view.ts'

export interface ReviewParts extends DecidingParts {
  readonly disturbing: DisturbingSubjects
  /** The lists that people named. */
  readonly views: Pick<ReviewPictures, 'viewsOf' | 'saveView' | 'dropView'>
}

/** How a post is left for the next one; the audit has the path, and so whether its images could not be seen. */
const SKIP_PATHS = ['/review/skip', '/review/unseen'] as const
/** Where a post is shown; the audit has the path, and so whether it was a lead's own case. */
const ITEM_PATHS = ['/review/item', '/review/own-case'] as const

/** The queue of what people should look at, and one post of it after the other. No GET takes anything. */
export function reviewPages(parts: ReviewParts): Page[] {
  const { queue, clock, record } = parts
  const desk = reviewDesk(parts)
  const { decided } = desk
  const namesOf = knownFor(KNOWN_MS, clock, (tenant: string) => parts.reviewers.namesOf(tenant))
  const knownNames = knownFor(KNOWN_MS, clock, parts.reviewers.namesOfAll)
  const totalsOf = knownFor(KNOWN_MS, clock, (tenants: readonly string[] | undefined) => queue.totals(tenants))
  const once = new SubmittedForms()
  return [
    ...ownDecisionPages({ ...parts, decided, once }),
    {
      method: 'GET',
      path: '/review',
      right: 'decide',
      async answer({ query: asked, session }) {
        const { query, unknown } = await withName(asked, session, knownNames)
        const listed = await askedQueue(query, session, parts)
        const found = await queue.posts(listed.filter, LISTED, clock(), listed.after)
        const posts = found.posts
          .map((post) => ({
            ...post,
            items: post.items.filter(({ verdict }) => !decided.isRecent(session.by, verdict)),
          }))
          .filter(({ items }) => items.length > 0)
        const waiting = found.waiting - (found.posts.length - posts.length)
        const rows = await rowsOf(posts, session, record)
        const current = await parts.disturbing.look([...rows.values()])
        const of = { record, dueMs: parts.appealsDue, now: clock() }
        const appealed = await appealedOf(
          posts.flatMap(({ items }) => items),
          of,
        )
        const isAfter = (item: ReviewItem) => isLabelAfter(item, session.by, parts)
        const labelled = posts.flatMap(({ items }) => items.filter((item) => !isBlind(item) && !isAfter(item)))
        parts.seenLabels.note(
          session.by,
          labelled.map(({ verdict }) => verdict),
        )
        const shown = {
          session,
          rows,
          current,
          appealed,
          query,
          kinds: parts.kinds,
          disturbing: parts.disturbing,
          isLabelAfter: isAfter,
          hasSeen: ({ verdict }: ReviewItem) => parts.seenLabels.has(session.by, verdict),
          notice: [
            await noticeOf(query, session, parts, desk),
            await heldNotice(query, session, parts),
            await appealsNotice(query, session, parts),
          ],
          choice: await coversOf(parts.view.people, session.by),
          unknown,
          views: await parts.views.viewsOf(session.by),
          totals: await totalsOf(session.tenants),
          only: listAddress(query),
          assignable: parts.casework === null ? null : await namesFor(posts, namesOf),
        }
        return { title: TEXTS.review.title, body: queueBody({ ...found, posts, waiting }, listed, shown) }
      },
    },
    {
      method: 'POST',
      path: '/review/next',
      right: 'decide',
      answer: ({ form, session }) => desk.next(session, { only: form.get('only') ?? '' }),
    },
    {
      method: 'POST',
      path: '/review/take',
      right: 'decide',
      async answer(asked) {
        const reserved = await desk.take(idIn(asked.form), asked.session)
        if (reserved.outcome !== 'reserved')
          return { to: link('/review', { said: reserved.outcome === 'many' ? 'many' : 'gone' }) }
        return { to: link('/review/item', { id: reserved.item.verdict, only: asked.form.get('only') ?? '' }) }
      },
    },
    {
      method: 'POST',
      path: '/review/release',
      right: 'decide',
      async answer(asked) {
        const [id, { session }] = [idIn(asked.form), asked]
        const named = (await desk.postOf(id, session))?.items.find(({ verdict }) => verdict === id)
        const isTheirs = named?.reservation != null && named.reservation.by !== session.by
        const given = isTheirs ? await desk.giveBack([named], session) : (await desk.released(id, session)).given
        const list = Object.fromEntries(new URLSearchParams(asked.form.get('only') ?? ''))
        return { to: link('/review', { ...list, said: given === 0 ? 'notBack' : 'back', posts: id }) }
      },
    },
    ...SKIP_PATHS.map(
      (path): Page => ({
        method: 'POST',
        path,
        right: 'decide',
        answer: (call) => skipped(call, path === '/review/unseen', { desk, view: parts.view }),
      }),
    ),
    ...itemPages(parts, desk),
    goldenPage(parts, once),
    notePage({ ...parts, people: parts.view.people }, once),
    ...viewPages(parts.views),
    ...assignmentPages(parts, desk, once),
    {
      method: 'POST',
      path: '/review/decide',
      right: 'decide',
      answer: (asked) => once.take(asked.form, asked.session, () => decide(asked, desk, parts)),
    },
  ]
}

/** One post after the other, as who has it sees it. */
function itemPages(parts: ReviewParts, desk: ReviewDesk): Page[] {
  return ITEM_PATHS.map((path) => ({
    method: 'GET' as const,
    path,
    right: 'decide' as const,
    async answer({ query, session }: PageCall): Promise<PageAnswer> {
      const post = await desk.postOf(query.get('id') ?? '', session)
      const items = post === null ? [] : ownItems(post, session.by)
      if (post === null || items.length === 0) return { to: link('/review', { said: 'gone' }) }
      const where = items.some(({ isOwnCase }) => isOwnCase) ? '/review/own-case' : '/review/item'
      if (where !== path) return { to: link(where, Object.fromEntries(query)) }
      const only = query.get('only') ?? ''
      return {
        title: TEXTS.review.title,
        body: await itemBody(
          post,
          {
            ...parts,
            session,
            only,
            copiesOf: (item) => desk.copiesOf(item, session),
            canAssign: parts.casework !== null,
            reviewers: parts.reviewers,
          },
          { notice: await noticeOf(query, session, parts, desk) },
        ),
      }
    },
  }))
}

/** Gives a post back and takes the next; of one that they could not see (`isUnseen`) that is noted. */
async function skipped(
  { form, session }: PageCall,
  isUnseen: boolean,
  { desk, view }: Pick<ReviewParts, 'view'> & { readonly desk: ReviewDesk },
): Promise<PageAnswer> {
  const id = idIn(form)
  const subject = isUnseen ? (await desk.postOf(id, session))?.subject : undefined
  const { ids: but } = await desk.released(id, session)
  if (subject !== undefined) view.seenPosts.note(session.by, subject, 'not-seen')
  const done = subject === undefined ? {} : ({ said: 'couldNotSee', posts: id } as const)
  return desk.next(session, { done, but, only: form.get('only') ?? '' })
}

/** How long what waits in all, and who may have it, are taken to be the same, in ms. */
const KNOWN_MS = 10_000
/** What an address says beside what it asks for: its page, and what was done. */
const NO_FILTERS: ReadonlySet<string> = new Set([
  'after',
  'said',
  'post',
  'of',
  'copies',
  'answers',
  'withdrawn',
  'late',
  'open',
  'ago',
  'posts',
  'drawn',
])

/** What an address of a list asks for. */
function listAddress(query: URLSearchParams): string {
  return String(new URLSearchParams([...query].filter(([name, value]) => !NO_FILTERS.has(name) && value !== '')))
}

/** The same with the name that somebody has whom it asks for, however it is written; and what is said where nobody known has it. */
async function withName(query: URLSearchParams, session: Session, namesOfAll: KnownReviewers['namesOfAll']) {
  const written = (query.get('assignee') ?? '').trim().slice(0, 400)
  if (written === '') return { query, unknown: '' }
  const known = await namesOfAll(session.tenants)
  const name = [written, ...known].find((one, at) => known.includes(one) && (at === 0 || isSame(one, written)))
  if (name === undefined) return { query, unknown: TEXTS.review.noPerson(written, known.slice(0, MOST_OFFERED)) }
  const named = new URLSearchParams(query)
  named.set('assignee', name)
  return { query: named, unknown: '' }
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/** To whom each of these posts may be assigned, by tenant. */
async function namesFor(posts: readonly ReviewPost[], namesOf: KnownReviewers['namesOf']) {
  const tenants = [...new Set(posts.map(({ subject }) => subject.tenant))]
  const names = await Promise.all(
    tenants.map(async (tenant) => [tenant, (await namesOf(tenant)).slice(0, MOST_OFFERED)] as const),
  )
  return new Map(names)
}

/** What this person has taken and not decided, where the list does not show that. */
async function heldNotice(
  query: URLSearchParams,
  session: Session,
  { queue, clock }: Pick<ReviewParts, 'queue' | 'clock'>,
): Promise<TemplatePart> {
  if (query.get('show') === 'own') return NOTHING
  const { waiting } = await queue.list({ ...whoTakes(session), reserved: 'own' }, 1, clock())
  if (waiting === 0) return NOTHING
  return html`<p class="notice">${TEXTS.review.held(waiting)} <a href="/review?show=own">${TEXTS.review.heldShow}</a></p>`
}

/** How many posts of those that this person may take have appeals, where the list does not show these alone. */
async function appealsNotice(
  query: URLSearchParams,
  session: Session,
  { queue, clock }: Pick<ReviewParts, 'queue' | 'clock'>,
): Promise<TemplatePart> {
  if (query.get('reason') === 'appealed') return NOTHING
  const { waiting } = await queue.list({ ...whoTakes(session), reason: 'appealed' }, 1, clock())
  if (waiting === 0) return NOTHING
  return html`<p class="notice">${TEXTS.review.appeals.wait(waiting)} <a href="${APPEALS_AT}">${TEXTS.review.appeals.show}</a></p>`
}

/** The record's rows of what is listed. */
async function rowsOf(
  posts: readonly ReviewPost[],
  session: Session,
  record: Pick<RecordReader, 'verdict'>,
): Promise<Map<string, RecordedRow>> {
  const ids = posts.flatMap(({ items }) => items.map(({ verdict }) => verdict))
  const rows = await Promise.all(ids.map((id) => record.verdict(id, session.tenants)))
  return new Map(rows.flatMap((row) => (row === null ? [] : [[row.verdict.id, row] as const])))
}

/** What an address says has been done; with the machines' label, of a verdict that was judged without seeing it. */
async function noticeOf(
  query: URLSearchParams,
  session: Session,
  { record, blinds }: Pick<ReviewParts, 'record' | 'blinds'>,
  { postOf, decided }: Pick<ReviewDesk, 'postOf' | 'decided'>,
): Promise<TemplatePart> {
  const seen = query.get('of') ?? ''
  const row = seen === '' ? null : await record.verdict(seen, session.tenants)
  const theirs =
    row === null || blinds.isClosed(session.by, row.subject)
      ? ''
      : TEXTS.review.theirs(row.verdict.label ?? TEXTS.row.noLabel)
  const count = (name: string) => Number.parseInt(query.get(name) ?? '', 10) || 0
  const [copies, withdrawn, late, open] = [count('copies'), count('withdrawn'), count('late'), count('open')]
  const answers = count('answers')
  const post = query.get('said') === 'assigned' ? await postOf(query.get('post') ?? '', session) : null
  const named = namesIn(query.get('posts') ?? '')
  const more = [
    named === '' ? '' : `${named}.`,
    decidedIn(query, decided.lastOf(session.by)),
    query.has('drawn') ? TEXTS.review.notOfList : '',
    theirs,
    post === null ? '' : TEXTS.review.itIs(post.assignee),
    answers > 0 ? TEXTS.review.appeals.answered(answers) : '',
    copies > 0 ? TEXTS.review.withCopies(copies) : '',
    withdrawn > 0 ? TEXTS.review.withdrawn(withdrawn) : '',
    late > 0 ? TEXTS.review.notWithdrawn(late) : '',
    open > 0 ? TEXTS.review.notKnown(open) : '',
    undoneAgo(query),
  ]
  const says = notice(query.get('said'), more.filter((one) => one !== '').join(' '))
  const last = decided.lastOf(session.by)
  if (answers === 0 || last === undefined) return says
  return html`${says}<p><a href="${link('/verdict', { id: last.verdict })}#timeline">${TEXTS.review.appeals.became}</a></p>`
}

/** What they decided last, where an address says that they did, and whether it is the same post that follows. */
function decidedIn(query: URLSearchParams, last: NotedDecision | undefined): string {
  if (last === undefined || (query.get('said') !== 'done' && query.get('said') !== 'last')) return ''
  const [before, next] = [last.verdict, query.get('id') ?? ''].map(readVerdictId)
  const isSame =
    next != null &&
    next.subjectId === before?.subjectId &&
    next.postId === before.postId &&
    next.tenant === before.tenant
  return `${TEXTS.review.decidedIt(namesIn(last.verdict), last.label)} ${isSame ? TEXTS.review.samePost : next == null ? '' : TEXTS.review.otherPost}`
}

const NOTICES = [
  'gone',
  'none',
  'many',
  'done',
  'couldNotSee',
  'last',
  'back',
  'notBack',
  'saved',
  'forgotten',
  'nothing',
  'late',
  'notYet',
  'opinionStands',
  'batch',
  'assigned',
  'notAssigned',
  'untold',
] as const

function notice(said: string | null, more: string): TemplatePart {
  const name = NOTICES.find((one) => one === said)
  if (name === undefined) return NOTHING
  return html`<p class="notice" role="status">${TEXTS.review[name]} ${words(more, { most: 1_000 })}</p>`
}
