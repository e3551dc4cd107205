import type { Comment } from '../contracts/facts/thread.ts'
import { covered } from './covers.ts'
import type { DebateView, Round, Speech } from './debate.ts'
import { meaning, type ProtocolGuide, scoreBar } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** Longest text of one turn in a page, in characters. */
const LONGEST_SPEECH = 4_000

/** What an argument is shown with. */
export interface ArgumentParts {
  readonly debate: DebateView
  readonly kind: ProtocolGuide | undefined
  readonly comments: readonly Comment[]
  /** Comments that each side was shown. */
  readonly shown: readonly [readonly string[], readonly string[]]
  /** The address of a comment's place; ids never stand in it. */
  readonly placeOf: (id: string) => string | null
  /** Tells it from others on the same page. */
  readonly name?: string
}

/** What names a section: its heading, and on a page with several such also that of what it is in. */
function labelsOf(heading: string, name: string): string {
  return name === '' ? heading : `${heading}${name} name${name}`
}

/** The two columns of a debate, round by round: on a narrow screen one below the other, still by round. */
export function argumentSection(parts: ArgumentParts): TemplatePart {
  const { debate, shown, name = '' } = parts
  if (debate.titles === null || debate.rounds.length === 0) return NOTHING
  const [one, other] = debate.titles
  const openings = debate.rounds.filter(({ isOpening }) => isOpening).length
  return html`<section aria-labelledby="${labelsOf('argument', name)}"><h2 id="argument${name}">${TEXTS.verdict.argument}</h2>
<div class="columns"><div class="side-head one" aria-hidden="true">${one}</div><div class="side-head other" aria-hidden="true">${other}</div>
${debate.rounds.map((round, at) => roundRow(round, round.isOpening ? 0 : at + 1 - openings, parts))}
</div>${shown.some((side) => side.length > 0) ? shownRow(parts) : NOTHING}</section>`
}

function roundRow({ sides }: Round, number: number, parts: ArgumentParts): SafeMarkup {
  const titles = parts.debate.titles ?? ['', '']
  return html`<h3 class="round">${TEXTS.verdict.round(number)}</h3>
${sides.map((speech, side) => html`<div class="speech ${side === 0 ? 'one' : 'other'}"><p class="side-name">${titles[side] ?? ''}</p>${speech === null ? html`<p class="faint">–</p>` : speechBlock(speech, parts)}</div>`)}`
}

/** What was said in one turn, with the label that it takes and the comments that it quotes. */
function speechBlock(speech: Speech, { kind, placeOf, debate, comments }: ArgumentParts): TemplatePart {
  if (speech.failed !== null) return html`<p class="lost">${TEXTS.verdict.failed(speech.failed)}</p>`
  return [
    html`<div class="said">${words(speech.text, { most: LONGEST_SPEECH })}</div>`,
    html`<p class="takes">${when(speech.says, (says) => meaning(says, kind))}${when(speech.score, (score) => html` <span class="risk">${TEXTS.verdict.score} ${score}</span>`)}</p>`,
    speech.quotes.length === 0
      ? NOTHING
      : html`<p class="chips">${TEXTS.verdict.quotes} ${speech.quotes.map((id) => chip(id, { comments, placeOf, debate }))}</p>`,
  ]
}

type Chips = Pick<ArgumentParts, 'comments' | 'placeOf' | 'debate'>

/** A comment by its author and score, linked to its place. */
function chip(id: string, { comments, placeOf, debate }: Chips): SafeMarkup {
  const said = comments.find((comment) => comment.id === id)
  const mark = debate.marks.get(id)
  const name = html`${words(said?.author ?? TEXTS.verdict.unknown, { most: 40 })}${mark === undefined ? NOTHING : html` ${scoreBar(mark.score)}`}`
  const place = placeOf(id)
  return place === null ? html`<span class="chip">${name}</span> ` : html`<a class="chip" href="${place}">${name}</a> `
}

/** Most chips of a side. */
const MOST_CHIPS = 12

function shownRow(parts: ArgumentParts): SafeMarkup {
  return html`<div class="columns">${parts.shown.map((side, at) => {
    const more = side.length - MOST_CHIPS
    return html`<p class="chips ${at === 0 ? 'one' : 'other'}">${TEXTS.verdict.shown} ${side.slice(0, MOST_CHIPS).map((id) => chip(id, parts))}${more > 0 ? html`<a href="#comments">${TEXTS.verdict.others(more)}</a>` : NOTHING}</p>`
  })}</div>`
}

/** What decided, and by which rule; its words are left out where the rationale above them is the same. */
export function benchSection(
  { judge }: DebateView,
  kind: ProtocolGuide | undefined,
  { rationale, title, name = '' }: { rationale: string; title: string; name?: string },
): TemplatePart {
  if (judge === null) return NOTHING
  const isQuoted = rationale.includes(judge.text)
  if (isQuoted && judge.rule === null && judge.score === null && judge.lists.length === 0 && judge.failed === null)
    return NOTHING
  const { text, says, score, rule, lists, failed } = judge
  return html`<section aria-labelledby="${labelsOf('bench', name)}" class="bench"><h2 id="bench${name}">${title}</h2>
${failed === null ? NOTHING : html`<p class="lost">${TEXTS.verdict.failed(failed)}</p>`}
${isQuoted ? NOTHING : html`<div class="said">${words(text, { most: LONGEST_SPEECH })}</div>`}
<p class="takes">${when(says, (one) => meaning(one, kind))}${when(score, (one) => html` <span class="risk">${TEXTS.verdict.score} ${one}</span>`)}${when(rule, (one) => html` · ${TEXTS.verdict.rule}: <strong>${words(one, { most: 64 })}</strong>`)}</p>
${lists.length === 0 ? NOTHING : html`<ul class="lists">${lists.slice(0, 20).map((one) => html`<li>${words(one, { most: 400 })}</li>`)}</ul>`}</section>`
}

/** Several voices in a row, each with its answer and reason. */
export function voicesSection({ voices }: DebateView, kind: ProtocolGuide | undefined, name = ''): TemplatePart {
  if (voices.length === 0) return NOTHING
  const title = voices.every(({ speech }) => speech.score !== null) ? TEXTS.verdict.scores : TEXTS.verdict.perspectives
  return html`<section aria-labelledby="${labelsOf('voices', name)}"><h2 id="voices${name}">${title}</h2>
<ul class="voices">${voices.map(
    ({ name, speech }) => html`<li class="voice"><h3>${words(name, { most: 60 })}</h3>
${speech.failed !== null ? html`<p class="lost">${TEXTS.verdict.failed(speech.failed)}</p>` : html`<p class="takes">${when(speech.says, (says) => meaning(says, kind))}${when(speech.score, (score) => html`<span class="says">${score}</span>`)}</p><div class="said">${words(speech.text, { most: 1_000 })}</div>`}</li>`,
  )}</ul></section>`
}

/** What came before the argument, folded; as a cover where the post is covered. */
export function restSection({ rest }: DebateView, cover: { why: string; uncovered: string } | null): TemplatePart {
  if (rest.length === 0) return NOTHING
  const said = rest.slice(0, 60).map(
    ({ stage, role, speech }) => html`<h3>${words(`${stage}: ${role}`, { most: 120 })}</h3>
${speech.failed !== null ? html`<p class="lost">${TEXTS.verdict.failed(speech.failed)}</p>` : html`<div class="said">${words([speech.says ?? '', speech.text].filter((one) => one !== '').join(': '), { most: 2_000 })}</div>`}
${speech.lists.length === 0 ? NOTHING : html`<ul class="lists">${speech.lists.slice(0, 20).map((one) => html`<li>${words(one, { most: 300 })}</li>`)}</ul>`}`,
  )
  return cover === null
    ? html`<details><summary>${TEXTS.verdict.rest}</summary>${said}</details>`
    : covered(`${TEXTS.verdict.rest}. ${cover.why}`, said, cover)
}
