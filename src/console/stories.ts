import { csvTable } from '../contracts/facts/csv-table.ts'
import { byStory, hasHistory, type StorySummary, storySummary } from '../contracts/facts/story-summary.ts'
import type { RecordedRow } from '../contracts/ports/record.ts'
import { coversOf } from './covers.ts'
import { languageField } from './languages.ts'
import { box, field, filterOf, options, rowsOf } from './lists.ts'
import type { Page, PageAnswer, PageCall } from './page.ts'
import { STORIES_TEXTS as TEXTS } from './stories-texts.ts'
import { storyPage } from './story.ts'
import { contestedOf, factsOf, type StoryParts } from './story-facts.ts'
import { html, link, NOTHING, type SafeMarkup, type TemplatePart } from './view.ts'

/**
 * Verdicts that a list is made of, stories that it shows, and verdicts that are read of one of them, those that stand and those before:
 * each is an entry of the audit.
 */
const [MOST_ROWS, MOST_STORIES, MOST_OF_ONE, MOST_BEFORE] = [120, 40, 20, 100]
/** Longest question, in characters. */
const MOST_ASKED = 400

interface ListedStory {
  readonly summary: StorySummary
  readonly rows: readonly RecordedRow[]
}

interface FoundStories {
  readonly stories: readonly ListedStory[]
  readonly isCut: boolean
  readonly hides: readonly string[]
}

/** Posts by what they say, as a list and as files, and one story. */
export function storyPages(parts: StoryParts): Page[] {
  const listed = (path: string, answer: (found: FoundStories, call: PageCall) => PageAnswer | Promise<PageAnswer>) => ({
    method: 'GET' as const,
    path,
    right: 'see' as const,
    showsLabels: true as const,
    isCostly: true as const,
    answer: async (call: PageCall) => answer(await findStories(call, parts), call),
  })
  return [
    listed('/stories', async (found, call) => ({
      title: TEXTS.title,
      body: await listOf(found, call, parts),
      hides: found.hides,
    })),
    listed('/stories.json', ({ stories }) => ({
      file: `${JSON.stringify(
        stories.map(({ summary }) => summary),
        null,
        1,
      )}\n`,
      name: 'stories.json',
      type: 'application/json',
    })),
    listed('/stories.csv', ({ stories }) => ({
      file: csvTable({ head: CSV_HEAD, rows: stories.flatMap(csvRows) }),
      name: 'stories.csv',
      type: 'text/csv; charset=utf-8',
    })),
    ...storyPage(parts),
  ]
}

const CSV_HEAD = [
  'story',
  'tenant',
  'posts',
  'reach',
  'first post',
  'first written',
  'author',
  'text',
  'protocol',
  'label',
  'posts with it',
  'disputed since',
  'differs since',
  'decided',
]

/** A row for each label of a story, with the post that was written first. */
function csvRows({ summary, rows }: ListedStory): string[][] {
  const { id, tenant, posts, reach, first, labels, opposed, differs, decided } = summary
  const said = rows.find(({ subject, words }) => subject.postId === first.subjectId && words !== null)?.words
  return labels.map(({ protocol, label, posts: own }) => [
    id ?? '',
    tenant,
    String(posts),
    String(reach ?? ''),
    first.subjectId,
    first.at,
    first.author ?? '',
    said ?? '',
    protocol,
    label ?? '',
    String(own),
    opposed.find((one) => one.protocol === protocol)?.since ?? '',
    differs.find((one) => one.protocol === protocol)?.since ?? '',
    decided.find((one) => one.protocol === protocol)?.label ?? '',
  ])
}

/** What is asked for, each story with all of its posts that the record knows. */
async function findStories({ query, session }: PageCall, { record, blinds }: StoryParts): Promise<FoundStories> {
  const asked = (query.get('q') ?? '').trim().slice(0, MOST_ASKED)
  const filter = { ...filterOf(query, session), standing: true as const }
  const { found, stoppedEarly } =
    asked === ''
      ? { found: await record.find(filter, MOST_ROWS), stoppedEarly: false }
      : await record.search(asked, filter, MOST_ROWS)
  const groups = byStory(found)
  const whole = await Promise.all(groups.slice(0, MOST_STORIES).map((rows) => wholeStory(rows, { record, query })))
  const before = await Promise.all(whole.map((rows) => earlier(rows, record)))
  const all = [...whole, ...before].flat()
  const readable = new Set(blinds.openTo(session.by, all).map(({ verdict }) => verdict.id))
  const isOpen = ({ verdict }: RecordedRow) => readable.has(verdict.id)
  const stories = whole.flatMap((rows, nth) => {
    const open = rows.filter(isOpen)
    const summary = storySummary([...open, ...(before[nth] ?? []).filter(isOpen)])
    return summary === null ? [] : [{ summary, rows: open }]
  })
  return {
    stories: stories
      .filter(({ summary }) => !query.has('differs') || summary.differs.length > 0)
      .toSorted(query.get('order') === 'written' ? byTime : contestedFirst),
    isCut:
      stoppedEarly ||
      found.length >= MOST_ROWS ||
      groups.length > MOST_STORIES ||
      whole.some(({ length }) => length >= MOST_OF_ONE),
    hides: all.flatMap(({ verdict }) => (readable.has(verdict.id) ? [] : [verdict.id])),
  }
}

const byTime = ({ summary: a }: ListedStory, { summary: b }: ListedStory) =>
  Date.parse(a.first.at) - Date.parse(b.first.at)

/** Those whose verdicts contradict one another before those that comments dispute, and these before all others. */
const contestedFirst = ({ summary: a }: ListedStory, { summary: b }: ListedStory) => rankOf(a) - rankOf(b)
const rankOf = ({ differs, opposed }: StorySummary) => (differs.length > 0 ? 0 : opposed.length > 0 ? 1 : 2)

/** All that stands of a story, of which these verdicts were found. */
async function wholeStory(
  rows: readonly RecordedRow[],
  { record, query }: { record: StoryParts['record']; query: URLSearchParams },
): Promise<readonly RecordedRow[]> {
  const [row] = rows
  const story = rows.find(({ verdict }) => verdict.story !== undefined)?.verdict.story
  if (row === undefined || story === undefined) return rows
  // Without filters all of a small story is there already.
  const isWhole = [...query.keys()].length === 0 && story.members <= new Set(rows.map((one) => one.subject.postId)).size
  if (isWhole) return rows
  const { tenant } = row.subject
  const named = await record.find({ tenants: [tenant], story: story.id, standing: true }, MOST_OF_ONE)
  const known = new Set(named.map(({ verdict }) => verdict.id))
  return [...named, ...rows.filter(({ verdict }) => !known.has(verdict.id))]
}

/** The verdicts on its posts that stand no more, where they tell more of it. */
async function earlier(rows: readonly RecordedRow[], record: StoryParts['record']): Promise<readonly RecordedRow[]> {
  const [row] = rows
  if (row === undefined || !hasHistory(rows)) return []
  const subject = [...new Set(rows.map((one) => one.subject.postId))]
  const all = await record.find({ tenants: [row.subject.tenant], subject }, MOST_BEFORE)
  return all.filter(({ subject: { kind }, standing }) => kind === 'post' && !standing)
}

async function listOf({ stories, isCut }: FoundStories, call: PageCall, parts: StoryParts): Promise<SafeMarkup> {
  const { query, session } = call
  const carried = Object.fromEntries(query)
  const posts = stories.reduce((sum, { summary }) => sum + summary.posts, 0)
  const countOf = (what: 'opposed' | 'differs') => stories.filter(({ summary }) => summary[what].length > 0).length
  const choice = await coversOf(parts.people, session.by)
  const shown = await Promise.all(stories.map((story) => storyMarkup(story, { ...parts, choice })))
  return html`<h1>${TEXTS.title}</h1><p>${TEXTS.about}</p>${formOf(query, parts)}
<p role="status">${TEXTS.found(stories.length, posts)} ${TEXTS.contested(countOf('opposed'), countOf('differs'))}${isCut ? ` ${TEXTS.cut}` : ''}</p>
<p class="faint"><a href="${link('/stories.json', carried)}">${TEXTS.json}</a> <a href="${link('/stories.csv', carried)}">${TEXTS.csv}</a> ${TEXTS.csvNote}</p>
${stories.length === 0 ? html`<p>${TEXTS.none}</p>` : shown}`
}

async function storyMarkup(
  { summary, rows }: ListedStory,
  parts: StoryParts & { choice: Awaited<ReturnType<typeof coversOf>> },
): Promise<TemplatePart> {
  const { id, tenant, first } = summary
  const own = rows.filter(({ subject }) => subject.postId === first.subjectId)
  const leadsTo = id === null ? link('/verdict', { id: first.verdictId }) : link('/stories/story', { id, tenant })
  const { choice } = parts
  return html`<article class="story">
<ol class="rows">${await rowsOf(own, parts, { choice, isWhole: false, isDated: true, leadsTo })}</ol>
${contestedOf(summary)}
${summary.posts === 1 && summary.decided.length === 0 ? NOTHING : factsOf(summary, parts)}</article>`
}

function formOf(query: URLSearchParams, { kinds }: Pick<StoryParts, 'kinds'>): SafeMarkup {
  const given = (name: string) => query.get(name) ?? ''
  return html`<form class="search" role="search" method="get" action="/stories">
<label class="wide">${TEXTS.query} <input type="search" name="q" value="${given('q')}" maxlength="${MOST_ASKED}" dir="auto"></label>
<label>${TEXTS.labels} <select name="protocol">${options([...kinds.keys()], given('protocol'))}</select></label>
${field('from', TEXTS.from, given('from'), 'date')}${field('to', TEXTS.to, given('to'), 'date')}${languageField(TEXTS.lang, given('lang'))}${field('tenant', TEXTS.tenant, given('tenant'))}
${box('opposed', TEXTS.onlyOpposed, query.has('opposed'))}${box('differs', TEXTS.onlyDiffering, query.has('differs'))}
<label class="box"><input type="checkbox" name="order" value="written"${query.get('order') === 'written' ? html` checked` : NOTHING}> ${TEXTS.byTime}</label>
<button class="main">${TEXTS.go}</button></form>`
}
