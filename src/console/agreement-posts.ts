import { AGREEMENT_PARTS, type ComparedRuling } from '../contracts/facts/agreement.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { ReviewQueue } from '../contracts/ports/review.ts'
import { agreementAsked, reachSays } from './agreement.ts'
import { AGREEMENT_TEXTS as TEXTS } from './agreement-texts.ts'
import type { BlindReviews } from './blind-review.ts'
import { badge, type ProtocolGuides } from './kinds.ts'
import type { Page } from './page.ts'
import { tableOf } from './quality.ts'
import { html, link, moment, NOTHING, type TemplatePart, words } from './view.ts'

/** Posts of a page. */
const MOST = 50

/** The posts behind a figure of agreement: for leads, of their tenants. */
export function agreementPostsPage({
  queue,
  kinds,
  blinds,
  clock,
}: {
  readonly queue: Pick<ReviewQueue, 'compared'>
  readonly kinds: ProtocolGuides
  readonly blinds: BlindReviews
  readonly clock: Clock
}): Page {
  return {
    method: 'GET',
    path: '/agreement/posts',
    right: 'overrule',
    showsLabels: true,
    takesTurns: true,
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
      const readable = blinds.openTo(session.by, found)
      const last = found.length === MOST ? found.at(-1)?.place : undefined
      return {
        title: TEXTS.posts,
        hides: found.filter((one) => !readable.includes(one)).map(({ verdict }) => verdict),
        body: html`<h1>${TEXTS.posts}</h1><p>${TEXTS.postsSay} <a href="${link('/agreement', asked.carried)}">${TEXTS.all}</a></p>
${
  readable.length === 0
    ? html`<p role="status">${TEXTS.noPosts}</p>`
    : tableOf(
        TEXTS.heads,
        readable.map((one) => cellsOf(one, kinds)),
      )
}
${last === undefined ? NOTHING : html`<p><a rel="next" href="${link('/agreement/posts', { ...Object.fromEntries(query), before: last })}">${TEXTS.older}</a></p>`}`,
      }
    },
  }
}

function cellsOf(one: ComparedRuling, kinds: ProtocolGuides): TemplatePart[] {
  const { protocol, at, verdict, subject, machine, people, source, seen, clauses, reach, lang } = one
  return [
    moment(at),
    html`<a href="${link('/verdict', { id: verdict })}">${words(nameIn(subject), { most: 200 })}</a>`,
    badge({ protocol, label: machine, decidedBy: '', scores: {} }, kinds),
    badge({ protocol, label: people, decidedBy: 'human', scores: {} }, kinds),
    TEXTS.sources[source],
    TEXTS.sights[seen],
    words(clauses.join(', '), { most: 200 }),
    reachSays(reach),
    words(lang ?? TEXTS.noLanguage, { most: 40 }),
  ]
}
