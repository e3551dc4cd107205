import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { may } from '../contracts/facts/person-roles.ts'
import type { CaseworkDesk } from '../contracts/ports/casework.ts'
import type { SubmittedForms } from './decision-form.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import type { DeskParts, ReviewDesk } from './review-desk.ts'
import { idIn, link } from './view.ts'

/** Longest name of a person. */
const MOST_NAME = 256
/** How long is waited until the record knows of it, and how often is looked, in ms. */
const [RECORDED_MS, LOOK_MS] = [3_000, 100]

type AssigningParts = Pick<DeskParts, 'clock'> & { readonly casework: CaseworkDesk | null }

/** Where people take posts for themselves, and hand them over. */
export function assignmentPages({ clock, casework }: AssigningParts, desk: ReviewDesk, once: SubmittedForms): Page[] {
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
    const { subject, assignee } = post
    const isHeld = post.items.some(({ reservation }) => reservation !== null && reservation.by !== session.by)
    const isTheirs = assignee === session.by || (assignee === null && !isHeld)
    if (!isTheirs && !may(session.grants, 'overrule', subject.tenant))
      return { to: link('/review', { said: 'notAssigned' }) }
    const given = (form.get('to') ?? '').toWellFormed().trim().slice(0, MOST_NAME)
    const to = form.get('me') === 'yes' ? session.by : given === '' ? null : given
    const { tenant, postId: subjectId } = subject
    const kind = subject.kind === 'reply' ? 'reply' : 'post'
    const about = { subjectId, tenant, kind, subjectKind: kind } as const
    const at = new Date(clock()).toISOString()
    try {
      await told.tell({ schema: 1, id: randomUUID(), ...about, what: 'assigned', to, by: session.by, at })
    } catch {
      // Whoever asked is told; the writer reports why to the log.
      return { to: link('/review', { said: 'untold' }) }
    }
    const others = post.items.filter(({ reservation }) => reservation?.by !== to)
    await desk.giveBack(others, session)
    for (let waited = 0; waited < RECORDED_MS; waited += LOOK_MS) {
      if ((await desk.postOf(id, session))?.assignee === to) break
      await sleep(LOOK_MS)
    }
    const [held] = await desk.own(id, session)
    return held === undefined
      ? { to: link('/review', { said: 'assigned' }) }
      : { to: link('/review/item', { id: held.verdict, said: 'assigned', only }) }
  }
}
