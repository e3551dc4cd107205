import { authorOf } from '../contracts/facts/author.ts'
import type { Comment, Snapshot } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { covered } from './covers.ts'
import type { DebateView } from './debate.ts'
import { scoreBar } from './kinds.ts'
import { languageName } from './languages.ts'
import { TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** Longest comment in a page, in characters. */
const MOST_OF_COMMENT = 1_000
/** Comments of a page of a thread. */
export const THREAD_PAGE = 50

/**
 * The post, reply or comment as people read it: who, when, in which language, and its pictures; a comment with what it stands under
 * and answers. `cover`: why its words are covered; null if they are not; `uncovered`: where it is said that they were uncovered.
 */
export function claimCard(
  { post, under, comments }: Pick<Snapshot, 'post' | 'under' | 'comments'>,
  { cover = null, uncovered = '', pictures }: { cover?: string | null; uncovered?: string; pictures: TemplatePart },
): SafeMarkup {
  const { lang = '', author, authorSince, createdAt, hateSpeech, clips = [] } = post
  const quote = (title: string, quoted: string) =>
    html`<p class="faint">${title}</p><blockquote>${words(quoted, { most: MOST_OF_COMMENT })}</blockquote>`
  const around =
    under === undefined
      ? []
      : [
          ...(under === null ? [] : [quote(TEXTS.verdict.under, under.text)]),
          ...comments.map(({ text }) => quote(TEXTS.verdict.answers, text)),
        ]
  const said = html`${around}${when(hateSpeech, (quoted) => html`<p class="faint">${TEXTS.verdict.answers}</p><blockquote>${words(quoted)}</blockquote>`)}
<div class="claim-words">${words(post.text, { lang })}</div>`
  const heard = clips.map(
    ({ kind, transcript }) =>
      html`<p class="image"><span class="faint">${TEXTS.verdict[kind]}</span> ${words(transcript ?? TEXTS.verdict.noWords, { most: 1_000 })}</p>`,
  )
  const title = under !== undefined ? 'comment' : hateSpeech === undefined ? 'claim' : 'reply'
  return html`<article class="claim"><h2>${TEXTS.verdict[title]}</h2>
${cover === null ? said : covered(cover, html`${said}${heard}`, { uncovered, isBeside: true })}
${pictures}
${cover === null ? heard : NOTHING}
<p class="faint">${words(author ?? TEXTS.verdict.unknown, { most: 60 })} · ${moment(createdAt)}${lang === '' ? NOTHING : html` · ${words(languageName(lang), { most: 40 })}`}${when(authorSince, (since) => html` · ${TEXTS.verdict.joined} ${moment(since)}`)}</p></article>`
}

/** What comments were found to be: their scores, and, where these are gone, the side that they count for. */
interface Weighed extends Pick<DebateView, 'marks'> {
  readonly evidence: Verdict['evidence']
}

interface Counted extends Weighed {
  /** How many comments are on each side, also those that are no evidence. */
  readonly counts: readonly [number, number]
}

/** A comment with whom it answers, when, and its score as a mark beside it. `at` is its place in the thread, from 0. */
function commentItem(comment: Comment, at: number, thread: Snapshot, { marks, evidence }: Weighed): SafeMarkup {
  const sideOf = (id: string) => {
    if (evidence.support.includes(id)) return TEXTS.verdict.supports
    return evidence.oppose.includes(id) ? TEXTS.verdict.opposes : TEXTS.verdict.notScored
  }
  const mark = marks.get(comment.id)
  const answered = thread.comments.find(({ id }) => id === comment.parentId)
  return html`<li class="comment" id="c${at}"><p class="comment-head"><strong>${words(comment.author ?? TEXTS.verdict.unknown, { most: 60 })}</strong>${answered === undefined ? NOTHING : html` <span class="faint">${TEXTS.verdict.answering}</span> ${words(answered.author ?? TEXTS.verdict.unknown, { most: 60 })}`} <span class="faint">${moment(comment.createdAt)}</span>${mark === undefined ? html` <span class="faint">${sideOf(comment.id)}</span>` : html` ${scoreBar(mark.score)}`}</p>
<div class="comment-words">${words(comment.text, { most: MOST_OF_COMMENT })}</div>${mark === undefined || mark.reason === '' ? NOTHING : html`<p class="faint reason">${words(mark.reason, { most: 300 })}</p>`}</li>`
}

/** Most comments that stand in the page of a verdict. */
const MOST_IN_VERDICT = 40

/** Which comments the page of a verdict shows, by their places: those that counted, first those. */
export function shownComments({ comments }: Snapshot, counted: ReadonlySet<string>): readonly number[] {
  return comments.flatMap(({ id }, at) => (counted.has(id) ? [at] : [])).slice(0, MOST_IN_VERDICT)
}

/** The comments that counted, and the way to all others; `uncovered`: where it is said that these were unfolded. */
export function commentsSection(
  thread: Snapshot,
  of: { verdictId: string; weighed: Counted; shown: readonly number[]; isDebated: boolean; uncovered?: string },
): TemplatePart {
  const { verdictId, weighed, shown, isDebated, uncovered = '' } = of
  const { comments } = thread
  // What a comment answers stands in its card.
  if (comments.length === 0 || thread.under !== undefined) return NOTHING
  const listed = new Set(shown)
  const others = comments.flatMap((_, at) => (listed.has(at) ? [] : [at]))
  const item = (at: number): TemplatePart => {
    const comment = comments[at]
    return comment === undefined ? NOTHING : commentItem(comment, at, thread, weighed)
  }
  const more = others.slice(0, MOST_IN_VERDICT - shown.length)
  return html`<section aria-labelledby="comments"><h2 id="comments">${TEXTS.verdict.comments(comments.length)}</h2>
${weighed.marks.size === 0 ? NOTHING : html`<p class="faint">${TEXTS.verdict.legend}</p>`}
${shown.length === 0 ? NOTHING : bySides(thread, { shown, weighed, item, isDebated })}
${more.length === 0 ? NOTHING : html`<details${uncovered === '' ? NOTHING : html` data-counts="${uncovered}"`}><summary>${isDebated ? TEXTS.verdict.unread(others.length) : TEXTS.verdict.others(others.length)}</summary><ol class="comments">${more.map(item)}</ol></details>`}
<p><a href="${link('/thread', { id: verdictId })}">${TEXTS.verdict.fullThread}</a></p></section>`
}

/** The comments that are evidence, each side's in its own column. */
function bySides(
  { comments }: Snapshot,
  of: { shown: readonly number[]; weighed: Counted; item: (at: number) => TemplatePart; isDebated: boolean },
): SafeMarkup {
  const { shown, weighed, item, isDebated } = of
  const { evidence, counts } = weighed
  const column = (ids: readonly string[], name: 'one' | 'other') => {
    const own = new Set(ids)
    const said = comments.filter(({ id }) => own.has(id))
    const authors = said.flatMap((comment) => authorOf(comment) ?? [])
    const by =
      authors.length < said.length || said.length === 0 ? '' : `, ${TEXTS.verdict.byAuthors(new Set(authors).size)}`
    const title =
      name === 'one' ? TEXTS.verdict.supporting(ids.length, counts[0]) : TEXTS.verdict.opposing(ids.length, counts[1])
    const at = shown.filter((place) => own.has(comments[place]?.id ?? ''))
    return html`<div class="counted"><h4 class="${name}">${title}${by}</h4><ol class="comments">${at.map(item)}</ol></div>`
  }
  const title = isDebated ? TEXTS.verdict.readByDebaters : TEXTS.verdict.counted
  return html`<h3>${title}</h3><div class="columns">${column(evidence.support, 'one')}${column(evidence.oppose, 'other')}</div>`
}

/** A page of a thread, from the nth comment on. */
export function threadBody(
  thread: Snapshot,
  of: { verdictId: string; from: number; weighed: Weighed; card: TemplatePart },
): SafeMarkup {
  const { verdictId, from, weighed, card } = of
  const all = thread.comments.length
  const to = Math.min(all, from + THREAD_PAGE)
  const page = (at: number) => link('/thread', { id: verdictId, from: String(at) })
  return html`<h1>${TEXTS.thread.title}</h1>
<p><a href="${link('/verdict', { id: verdictId })}">${TEXTS.thread.back}</a></p>
${card}
<p class="faint">${all === 0 ? TEXTS.thread.none : TEXTS.thread.from(Math.min(from + 1, all), to, all)}</p>
<ol class="comments">${thread.comments.slice(from, to).map((comment, at) => commentItem(comment, from + at, thread, weighed))}</ol>
<p>${from > 0 ? html`<a href="${page(Math.max(0, from - THREAD_PAGE))}">${TEXTS.thread.before}</a> ` : NOTHING}${to < all ? html`<a href="${page(to)}">${TEXTS.thread.next}</a>` : NOTHING}</p>`
}
