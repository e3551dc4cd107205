import type { RecordReader } from '../ports/record.ts'
import { filterOf } from './filter.ts'
import type { Kinds } from './kinds.ts'
import type { Page } from './page.ts'
import { box, field, type Lists, options, rowsOf } from './rows.ts'
import { TEXTS } from './texts.ts'
import { html, link, NOTHING, type Safe } from './view.ts'

const MOST = 50
/** Longest question, in characters. */
const MOST_ASKED = 400

/** What is in the record, by words and by fields; all of it stands in the address. */
export function searchPage({
  record,
  kinds,
  disturbing,
}: Lists & { record: Pick<RecordReader, 'find' | 'search'> }): Page {
  return {
    method: 'GET',
    path: '/search',
    async answer({ query, session }) {
      const asked = (query.get('q') ?? '').trim().slice(0, MOST_ASKED)
      const filter = { ...filterOf(query, session), standing: true as const }
      const { found, stoppedEarly } =
        asked === ''
          ? { found: await record.find(filter, MOST), stoppedEarly: false }
          : await record.search(asked, filter, MOST)
      const last = found.length === MOST ? found.at(-1)?.cursor : undefined
      return {
        title: TEXTS.search.title,
        body: html`<h1>${TEXTS.search.title}</h1>
${searchForm(query, asked, kinds)}
<p role="status">${found.length === MOST ? `${TEXTS.search.newest} ` : ''}${TEXTS.search.found(found.length)}</p>
${stoppedEarly ? html`<p class="notice">${TEXTS.search.stopped}</p>` : NOTHING}
<ol class="rows">${rowsOf(found, { kinds, disturbing })}</ol>
${last === undefined ? NOTHING : html`<p><a href="${link('/search', { ...Object.fromEntries(query), before: last })}">${TEXTS.older}</a></p>`}`,
      }
    },
  }
}

function searchForm(query: URLSearchParams, asked: string, kinds: Kinds): Safe {
  const given = (name: string) => query.get(name) ?? ''
  const more = ['author', 'model', 'prompts', 'fault', 'from', 'to', 'tenant'].some((name) => given(name) !== '')
  return html`<form class="search" role="search" method="get" action="/search">
<label class="wide">${TEXTS.search.query} <input type="search" name="q" value="${asked}" maxlength="${MOST_ASKED}" dir="auto"></label>
<label>${TEXTS.live.protocol} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
${field('label', TEXTS.live.label, given('label'))}
${box('contested', TEXTS.live.contested, query.has('contested'))}
${box('degraded', TEXTS.live.degraded, query.has('degraded'))}
<button class="main">${TEXTS.search.go}</button>
<details${more ? html` open` : NOTHING}><summary>${TEXTS.live.filters}</summary>
${field('author', TEXTS.search.author, given('author'))}${field('tenant', TEXTS.live.tenant, given('tenant'))}
${field('from', TEXTS.search.from, given('from'), 'date')}${field('to', TEXTS.search.to, given('to'), 'date')}
${field('model', TEXTS.search.model, given('model'))}${field('prompts', TEXTS.search.prompts, given('prompts'))}${field('fault', TEXTS.search.fault, given('fault'))}
</details>
<p class="faint">${TEXTS.search.hint}</p></form>`
}
