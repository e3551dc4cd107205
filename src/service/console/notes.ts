import type { CommentCounts, Transcript, Verdict } from '../domain/verdict.ts'
import type { RecordedVerdict, RecordedWord, SubjectRecord } from '../ports/record.ts'
import { badge, type Kinds } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type Part, type Safe, words } from './view.ts'

/** What was left out, lost or refused, in plain words; nothing where nothing was. */
export function missingSection({ degraded, filtered = [], counts }: Verdict): Part {
  const left = leftOut(counts)
  const refused = filtered.map(({ model, stage, calls, found }) => {
    const what = found.map(({ category, severity }) => (severity === undefined ? category : `${category}, ${severity}`))
    return TEXTS.filtered(model, stage, calls, what.join('; '))
  })
  if (degraded.length + refused.length + left.length === 0) return NOTHING
  return html`<section aria-labelledby="missing" class="missing"><h2 id="missing">${TEXTS.verdict.missing}</h2><ul>
${left.length === 0 ? NOTHING : html`<li>${TEXTS.counts.of(counts.judged, counts.accepted)} ${left.join(', ')}.</li>`}
${[...refused, ...degraded].slice(0, 40).map((one) => html`<li>${words(one, { most: 500 })}</li>`)}</ul></section>`
}

function leftOut({ leftOut: by }: CommentCounts): string[] {
  return (['cap', 'late', 'folded', 'author', 'unscored', 'load'] as const).flatMap((why) =>
    by[why] > 0 ? [TEXTS.counts[why](by[why])] : [],
  )
}

/** What changed since the revision before: the outcome, evidence that came and went, versions. */
export function sinceSection(of: {
  verdict: Verdict
  before: Verdict | null
  kinds: Kinds
  nameOf: (comment: string) => Part
}): Part {
  const { verdict, before, kinds, nameOf } = of
  if (before === null) return NOTHING
  // A person gives a reason, and no evidence.
  const isHuman = verdict.decision !== undefined
  const [had, has] = isHuman ? [NONE, NONE] : [evidenceOf(before), evidenceOf(verdict)]
  const came = [...has].filter((id) => !had.has(id))
  const went = [...had].filter((id) => !has.has(id))
  const named = (title: string, ids: readonly string[]) =>
    ids.length === 0
      ? NOTHING
      : html`<li>${title}: ${ids.slice(0, MOST_NAMED).map(nameOf)}${ids.length > MOST_NAMED ? TEXTS.verdict.others(ids.length - MOST_NAMED) : ''}</li>`
  const isSame =
    before.versions.prompts === verdict.versions.prompts && before.versions.settings === verdict.versions.settings
  const hasEvidence = had.size + has.size > 0
  return html`<section aria-labelledby="since"><h2 id="since">${TEXTS.verdict.since}</h2>
<p>${badge(before, kinds)} → ${badge(verdict, kinds)} <a href="${link('/verdict', { id: before.id })}">${TEXTS.verdict.revision(before.revision)}</a></p>
<ul>${named(TEXTS.verdict.came, came)}${named(TEXTS.verdict.went, went)}${hasEvidence && came.length + went.length === 0 ? html`<li>${TEXTS.verdict.sameEvidence}</li>` : NOTHING}
<li>${isSame ? TEXTS.verdict.samePrompts : TEXTS.verdict.otherPrompts}</li></ul></section>`
}
const MOST_NAMED = 12
const NONE: ReadonlySet<string> = new Set()

function evidenceOf({ evidence }: Verdict): ReadonlySet<string> {
  return new Set([...evidence.support, ...evidence.oppose])
}

/** All that happened to a subject by one protocol, oldest first, and what other protocols say of it. */
export function timelineSection(
  story: SubjectRecord,
  { verdict, kinds, posted }: { verdict: Verdict; kinds: Kinds; posted: number | null },
): Safe {
  const own = story.verdicts.filter((one) => one.verdict.protocol === verdict.protocol)
  const said = story.said.filter(({ protocol }) => protocol === verdict.protocol)
  const events = [
    ...(posted === null ? [] : [{ at: posted, show: html`${TEXTS.verdict.posted}` }]),
    ...own.map((one) => ({ at: Date.parse(one.verdict.timing.decidedAt), show: ruled(one, verdict, kinds) })),
    ...said.map((one) => ({ at: one.at, show: saidBy(one) })),
  ]
  const others = story.verdicts.filter(({ verdict: one, standing }) => standing && one.protocol !== verdict.protocol)
  return html`<section aria-labelledby="timeline"><h2 id="timeline">${TEXTS.verdict.timeline}</h2>
<ol class="timeline">${events
    .sort((one, other) => one.at - other.at)
    .slice(-MOST_EVENTS)
    .map(({ at, show }) => html`<li>${moment(at)} ${show}</li>`)}</ol>
${others.length === 0 ? NOTHING : html`<h3>${TEXTS.verdict.byOthers}</h3><ul>${others.map(({ verdict: one }) => html`<li><a href="${link('/verdict', { id: one.id })}">${badge(one, kinds)}</a> ${one.protocol}</li>`)}</ul>`}</section>`
}
/** The newest so many. */
const MOST_EVENTS = 60

function ruled({ verdict: one }: RecordedVerdict, shown: Verdict, kinds: Kinds): Safe {
  const by = one.decision?.by ?? one.restored?.by
  const who = by === undefined ? NOTHING : html` ${TEXTS.row.by} ${words(by, { most: 60 })}`
  const name = html`${TEXTS.verdict.revision(one.revision)}: ${badge(one, kinds)}`
  return one.id === shown.id
    ? html`<strong>${name}</strong>${who}`
    : html`<a href="${link('/verdict', { id: one.id })}">${name}</a>${who}`
}

function saidBy({ said, label, by }: RecordedWord): Safe {
  return html`${words(by, { most: 60 })}: ${TEXTS.said[said]}${label === null ? NOTHING : html` (${words(label, { most: 64 })})`}`
}

/** What each call said, cost and took, folded; and what the whole cost. */
export function callsSection(verdict: Verdict, transcript: Transcript | null): Safe {
  const { usage, versions, timing } = verdict
  const turns = transcript?.turns ?? []
  return html`<details><summary>${TEXTS.verdict.calls}: ${TEXTS.verdict.callsSum(usage.calls, usage.memoHits)}, $${usd(usage.costUsd)}, ${seconds(timing.modelMs)} s</summary>
<div class="scrolls"><table><thead><tr>${TEXTS.verdict.callHeads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${turns.slice(0, MOST_CALLS).map((turn) => html`<tr><td>${words(turn.stage, { most: 40 })}</td><td>${words(turn.role, { most: 60 })}</td><td>${words(turn.model, { most: 60 })}</td><td class="number">${seconds(turn.ms)}</td><td class="number">${usd(turn.usage.costUsd)}</td><td>${turn.memo ? TEXTS.verdict.fromMemory : ''}${turn.failed === undefined ? '' : TEXTS.verdict.failed(turn.failed.code)}</td></tr>`)}
</tbody></table></div>${turns.length > MOST_CALLS ? html`<p>${TEXTS.verdict.others(turns.length - MOST_CALLS)}</p>` : NOTHING}
<p class="faint">${TEXTS.verdict.versions}: ${versions.script} · ${words(versions.prompts, { most: 64 })} · ${words(versions.settings, { most: 64 })}</p></details>`
}
const MOST_CALLS = 100

function usd(cost: number): string {
  return cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2)
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
