import type { StorySummary } from '../contracts/facts/story-summary.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
import type { BlindReviews } from './blind-review.ts'
import type { CaseFile } from './case-file.ts'
import { badge } from './kinds.ts'
import type { Lists } from './lists.ts'
import { STORIES_TEXTS as TEXTS } from './stories-texts.ts'
import type { NearParts } from './story-near.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

export type StoryParts = Lists & {
  readonly record: Pick<RecordReader, 'find' | 'search' | 'subject' | 'verdict'>
  readonly blinds: BlindReviews
  /** Whether people may decide here. */
  readonly decides: boolean
  /** Finds posts that are near in meaning, and keeps what people say of them; absent where neither can be. */
  readonly near?: NearParts | undefined
}

/**
 * What a verdict says of its story, and the way there; nothing where no other post says the same. What a person decided stands on that
 * verdict's own page, where it is known who saw it and who may not.
 */
export function storyNote({ row, decidedElsewhere: other }: Pick<CaseFile, 'row' | 'decidedElsewhere'>): TemplatePart {
  const { story, tenant } = row.verdict
  if (story === undefined) return NOTHING
  const { id, members } = story
  if (members < 2 && other === null) return NOTHING
  const all = html`<a href="${link('/stories/story', { id, tenant })}">${TEXTS.says(members)}</a> `
  return html`<p class="notice">${members < 2 ? NOTHING : all}${other === null ? NOTHING : html`<a href="${link('/verdict', { id: other })}">${TEXTS.current}</a>.`}</p>`
}

/** What of it is contested, and since when: by people in its comments, and among its verdicts. */
export function contestedOf({ opposed, differs, posts }: StorySummary): TemplatePart {
  return [
    ...opposed.map((one) => {
      const sides = TEXTS.sides(one.support, one.oppose)
      return html`<p class="notice">${TEXTS.opposed(one.posts, posts)} ${moment(one.since)}: ${sides}.</p>`
    }),
    ...differs.map(({ protocol, since }) => html`<p class="notice">${TEXTS.differs(protocol)} ${moment(since)}.</p>`),
  ]
}

/** How many posts, and how far they reached. */
function sizeOf({ posts, reach }: StorySummary): string {
  return `${TEXTS.posts(posts)}${reach === null || reach === 0 ? '' : `, ${TEXTS.reach(reach)}`}`
}

/** What is known of a story, in a list of terms. */
export function factsOf(summary: StorySummary, { kinds }: Pick<StoryParts, 'kinds'>): SafeMarkup {
  const { first, languages, labels, decided, withdrawn } = summary
  return html`<dl class="fields facts"><dt>${TEXTS.size}</dt><dd>${sizeOf(summary)}</dd><dt>${TEXTS.first}</dt><dd>${moment(first.at)}${first.author === null ? NOTHING : html` ${TEXTS.by} ${words(first.author, { most: 60 })}`}</dd>
${languages.length === 0 ? NOTHING : html`<dt>${TEXTS.languages}</dt><dd>${words(languages.join(', '), { most: 100 })}</dd>`}
<dt>${TEXTS.labels}</dt><dd>${labels.map(({ protocol, label, posts }) => html`<span class="found"><span class="protocol">${protocol}</span> ${badge({ protocol, label, decidedBy: '', scores: {} }, kinds)} ${posts}</span> `)}</dd>
<dt>${TEXTS.decided}</dt><dd>${decided.length === 0 ? TEXTS.undecided : decided.slice(0, 5).map(({ protocol, label, by, at, verdictId }) => html`<a href="${link('/verdict', { id: verdictId })}">${protocol}: ${words(label ?? TEXTS.noLabel, { most: 64 })}</a> ${TEXTS.by} ${words(by, { most: 60 })}, ${moment(at)} `)}</dd>
${withdrawn.length === 0 ? NOTHING : html`<dt>${TEXTS.withdrawn}</dt><dd>${withdrawn.slice(0, 5).map(({ protocol, label, by, at, decidedAt, verdictId }) => html`<a href="${link('/verdict', { id: verdictId })}">${protocol}: ${words(label ?? TEXTS.noLabel, { most: 64 })}</a> ${moment(decidedAt)}, ${TEXTS.withdrawnBy} ${words(by, { most: 60 })}, ${moment(at)} `)}</dd>`}</dl>`
}
