import { fairSlots } from '../contracts/facts/slots.ts'
import { keyNamed } from '../contracts/facts/verdict-id.ts'
import type { RecordedRow, RecordFilter, RecordReader } from '../contracts/ports/record.ts'
import { shareOf } from '../platform/who-asks.ts'
import type { BlindReviews } from './blind-review.ts'
import { coversOf } from './covers.ts'
import type { ProtocolGuides } from './kinds.ts'
import { languageField } from './languages.ts'
import { box, field, filterOf, type Lists, options, rowsOf } from './lists.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type SafeMarkup } from './view.ts'

const MOST = 50
/** Whose they are, where a person may see all tenants and names none. */
const ONLY_TENANT = 'default'
/** Longest question, in characters. */
const MOST_ASKED = 400
/** Most words and quotations of a question. */
const MOST_TERMS = 8
const TERM = /["“”„«»][^"“”„«»]*["“”„«»]|[^\s"“”„«»]+/g
/** Searches are made one at a time, and people take turns: between two of them the record's worker serves other requests. */
const TURNS = { all: () => 1 }
/** Most searches of one person that wait for theirs. */
const MOST_WAITING = 2

/** What is in the record, by words and by fields; all of it stands in the address. */
export function searchPage({
  record,
  blinds,
  kinds,
  disturbing,
  people,
}: Lists & {
  record: Pick<RecordReader, 'find' | 'search' | 'verdict' | 'subjectsNamed'>
  blinds: BlindReviews
}): Page {
  const turns = fairSlots(TURNS)
  /** Null if too many of this person wait, or if nobody waits for it any more when its turn comes. */
  async function inTurn<Made>({ asker, signal }: PageCall, work: () => Promise<Made>): Promise<Made | null> {
    if (turns.waiting(shareOf(asker)).ofName >= MOST_WAITING) return null
    return turns.run(shareOf(asker), signal, work).catch((error: unknown) => {
      if (signal.aborted) return null
      throw error
    })
  }
  return {
    method: 'GET',
    path: '/search',
    right: 'see',
    showsLabels: true,
    isCostly: true,
    withoutTurn: 'searches are made one at a time, in turns of their own',
    async answer(call): Promise<PageAnswer> {
      const { query, session } = call
      const asked = (query.get('q') ?? '').trim().slice(0, MOST_ASKED)
      const filter = { ...filterOf(query, session), standing: true as const }
      if ((asked.match(TERM)?.length ?? 0) > MOST_TERMS)
        return notSearched(TEXTS.search.tooManyWords(MOST_TERMS), 400, searchForm(query, asked, kinds))
      const result = await inTurn(call, async () =>
        asked === ''
          ? { found: await record.find(filter, MOST), stoppedEarly: false, reindexing: false }
          : record.search(asked, filter, MOST),
      )
      if (result === null) return notSearched(TEXTS.search.busy, 503, searchForm(query, asked, kinds))
      const { found, stoppedEarly, reindexing } = result
      const byId = asked === '' || query.has('before') ? [] : await namedBy(asked, filter, record)
      const ids = new Set(byId.map(({ verdict }) => verdict.id))
      const all = [...byId, ...found.filter(({ verdict }) => !ids.has(verdict.id))]
      const readable = blinds.openTo(session.by, all)
      const last = found.length === MOST ? found.at(-1)?.cursor : undefined
      return {
        title: TEXTS.search.title,
        hides: all.filter((row) => !readable.includes(row)).map(({ verdict }) => verdict.id),
        body: html`<h1>${TEXTS.search.title}</h1>
${searchForm(query, asked, kinds)}
<p role="status">${found.length === MOST ? `${TEXTS.search.newest} ` : ''}${TEXTS.search.found(readable.length)}</p>
${stoppedEarly ? html`<p class="notice">${TEXTS.search.stopped}</p>` : NOTHING}
${reindexing ? html`<p class="notice">${TEXTS.search.reindexing}</p>` : NOTHING}
${readable.length === 0 ? html`<p>${TEXTS.search.none} ${query.has('contested') ? TEXTS.live.noneContested : ''} <a href="/search">${TEXTS.search.everything}</a></p>` : NOTHING}
<ol class="rows">${await rowsOf(readable, { kinds, disturbing }, { choice: await coversOf(people, session.by), isWhole: true })}</ol>
${last === undefined ? NOTHING : html`<p><a href="${link('/search', { ...Object.fromEntries(query), before: last })}">${TEXTS.older}</a></p>`}`,
      }
    },
  }
}

/**
 * The verdict of this id, current or not, or the current ones of the post or reply of this id, or of the comment of this name, as far as
 * they fit the filter.
 */
export async function namedBy(
  id: string,
  filter: RecordFilter,
  record: Pick<RecordReader, 'find' | 'verdict' | 'subjectsNamed'>,
): Promise<readonly RecordedRow[]> {
  const row = await record.verdict(id, filter.tenants)
  if (row === null) {
    // People quote the ids of appeals and actions, too.
    const about = await record.subjectsNamed(id, filter.tenants ?? [ONLY_TENANT])
    const subject = [id, keyNamed(id) ?? id, ...about.map(({ postId }) => postId)]
    return record.find({ ...filter, subject, standing: true }, MOST)
  }
  const { standing: _, ...any } = filter
  // By its own time: of what is read each verdict is an entry of the audit.
  const at = Date.parse(row.verdict.timing.decidedAt)
  const [since, until] = [Math.max(at, filter.since ?? at), Math.min(at + 1, filter.until ?? at + 1)]
  const fitting = await record.find(
    { protocol: row.verdict.protocol, ...any, subject: row.subject.postId, since, until },
    MOST,
  )
  return fitting.filter(({ verdict }) => verdict.id === row.verdict.id)
}

function notSearched(says: string, status: 400 | 503, form: SafeMarkup): PageAnswer {
  const { title } = TEXTS.search
  return { title, status, body: html`<h1>${title}</h1>${form}<p class="notice" role="alert">${says}</p>` }
}

function searchForm(query: URLSearchParams, asked: string, kinds: ProtocolGuides): SafeMarkup {
  const given = (name: string) => query.get(name) ?? ''
  const more = ['author', 'decider', 'lang', 'model', 'prompts', 'fault', 'from', 'to', 'tenant'].some(
    (name) => given(name) !== '',
  )
  return html`<form class="search" role="search" method="get" action="/search">
<label class="wide">${TEXTS.search.query} <input type="search" name="q" value="${asked}" maxlength="${MOST_ASKED}" dir="auto"></label>
<label>${TEXTS.live.protocol} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
${field('label', TEXTS.live.label, given('label'))}
${box('opposed', TEXTS.live.opposed, query.has('opposed'))}
${box('contested', TEXTS.live.contested, query.has('contested'))}
${box('degraded', TEXTS.live.degraded, query.has('degraded'))}
<button class="main">${TEXTS.search.go}</button>
<details${more ? html` open` : NOTHING}><summary>${TEXTS.live.filters}</summary>
${field('author', TEXTS.search.author, given('author'))}${field('decider', TEXTS.search.decider, given('decider'))}${field('tenant', TEXTS.live.tenant, given('tenant'))}${languageField(TEXTS.review.filters.lang, given('lang'))}
${field('from', TEXTS.search.from, given('from'), 'date')}${field('to', TEXTS.search.to, given('to'), 'date')}
${field('model', TEXTS.search.model, given('model'))}${field('prompts', TEXTS.search.prompts, given('prompts'))}${field('fault', TEXTS.search.fault, given('fault'))}
</details>
<p class="faint">${TEXTS.search.hint}</p></form>`
}
