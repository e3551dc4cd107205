import { csvTable } from '../contracts/facts/csv-table.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { type StorySummary, storyQuarters, storySummary, writtenOf } from '../contracts/facts/story-summary.ts'
import type { RecordedRow } from '../contracts/ports/record.ts'
import { covered, coversOf, uncoveredAt } from './covers.ts'
import { rowsOf } from './lists.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { STORIES_TEXTS as TEXTS } from './stories-texts.ts'
import { storyForm } from './story-decide.ts'
import { contestedOf, factsOf, type StoryParts } from './story-facts.ts'
import { nearSection } from './story-near.ts'
import { TEXTS as ALL_TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** Verdicts of one story that are read, and posts of it that are shown. */
const [MOST_VERDICTS, MOST_POSTS] = [500, 100]
/** Characters of the words that head a story, and reasons of people that are shown. */
const [MOST_TITLE, MOST_REASONS] = [160, 5]

interface OneStory {
  readonly summary: StorySummary
  /** The newest first. */
  readonly rows: readonly RecordedRow[]
  readonly hides: readonly string[]
}

/** One story under a stable address, and as files. */
export function storyPage(parts: StoryParts): Page[] {
  const made = (path: string, answer: (of: OneStory, call: PageCall) => PageAnswer | Promise<PageAnswer>): Page => ({
    method: 'GET',
    path,
    right: 'see',
    showsLabels: true,
    isCostly: true,
    async answer(call) {
      const story = await read(call, parts)
      return story === null ? GONE : answer(story, call)
    },
  })
  return [
    made('/stories/story', async (story, call) => {
      const near = await nearSection({ ...story.summary, rows: story.rows }, call, parts)
      return {
        title: TEXTS.one,
        body: await pageOf(story, call, { ...parts, nearby: near.markup }),
        hides: [...story.hides, ...near.hides],
      }
    }),
    made('/stories/story.json', ({ summary, rows }) => ({
      file: `${JSON.stringify({ ...summary, verdicts: rows.map(fileRow) }, null, 1)}\n`,
      name: 'story.json',
      type: 'application/json',
    })),
    made('/stories/story.csv', ({ rows }) => ({
      file: csvTable({
        head: [...Object.keys(NO_ROW), 'author', 'text'],
        rows: rows.map((row) =>
          [...Object.values(fileRow(row)), row.author, row.words].map((one) => String(one ?? '')),
        ),
      }),
      name: 'story.csv',
      type: 'text/csv; charset=utf-8',
    })),
  ]
}

const GONE: PageAnswer = {
  title: TEXTS.gone,
  status: 404,
  body: html`<h1>${TEXTS.gone}</h1><p>${TEXTS.goneSays}</p><p><a href="/stories">${TEXTS.all}</a></p>`,
}

async function read({ query, session }: PageCall, { record, blinds }: StoryParts): Promise<OneStory | null> {
  const [id, tenant] = [query.get('id') ?? '', query.get('tenant') ?? 'default']
  if (!/^[0-9a-z]{1,64}$/.test(id) || session.tenants?.includes(tenant) === false) return null
  const found = await record.find({ tenants: [tenant], story: id }, MOST_VERDICTS)
  const rows = blinds.openTo(session.by, found)
  const summary = storySummary(rows)
  const shown = new Set(rows.map(({ verdict }) => verdict.id))
  const hides = found.flatMap(({ verdict }) => (shown.has(verdict.id) ? [] : [verdict.id]))
  return summary === null ? null : { summary, rows, hides }
}

const NO_ROW = {
  verdict: '',
  post: '',
  protocol: '',
  revision: 0,
  label: '',
  decidedBy: '',
  standing: true,
  language: '',
  written: '',
  decided: '',
}

/** A verdict in a file for programs, without anybody's words: these would outlive their deletion there. */
function fileRow({ verdict, subject, standing, lang }: RecordedRow): { [Name in keyof typeof NO_ROW]: unknown } {
  return {
    verdict: verdict.id,
    post: subject.postId,
    protocol: verdict.protocol,
    revision: verdict.revision,
    label: verdict.label,
    decidedBy: verdict.decidedBy,
    standing,
    language: lang,
    written: writtenOf(verdict),
    decided: verdict.timing.decidedAt,
  }
}

async function pageOf(
  { summary, rows }: OneStory,
  { session, query }: PageCall,
  parts: StoryParts & { readonly nearby: TemplatePart },
): Promise<SafeMarkup> {
  const { id, tenant } = summary
  const at = { id: id ?? '', tenant }
  const standing = rows.filter((row) => row.standing && row.verdict.decidedBy !== 'deleted')
  const posts = [...Map.groupBy(standing, ({ subject }) => subject.postId).values()]
  const members = posts.slice(0, MOST_POSTS).flat()
  const first = standing.find(({ subject, words }) => subject.postId === summary.first.subjectId && words !== null)
  const choice = await coversOf(parts.people, session.by)
  const listed = await rowsOf(members, parts, { choice, isWhole: false, isDated: true })
  const cover = first === undefined ? null : parts.disturbing.because(first)
  const forms = parts.decides
    ? [...Map.groupBy(standing, ({ verdict }) => verdict.protocol)].map(([protocol, own]) =>
        storyForm(protocol, own, { session, kinds: parts.kinds }),
      )
    : []
  const isOpen = forms.some((form) => form !== NOTHING)
  const protocols = Map.groupBy(rows, ({ verdict }) => verdict.protocol)
  return html`${doneNotice(query)}<p class="faint">${TEXTS.one}</p><h1>${titleOf(first, cover)}</h1>
${contestedOf(summary)}
${factsOf(summary, parts)}
${whyDecided(summary, rows, cover)}
<p class="faint">${TEXTS.address} <a href="${link('/stories/story.json', at)}">${TEXTS.json}</a> <a href="${link('/stories/story.csv', at)}">${TEXTS.csv}</a> ${TEXTS.csvNote} <a href="/stories">${TEXTS.all}</a></p>
<section aria-labelledby="members"><h2 id="members">${TEXTS.members}</h2>${posts.length > MOST_POSTS ? html`<p>${TEXTS.membersCut(MOST_POSTS)}</p>` : NOTHING}
<ol class="rows">${listed}</ol><p class="faint">${TEXTS.arguments}</p></section>
<section aria-labelledby="times"><h2 id="times">${TEXTS.overTime}</h2><p class="faint">${TEXTS.overTimeSays}</p>
${[...protocols].map(([protocol, own]) => quartersTable(protocol, own, parts))}</section>
${isOpen ? html`<section aria-labelledby="decide" class="decide"><h2 id="decide">${TEXTS.decide}</h2>${forms}</section>` : NOTHING}
${parts.nearby}`
}

/** What a decision on several posts came to. */
function doneNotice(query: URLSearchParams): TemplatePart {
  const countOf = (name: string) => (/^\d{1,4}$/.test(query.get(name) ?? '') ? Number(query.get(name)) : 0)
  const [done, waits] = [countOf('done'), countOf('waits')]
  if (done === 0) return NOTHING
  return html`<p class="notice done" role="status" tabindex="-1" autofocus>${TEXTS.done(done)}${waits === 0 ? '' : ` ${TEXTS.waits(waits)}`}</p>`
}

/** The words of the post that was written first, or why they are covered. */
function titleOf(first: RecordedRow | undefined, cover: string | null): TemplatePart {
  if (cover !== null) return cover
  return words(first?.words ?? ALL_TEXTS.live.noWords, { most: MOST_TITLE, lang: first?.lang ?? '' })
}

/** The reasons of people, which may repeat what is covered. */
function whyDecided({ decided }: StorySummary, rows: readonly RecordedRow[], cover: string | null): TemplatePart {
  return decided.slice(0, MOST_REASONS).map(({ verdictId, by }): TemplatePart => {
    const why = rows.find(({ verdict }) => verdict.id === verdictId)?.verdict.rationale ?? ''
    if (why === '') return NOTHING
    const said = html`<p>“${words(why, { most: 400 })}” <span class="faint">${TEXTS.by} ${words(by, { most: 60 })}</span></p>`
    return cover === null
      ? said
      : covered(ALL_TEXTS.verdict.reasonsCovered(cover), said, { uncovered: uncoveredAt(verdictId, 'reasons') })
  })
}

function quartersTable(
  protocol: string,
  rows: readonly RecordedRow[],
  { kinds }: Pick<StoryParts, 'kinds'>,
): TemplatePart {
  const names = kinds.get(protocol)?.reading?.debate?.counts ?? []
  const bins = storyQuarters(rows, names)
  const labels = [...new Set(bins.flatMap((bin) => Object.keys(bin.labels)))].sort()
  const cell = (value: number | undefined) => html`<td class="number">${value ?? 0}</td>`
  return html`<h3>${words(protocol, { most: 64 })}</h3><div class="scrolls" tabindex="0"><table><thead><tr><th scope="col">${TEXTS.quarter}</th>${labels.map((label) => html`<th scope="col" class="number">${words(label === '' ? TEXTS.noLabel : label, { most: 64 })}</th>`)}${names.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${bins.map(({ at, labels: own, scores }) => html`<tr><th scope="row">${moment(at)}</th>${labels.map((label) => cell(entryOf(own, label)))}${names.map((name) => cell(entryOf(scores, name)))}</tr>`)}</tbody></table></div>`
}
