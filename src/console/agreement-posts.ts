import { AGREEMENT_PARTS, type ComparedRuling } from '../contracts/facts/agreement.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { RecordedRow } from '../contracts/ports/record.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { agreementAsked, reachSays } from './agreement.ts'
import { AGREEMENT_TEXTS as TEXTS } from './agreement-texts.ts'
import type { BlindReviews } from './blind-review.ts'
import { harmIn } from './covers.ts'
import { badge, type ProtocolGuides } from './kinds.ts'
import { listPage } from './list-page.ts'
import { type DisturbingSubjects, subjectWords } from './lists.ts'
import type { Page } from './page.ts'
import { tableOf } from './quality.ts'
import { html, link, moment, type TemplatePart, words } from './view.ts'

/** Posts of a page. */
const MOST = 50

/** The posts behind a figure of agreement: for leads, of their tenants. */
export function agreementPostsPage({
  queue,
  kinds,
  blinds,
  disturbing,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'compared'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly disturbing: DisturbingSubjects
  readonly clock: Clock
}): Page {
  return {
    method: 'GET',
    path: '/agreement/posts',
    right: 'overrule',
    showsLabels: true,
    async answer(call) {
      const { query, session } = call
      const asked = agreementAsked(call, clock())
      const given = (name: string) => query.get(name)?.slice(0, 2_000)
      const valueIn = (name: string) => given(name)?.replace(/^=/, '')
      const found = await queue.compared(
        {
          ...asked.query,
          protocol: given('protocol') ?? '',
          part: AGREEMENT_PARTS.find((one) => one === given('part')),
          value: valueIn('value'),
          people: given('people'),
          machine: valueIn('machine'),
          agrees: given('agrees') === 'yes' ? true : given('agrees') === 'no' ? false : undefined,
          before: given('before'),
        },
        MOST,
      )
      const page = { blinds, by: session.by, path: '/agreement/posts', query, most: MOST }
      const { readable, closed, older } = listPage(found, page)
      const rows = await disturbing.lookAt(readable.map(({ subject }) => subject))
      return {
        title: TEXTS.posts,
        hides: closed.map(({ verdict }) => verdict),
        body: html`<h1>${TEXTS.posts}</h1><p>${TEXTS.postsSay} <a href="${link('/agreement', asked.carried)}">${TEXTS.all}</a></p>
${
  readable.length === 0
    ? html`<p role="status">${TEXTS.noPosts}</p>`
    : tableOf(
        TEXTS.heads,
        readable.map((one) => cellsOf(one, { kinds, rows, disturbing })),
      )
}
${older}`,
      }
    },
  }
}

interface PostParts {
  readonly kinds: ProtocolGuides
  readonly rows: readonly RecordedRow[]
  readonly disturbing: DisturbingSubjects
}

function cellsOf(one: ComparedRuling, { kinds, rows, disturbing }: PostParts): TemplatePart[] {
  const { protocol, at, verdict, subject, machine, people, source, seen, clauses, reach, lang } = one
  const said = { protocol, label: people, decidedBy: 'human', scores: {} }
  // People may have found harm where no verdict did, and a verdict that no longer stands may have.
  const isHarmful = [said, { ...said, label: machine }].some((each) => harmIn(each, kinds) !== null)
  return [
    moment(at),
    html`<a href="${link('/verdict', { id: verdict })}">${words(nameIn(subject), { most: 200 })}</a>${subjectWords(subject, { rows, disturbing, isHarmful })}`,
    badge({ protocol, label: machine, decidedBy: '', scores: {} }, kinds),
    badge(said, kinds),
    TEXTS.sources[source],
    TEXTS.sights[seen],
    words(clauses.join(', '), { most: 200 }),
    reachSays(reach),
    words(lang ?? TEXTS.noLanguage, { most: 40 }),
  ]
}
