import { areaY, dot, lineY, type PlotOptions, ruleX, ruleY, text } from '@observablehq/plot'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import type { CaseFile } from './case-file.ts'
import { badge, type ProtocolGuides, signed } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { drawing, html, link, moment, NOTHING, type TemplatePart } from './view.ts'

/** Width and height in the drawing's own units: about what a phone shows at once, so that its letters stay legible there. */
const [WIDTH, HEIGHT] = [420, 190]
/** Of more comments the line alone is drawn, by so many of them or fewer; most revisions that are marked, the newest. */
const [MOST_POINTS, MOST_REVISIONS] = [400, 40]
/** Revisions that are nearer than this share of the width have their first and last number between them. */
const NEAR = 0.035

interface StancePoint {
  readonly at: number
  readonly score: number
  /** Of all scores until then. */
  readonly mean: number
}

interface RevisionMark {
  readonly verdict: Verdict
  /** Where it is drawn. */
  readonly at: number
}

/** How the comments' stance grew while the thread did, with the revisions marked; nothing where fewer than two were scored. */
export function stanceSection(file: CaseFile, kinds: ProtocolGuides): TemplatePart {
  const { row, subjectRecord, thread } = file
  const own = subjectRecord.verdicts
    .map(({ verdict }) => verdict)
    .filter(({ protocol }) => protocol === row.verdict.protocol)
    .slice(-MOST_REVISIONS)
  const [first, last] = [thread?.post.createdAt ?? 0, Math.max(...own.map(timeOf))]
  const points = pointsOf(file, { first, last })
  if (points.length < 2) return NOTHING
  const marks = own.map((verdict): RevisionMark => ({ verdict, at: placeOf(verdict, file, { first, last }) }))
  const { stance } = TEXTS
  const said = thread?.comments.length ?? 0
  const lastMark = Math.max(...marks.map(({ at }) => at), points.at(-1)?.at ?? first)
  // A drawing has a width, also where all stands at the post's own time.
  const until = lastMark === first ? last : endOf(points, { first, last: lastMark })
  return html`<section aria-labelledby="stance"><h2 id="stance">${stance.title}</h2>
<p class="faint">${stance.says}${until < lastMark ? html` ${stance.later}` : NOTHING}${said > points.length ? ` ${stance.unscored(said - points.length, said)}` : NOTHING}</p>
<div class="stance" role="img" aria-label="${stance.described(points.length, signed(points.at(-1)?.mean ?? 0), own.length)}">${drawing(options(points, marks, { first, last: until }))}</div>
<details><summary>${stance.table}</summary><div class="scrolls" tabindex="0"><table><thead><tr>${stance.heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${own.map((verdict) => revisionRow(verdict, kinds))}</tbody></table></div></details></section>`
}

/** Where the drawing ends: what people decided long after the last comment would leave no room for the thread. */
function endOf(points: readonly StancePoint[], { first, last }: { first: number; last: number }): number {
  const newest = points.at(-1)?.at ?? last
  return newest === first ? last : Math.min(last, newest + (newest - first))
}

/** When it took the comments that it rests on; a person's, when it was decided. */
function timeOf({ decision, timing }: Verdict): number {
  return Date.parse(decision === undefined ? timing.openedAt : timing.decidedAt)
}

/**
 * Where the last comment stands that a revision had: a replay opens all of them long after their comments. A person's stands where
 * it was decided, and a later one with comments that this page does not have where it was opened.
 */
function placeOf(
  verdict: Verdict,
  { thread, ruled }: CaseFile,
  { first, last }: { first: number; last: number },
): number {
  const own = Math.max(first, timeOf(verdict))
  const { accepted } = verdict.counts
  if (verdict.decision !== undefined) return own
  if (accepted === 0) return first
  const times = (thread?.comments ?? [])
    .map(({ createdAt }) => Math.min(Math.max(createdAt, first), last))
    .toSorted((one, other) => one - other)
  return times[accepted - 1] ?? (verdict.revision > ruled.revision ? own : (times.at(-1) ?? first))
}

/** Times of comments are their senders': none stands before the post, or after what was made of it. */
function pointsOf({ thread, debate }: CaseFile, { first, last }: { first: number; last: number }): StancePoint[] {
  let sum = 0
  return (thread?.comments ?? [])
    .flatMap(({ id, createdAt }) => {
      const mark = debate.marks.get(id)
      return mark === undefined ? [] : [{ at: Math.min(Math.max(createdAt, first), last), score: mark.score }]
    })
    .toSorted((one, other) => one.at - other.at)
    .map((point, nth) => {
      sum += point.score
      return { ...point, mean: sum / (nth + 1) }
    })
}

function options(
  points: readonly StancePoint[],
  marks: readonly RevisionMark[],
  { first, last }: { first: number; last: number },
): PlotOptions {
  const every = Math.ceil(points.length / MOST_POINTS)
  const timed = points
    .filter((_, nth) => nth % every === 0 || nth === points.length - 1)
    .map((point) => ({ ...point, at: new Date(point.at) }))
  const steps = [...timed, { ...(timed.at(-1) ?? { score: 0, mean: 0 }), at: new Date(last) }]
  const rules = marks.map(({ at, verdict }) => ({ at: new Date(Math.min(at, last)), number: String(verdict.revision) }))
  const near = (last - first) * NEAR
  const numbered: { at: Date; first: string; number: string }[] = []
  for (const { at, number } of rules) {
    const before = numbered.at(-1)
    if (before === undefined || at.getTime() - before.at.getTime() > near) numbered.push({ at, first: number, number })
    else numbered.splice(-1, 1, { at, first: before.first, number: `${before.first}–${number}` })
  }
  return {
    width: WIDTH,
    height: HEIGHT,
    marginTop: 20,
    marginRight: 14,
    x: { type: 'utc', domain: [new Date(first), new Date(last)], label: null, ticks: 4 },
    y: { domain: [-1, 1], ticks: [-1, -0.5, 0, 0.5, 1], label: null },
    marks: [
      areaY(steps, { x: 'at', y: 'mean', curve: 'step-after', fillOpacity: 0.12 }),
      ruleY([0], { strokeOpacity: 0.6 }),
      ruleX(rules, { x: 'at', strokeDasharray: '3 3' }),
      text(numbered, { x: 'at', text: 'number', frameAnchor: 'top', dy: -14 }),
      lineY(steps, { x: 'at', y: 'mean', curve: 'step-after', strokeWidth: 2 }),
      ...(every > 1 ? [] : [dot(timed, { x: 'at', y: 'score', r: 2.5 })]),
    ],
  }
}

/** A revision with its own figures, as far as it says them: a person's has none. */
function revisionRow(verdict: Verdict, kinds: ProtocolGuides): TemplatePart {
  const number = (count: number | undefined) => html`<td class="number">${count ?? ''}</td>`
  const sides = kinds.get(verdict.protocol)?.reading?.debate?.counts ?? ['', '']
  const read = verdict.decision === undefined ? verdict.counts.judged : undefined
  return html`<tr><th scope="row"><a href="${link('/verdict', { id: verdict.id })}">${TEXTS.verdict.revision(verdict.revision)}</a></th><td>${moment(timeOf(verdict))}</td><td>${badge(verdict, kinds)}</td>${number(read)}${sides.map((side) => number(entryOf(verdict.scores, side)))}</tr>`
}
