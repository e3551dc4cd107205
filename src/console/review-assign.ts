import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { namedSubject } from '../contracts/facts/decision-messages.ts'
import type { CaseworkDesk } from '../contracts/ports/casework.ts'
import { leaveTurn } from '../platform/answer-turns.ts'
import type { SubmittedForms } from './decision-form.ts'
import { type Page, type PageAnswer, type PageCall, refusal } from './page.ts'
import type { DeskParts, ReviewDesk } from './review-desk.ts'
import { mayAssign, placeOf } from './review-list.ts'
import type { KnownReviewers } from './reviewers.ts'
import { TEXTS } from './texts.ts'
import { idIn, link, shown } from './view.ts'

/** Longest name of a person. */
const MOST_NAME = 256
/** How long is waited until the record knows of it, and how often is looked, in ms. */
const [RECORDED_MS, LOOK_MS] = [3_000, 100]

type AssigningParts = Pick<DeskParts, 'clock'> & {
  readonly casework: CaseworkDesk | null
  readonly reviewers: KnownReviewers
}

/** Where people take posts for themselves, and hand them over. */
export function assignmentPages(
  { clock, casework, reviewers }: AssigningParts,
  desk: ReviewDesk,
  once: SubmittedForms,
): Page[] {
  if (casework === null) return []
  return [
    {
      method: 'POST',
      path: '/review/assign',
      right: 'decide',
      answer: (asked) => once.take(asked.form, asked.session, () => assign(asked, casework)),
    },
  ]

  async function assign({ form, session }: PageCall, told: CaseworkDesk): Promise<PageAnswer> {
    const [id, only] = [idIn(form), form.get('only') ?? '']
    const post = await desk.postOf(id, session)
    if (post === null) return { to: link('/review', { said: 'gone' }) }
    const { subject } = post
    const list = Object.fromEntries(new URLSearchParams(only))
    if (!mayAssign(post, session)) return { to: link('/review', { ...list, said: 'notAssigned' }) }
    const given = (form.get('to') ?? '').toWellFormed().trim().slice(0, MOST_NAME)
    const asked = form.get('me') === 'yes' ? session.by : given === '' ? null : given
    const { tenant } = subject
    const known = asked === null || asked === session.by ? [] : await reviewers.namesOf(tenant)
    const isSame = (one: string) => one.toLowerCase() === asked?.toLowerCase()
    const to = known.includes(asked ?? '') ? asked : (known.find(isSame) ?? asked)
    if (to !== null && to !== session.by && reviewers.areAll && known.length > 0 && !known.includes(to)) {
      const back = { to: link('/review', list), says: TEXTS.review.title }
      return refusal(TEXTS.review.notAssignedTitle, TEXTS.review.nobody(shown(to, 60), known), back)
    }
    if (to !== null && (await desk.isPartyOf(id, to, session))) {
      const back = { to: link('/review', list), says: TEXTS.review.title }
      return refusal(TEXTS.review.notAssignedTitle, TEXTS.review.isParty(shown(to, 60)), back)
    }
    const about = namedSubject(subject)
    const at = new Date(clock()).toISOString()
    leaveTurn()
    try {
      await told.tell({ schema: 1, id: randomUUID(), ...about, what: 'assigned', to, by: session.by, at })
    } catch {
      // Whoever asked is told; the writer reports why to the log.
      return { to: link('/review', { ...list, said: 'untold' }) }
    }
    const others = post.items.filter(({ reservation }) => reservation?.by !== to)
    await desk.giveBack(others, session)
    const isRead = async () => (await desk.postOf(id, session))?.assignee === to
    let isKnown = await isRead()
    for (let waited = 0; !isKnown && waited < RECORDED_MS; waited += LOOK_MS) {
      await sleep(LOOK_MS)
      isKnown = await isRead()
    }
    // The page looks up to whom: an address could say anything.
    const done = { said: 'assigned', posts: id, ...(isKnown ? { post: id } : {}) }
    const [held] = await desk.own(id, session)
    return held === undefined
      ? { to: `${link('/review', { ...list, ...done })}#${encodeURIComponent(placeOf(id))}` }
      : { to: link('/review/item', { id: held.verdict, ...done, only }) }
  }
}
