import { z } from 'zod'
import { ANSWERS } from '../contracts/facts/appeal-messages.ts'
import { UNDERSTUDY } from '../contracts/facts/by-hand.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Post } from '../contracts/facts/thread.ts'
import type { CommentCounts, Transcript, Verdict } from '../contracts/facts/verdict.ts'
import type { RecordedVerdict, RecordedWord, SubjectRecord } from '../contracts/ports/record.ts'
import { actionInWords } from './actions-note.ts'
import type { CaseFile } from './case-file.ts'
import { covered } from './covers.ts'
import { badge, howDecided, type ProtocolGuides, sayingOf } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** Two sides argued over the comments that they were shown. */
export function isDebated({ kind, debate }: CaseFile): boolean {
  return kind?.reading?.debate?.showsComments === true && debate.rounds.length > 0
}

/** How many comments are on each side, by the verdict's own scores; 0 where it does not say. */
export function sideCounts({ kind, ruled }: CaseFile): readonly [number, number] {
  const [one = '', other = ''] = kind?.reading?.debate?.counts ?? []
  return [entryOf(ruled.scores, one) ?? 0, entryOf(ruled.scores, other) ?? 0]
}

/** Of the comments that take a side, how many were read and how many there are; null where all were read. */
function unreadOf(file: CaseFile): readonly [number, number] | null {
  const { support, oppose } = file.ruled.evidence
  const [read, all] = [support.length + oppose.length, sideCounts(file).reduce((sum, count) => sum + count, 0)]
  return isDebated(file) && all > read ? [read, all] : null
}

/** What was left out, lost or refused, in plain words, also where nothing was. `name` tells it from others on the same page. */
export function missingSection(file: CaseFile, name = ''): TemplatePart {
  const { degraded, faults, filtered = [], counts, decidedBy } = file.ruled
  const unread = unreadOf(file)
  if (decidedBy === 'human' || decidedBy === 'deleted') return NOTHING
  const left = leftOut(counts)
  const refused = filtered.map(({ model, stage, calls, found }) => {
    const what = found.map(({ category, severity }) => (severity === undefined ? category : `${category}, ${severity}`))
    return TEXTS.filtered(model, stage, calls, what.join('; '))
  })
  const causes = faults.map((fault) => entryOf(TEXTS.missing.faults, fault) ?? fault)
  const noted = [...refused, ...degraded].slice(0, 40)
  const list = (all: readonly TemplatePart[]) => html`<ul>${all.map((one) => html`<li>${one}</li>`)}</ul>`
  const isNothing = noted.length + left.length === 0
  const judged = isNothing
    ? `${unread === null ? `${TEXTS.missing.no} ` : ''}${TEXTS.missing.nothing(counts.accepted)}`
    : ''
  return html`<section aria-labelledby="missing${name}" class="missing${isNothing ? ' in-line' : ''}"><h2 id="missing${name}">${TEXTS.missing.title}</h2>
${isNothing || unread !== null ? html`<p>${judged} ${unread === null ? '' : TEXTS.missing.unread(...unread)}</p>` : NOTHING}
${left.length === 0 ? NOTHING : html`<p>${TEXTS.missing.comments(counts.judged, counts.accepted)}</p>${list(left)}`}
${causes.length === 0 ? NOTHING : html`<p>${TEXTS.missing.less}</p>${list(causes)}`}
${noted.length === 0 ? NOTHING : html`<h3>${TEXTS.missing.detail}</h3>${list(noted.map((one) => words(one, { most: 500 })))}`}</section>`
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
  kinds: ProtocolGuides
  nameOf: (comment: string) => TemplatePart
}): TemplatePart {
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

/** All that happened to a subject by one protocol, oldest first, as sentences, and what other protocols say of it. Reasons may repeat the post's words, and are covered as these are. */
export function timelineSection(
  subjectRecord: SubjectRecord,
  {
    verdict,
    kinds,
    posted,
    cover,
  }: { verdict: Verdict; kinds: ProtocolGuides; posted: Post | null; cover: string | null },
): SafeMarkup {
  const own = subjectRecord.verdicts.filter((one) => one.verdict.protocol === verdict.protocol)
  const said = subjectRecord.said.filter(
    ({ said: what, protocol }) => protocol === verdict.protocol || (protocol === '' && what !== 'appeal'),
  )
  // Of a decision that became a verdict its verdict tells.
  const carriedOut = new Set(own.flatMap(({ verdict: one }) => one.decision?.of ?? one.restored?.of ?? []))
  const heard = new Set(said.flatMap(({ said: what, id }) => (what === 'outcome' ? [decisionOf(id)] : [])))
  const machines = own.filter(({ verdict: one }) => one.decision === undefined && one.restored === undefined)
  const events = [
    ...(posted === null
      ? []
      : [
          {
            at: posted.createdAt,
            show: html`${TEXTS.timeline.posted} ${words(posted.author ?? TEXTS.verdict.unknown, { most: 60 })}.`,
          },
        ]),
    ...own.map((one) => ({
      at: Date.parse(one.verdict.timing.decidedAt),
      show: ruled(one, { before: machines[machines.indexOf(one) - 1]?.verdict, shown: verdict, kinds, cover }),
    })),
    ...said
      .filter(({ said: what, id }) => !((what === 'decision' || what === 'outcome') && carriedOut.has(decisionOf(id))))
      .map((one) => ({ at: one.at, show: saidBy(one, { tenant: verdict.tenant, heard, cover }) })),
  ]
  const others = subjectRecord.verdicts.filter(
    ({ verdict: one, standing }) => standing && one.protocol !== verdict.protocol,
  )
  return html`<section aria-labelledby="timeline"><h2 id="timeline">${TEXTS.verdict.timeline}</h2>
<ol class="timeline">${events
    .sort((one, other) => one.at - other.at)
    .slice(-MOST_EVENTS)
    .map(({ at, show }) => html`<li>${moment(at)} ${show}</li>`)}</ol>
${others.length === 0 ? NOTHING : html`<h3>${TEXTS.verdict.byOthers}</h3><ul>${others.map(({ verdict: one }) => html`<li><a href="${link('/verdict', { id: one.id })}">${badge(one, kinds)}</a> ${TEXTS.verdict.by(one.protocol)}</li>`)}</ul>`}</section>`
}
/** The newest so many. */
const MOST_EVENTS = 60

/** The decision that was said, or that an outcome is of, by its PARTITION@OFFSET. */
function decisionOf(id: string): string {
  return id.split(' ')[1] ?? ''
}

/** What a revision brought, against the machines' one before. */
function ruled(
  { verdict: one }: RecordedVerdict,
  of: { before: Verdict | undefined; shown: Verdict; kinds: ProtocolGuides; cover: string | null },
): SafeMarkup {
  const { before, shown, kinds, cover } = of
  const number = TEXTS.verdict.revision(one.revision)
  const name = html`${badge(one, kinds)} (${one.id === shown.id ? html`<strong>${number}</strong>` : html`<a href="${link('/verdict', { id: one.id })}">${number}</a>`})`
  const { timeline } = TEXTS
  if (one.decision !== undefined)
    return html`${words(one.decision.by, { most: 60 })} ${timeline.human} ${name}. ${whySaid(one.rationale, cover)}`
  if (one.restored !== undefined)
    return html`${words(one.restored.by, { most: 60 })} ${timeline.withdrew} ${name}. ${whySaid(one.restored.why, cover)}`
  const isSame = before !== undefined && sayingOf(before) === sayingOf(one)
  const was = before === undefined || isSame ? NOTHING : html`, ${timeline.before} ${badge(before, kinds)}`
  return html`${before === undefined ? timeline.first : isSame ? timeline.still : timeline.again} ${name}${was}. ${words(howDecided(one))} ${timeline.by(one.counts.accepted, before?.counts.accepted ?? 0)}${one.final ? ` ${timeline.final}` : ''}`
}

function whySaid(why: string | undefined, cover: string | null, before: string = TEXTS.timeline.why): TemplatePart {
  if (why === undefined || why === '') return NOTHING
  const said = html`<span class="faint">${before}</span> ${words(why, { most: 400 })}`
  return cover === null ? said : covered(TEXTS.verdict.reasonsCovered(cover), said, { isBeside: true })
}

const message = z.object({
  why: z.string().optional().catch(undefined),
  note: z.string().optional().catch(undefined),
  text: z.string().optional().catch(undefined),
  withdraw: z.boolean().optional().catch(undefined),
  opinion: z.boolean().optional().catch(undefined),
  against: z.number().optional().catch(undefined),
  outcome: z.string().optional().catch(undefined),
  id: z.string().optional().catch(undefined),
})

function saidBy(
  { said, id, label, by, message: sent }: RecordedWord,
  { tenant, heard, cover }: { tenant: string; heard: ReadonlySet<string>; cover: string | null },
): SafeMarkup {
  const { timeline } = TEXTS
  const {
    why,
    note,
    text,
    withdraw = false,
    opinion = false,
    against = 0,
    outcome = '',
    id: action = '',
  } = message.safeParse(sent).data ?? {}
  const who = words(by, { most: 60 })
  const what = html`<strong>${words(label ?? TEXTS.row.noLabel, { most: 64 })}</strong>`
  switch (said) {
    case 'decision':
      if (opinion) return html`${who} ${timeline.opinion} ${what}. ${whySaid(why, cover)}`
      return html`${who} ${withdraw ? timeline.withdraws : html`${timeline.decided} ${what}`}. ${heard.has(decisionOf(id)) ? '' : timeline.unmade(against)} ${whySaid(why, cover)}`
    case 'outcome':
      return html`${who}: ${what}. ${entryOf(timeline.outcomes, outcome) ?? ''}`
    case 'proposal':
      return html`${timeline.proposal} ${what}; ${timeline.humanStands}.`
    case 'review':
      return html`${timeline.look} ${entryOf<string>(TEXTS.review.reasons, why ?? '') ?? html`${words(why ?? '', { most: 60 })}.`}`
    case 'assignment':
      return html`${who} ${label === null ? timeline.unassigned : html`${timeline.assigned} ${words(label, { most: 60 })}.`}`
    case 'appeal':
      return html`${entryOf(timeline.appeal, by) ?? who} (${words(action, { most: 60 })}). ${label === null ? timeline.waits : (entryOf(timeline.became, label) ?? html`${timeline.noAnswer} ${what}.`)} ${label !== null && ANSWERS.includes(label) ? html`<a href="${link('/appeal-answer', { tenant, id: action })}">${TEXTS.answer.show}</a> ` : NOTHING}${whySaid(text, cover, timeline.inTheirWords)}`
    case 'pair':
      return html`${who} ${label === 'same' ? timeline.same : timeline.notSame}`
    case 'action':
      return actionInWords({ by, label, message: sent })
    case 'withdrawal':
      return html`${who} ${timeline.withdrewAction} ${words(action, { most: 60 })}.`
    case 'feedback':
      return html`${who} ${timeline.feedback} ${what}. ${whySaid(note, cover)}`
  }
}

/** What each call said, cost and took, folded; and what the whole took, under which versions. */
export function callsSection(verdict: Verdict, transcript: Transcript | null): SafeMarkup {
  const { usage, timing } = verdict
  const turns = transcript?.turns ?? []
  const sums = [
    TEXTS.verdict.callsSum(usage.calls, usage.memoHits),
    ...(usage.calls === 0 ? [] : [`$${usd(usage.costUsd)}`, TEXTS.verdict.modelSeconds(seconds(timing.modelMs))]),
  ]
  return html`<details><summary>${TEXTS.verdict.calls}: ${sums.join(', ')}</summary>
${tookList(verdict)}
${
  turns.length === 0
    ? NOTHING
    : html`<div class="scrolls" tabindex="0"><table><thead><tr>${TEXTS.verdict.callHeads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${turns.slice(0, MOST_CALLS).map((turn) => html`<tr><td>${words(turn.stage, { most: 40 })}</td><td>${words(turn.role, { most: 60 })}</td><td>${words(nameOfModel(turn.model), { most: 60 })}</td><td class="number">${seconds(turn.ms)}</td><td class="number">${usd(turn.usage.costUsd)}</td><td>${turn.memo ? TEXTS.verdict.fromMemory : ''}${turn.failed === undefined ? '' : TEXTS.verdict.failed(turn.failed.code)}</td></tr>`)}
</tbody></table></div>`
}${turns.length > MOST_CALLS ? html`<p>${TEXTS.verdict.others(turns.length - MOST_CALLS)}</p>` : NOTHING}</details>`
}
const MOST_CALLS = 100

function nameOfModel(model: string): string {
  return model === UNDERSTUDY ? TEXTS.verdict.wordLists : model
}

/** When it came, opened and was decided, by which models, under which versions. */
function tookList({ timing, models, versions, debated, unverified, confidence, lang, variant }: Verdict): SafeMarkup {
  const { took } = TEXTS.verdict
  const byRole = Object.entries(models).map(([role, model]) => `${role} ${nameOfModel(model)}`)
  const all: readonly (readonly [string, TemplatePart])[] = [
    [took.received, moment(timing.receivedAt)],
    [took.opened, moment(timing.openedAt)],
    [took.decided, moment(timing.decidedAt)],
    [took.inModels, TEXTS.verdict.seconds(seconds(timing.modelMs))],
    [took.beside, TEXTS.verdict.seconds(seconds(timing.overheadMs))],
    [took.models, words(byRole.join(', '), { most: 1_000 })],
    ...(variant === undefined ? [] : [[took.variant, variant] as const]),
    ...(debated === undefined ? [] : [[took.debate, took.debated(debated)] as const]),
    ...(unverified === undefined ? [] : [[took.unverified, unverified.reason] as const]),
    ...(confidence === undefined ? [] : [[took.confidence, took.sure(confidence)] as const]),
    ...(lang === undefined ? [] : [[took.language, words(lang, { most: 40 })] as const]),
    ...(versions.gavel === undefined ? [] : [[took.gavel, words(versions.gavel, { most: 40 })] as const]),
    [took.script, versions.script],
    [took.prompts, words(versions.prompts, { most: 64 })],
    [took.settings, words(versions.settings, { most: 64 })],
  ]
  return html`<dl class="pairs">${all.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export function usd(cost: number): string {
  return cost === 0 ? '0' : cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2)
}

export function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
