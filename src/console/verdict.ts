import { z } from 'zod'
import { BY_HAND, UNDERSTUDY } from '../contracts/facts/by-hand.ts'
import { may } from '../contracts/facts/person-roles.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { RecordReader, SubjectRecord } from '../contracts/ports/record.ts'
import { argumentSection, benchSection, restSection, voicesSection } from './argument.ts'
import type { BlindReviews } from './blind-review.ts'
import { CLOSED } from './blind-review.ts'
import { type CaseFile, caseFile, placeIn } from './case-file.ts'
import { covered, coverOf, coversOf, uncoveredAt } from './covers.ts'
import { decisionNotice, decisionSection } from './decision-form.ts'
import { evidenceBody, evidenceHead } from './evidence.ts'
import { goldenForm } from './golden.ts'
import { withoutGolden } from './golden-answers.ts'
import { badge, findingOf, howDecided, type ProtocolGuides, sayingOf } from './kinds.ts'
import { callsSection, isDebated, missingSection, sideCounts, sinceSection, timelineSection } from './notes.ts'
import type { IsOwnCase } from './own-case.ts'
import { type JustDecided, namesIn, undoneAgo } from './own-decisions.ts'
import type { Page, PageAnswer } from './page.ts'
import { toFile } from './page-file.ts'
import { notesSection } from './post-notes.ts'
import { type PostViewParts, postCard, savedCard } from './post-view.ts'
import type { Session } from './sessions.ts'
import { stanceSection } from './stance.ts'
import { storyNote } from './story-facts.ts'
import { TEXTS } from './texts.ts'
import { commentsSection, shownComments, THREAD_PAGE, threadBody } from './thread.ts'
import { html, link, moment, NOTHING, type SafeMarkup, shown, type TemplatePart, when, words } from './view.ts'
import { whySection } from './why.ts'

interface VerdictParts {
  readonly record: Pick<RecordReader, 'verdict' | 'subject' | 'transcript'>
  readonly kinds: ProtocolGuides
  /** The stylesheet, for a page that is saved. */
  readonly style: string
  /** null: nobody can decide here. */
  readonly isOwnCase: IsOwnCase | null
  readonly blinds: BlindReviews
  readonly clock: Clock
  /** Where browsers have the console; empty where it is not said. */
  readonly publicUrl: string
  readonly view: PostViewParts
  readonly decided: Pick<JustDecided, 'copiesOf'>
}

const NOTHING_HERE: PageAnswer = {
  title: TEXTS.wrong.nothing.title,
  body: html`<h1>${TEXTS.wrong.nothing.title}</h1><p>${TEXTS.wrong.nothing.says} <a href="/search">${TEXTS.search.title}</a></p>`,
  status: 404,
}

/** A verdict with its whole argument; the same as one file; and its thread. */
export function verdictPages({
  record,
  kinds,
  style,
  isOwnCase,
  blinds,
  clock,
  publicUrl,
  view,
  decided,
}: VerdictParts): Page[] {
  const read = (query: URLSearchParams, session: Session) => caseFile(query.get('id') ?? '', { record, kinds, session })
  /** What a person may not read now, since they give a second opinion on it. */
  const isClosed = ({ row }: CaseFile, { by }: Session) => blinds.isClosed(by, row.subject)
  return [
    {
      method: 'GET',
      path: '/verdict',
      right: 'see',
      showsLabels: true,
      async answer({ query, session }) {
        const file = await read(query, session)
        if (file === null) return NOTHING_HERE
        if (isClosed(file, session)) return CLOSED
        const { id, tenant } = file.row.verdict
        const decides = isOwnCase !== null && may(session.grants, 'decide', tenant)
        const decide = decides ? decisionSection(file, session, await isOwnCase(id, session)) : NOTHING
        const tools = toolsOf(file, decide !== NOTHING)
        const golden = decides && may(session.grants, 'overrule', tenant) ? goldenForm(file, session) : NOTHING
        const notice = decisionNotice(query.get('done'), undoneAgo(query))
        const news = newsPlace(file)
        const body = verdictBody(file, kinds, {
          tools,
          card: await postCard(file, session, {}, view),
          uncovered: uncoveredAt(id, 'comments'),
          cover: coverOf(file, { kinds, choice: await coversOf(view.people, session.by) }),
        })
        return {
          title: titleOf(file),
          body: html`${notice}${together(decided.copiesOf(session.by, id))}${news}${body}${decide}${golden}${decides ? await notesSection(file.row, session, view) : NOTHING}`,
        }
      },
    },
    {
      method: 'GET',
      path: '/verdict/news',
      right: 'see',
      isByItself: true,
      async answer({ query, session }) {
        const row = await record.verdict(query.get('id') ?? '', session.tenants)
        if (row === null || blinds.isClosed(session.by, row.subject)) return { news: null }
        const { tenant, postId: id, kind } = row.subject
        const whole = await record.subject({ tenant, id, kind })
        if (whole === null) return { news: null }
        const subjectRecord = withoutGolden(whole, session.by)
        if (seenMark(subjectRecord) === query.get('seen')) return { news: null }
        const isProposal = subjectRecord.said.at(-1)?.said === 'proposal'
        return { news: isProposal ? TEXTS.verdict.proposalCame : TEXTS.verdict.somethingCame }
      },
    },
    {
      method: 'GET',
      path: '/verdict/file',
      right: 'see',
      showsLabels: true,
      async answer({ query, session }) {
        const file = await read(query, session)
        if (file === null) return NOTHING_HERE
        if (isClosed(file, session)) return CLOSED
        const saved = { at: clock(), by: session.by, from: publicUrl }
        const isGone = file.subjectRecord.deletedAt !== null
        const card = await savedCard(file, view)
        const page = verdictBody(file, kinds, { tools: NOTHING, card, uncovered: '', cover: null })
        const body = isGone ? page : html`${evidenceHead(file, kinds, saved)}${page}${evidenceBody(file, kinds)}`
        return { file: toFile(fileTitle(file, saved.at), body, { style }), name: fileName(file.row.verdict) }
      },
    },
    {
      method: 'GET',
      path: '/thread',
      right: 'see',
      showsLabels: true,
      async answer({ query, session }) {
        const file = await read(query, session)
        if (file === null || file.thread === null) return NOTHING_HERE
        if (isClosed(file, session)) return CLOSED
        const { thread, debate, row, ruled } = file
        const from = Math.floor(placeIn(query, 'from') / THREAD_PAGE) * THREAD_PAGE
        return {
          title: TEXTS.thread.title,
          body: threadBody(thread, {
            verdictId: row.verdict.id,
            card: await postCard(file, session, {}, view),
            from,
            weighed: { marks: debate.marks, evidence: ruled.evidence },
          }),
        }
      },
    },
  ]
}

/** The copies that the same decision of this person counted for: to withdraw one leaves them. */
function together(copies: readonly string[]): TemplatePart {
  if (copies.length === 0) return NOTHING
  return html`<p class="notice">${TEXTS.verdict.together(copies.length)} ${copies.map((id) => html`<a href="${link('/verdict', { id })}">${words(namesIn(id), { most: 100 })}</a> `)}</p>`
}

/** Changes when something comes of a subject: what a page shows of it is older then. */
function seenMark({ verdicts, said, deletedAt }: SubjectRecord): string {
  return [verdicts.length, said.at(-1)?.id ?? '', said.at(-1)?.at ?? '', deletedAt ?? ''].join('.')
}

/** The place where a page's script shows that something has come since it was drawn. */
function newsPlace({ row, subjectRecord }: CaseFile): SafeMarkup {
  const news = link('/verdict/news', { id: row.verdict.id, seen: seenMark(subjectRecord) })
  return html`<p class="notice news" role="status" data-news="${news}" hidden><span></span> <a href="${link('/verdict', { id: row.verdict.id })}">${TEXTS.show}</a></p>`
}

function titleOf({ row: { verdict } }: CaseFile): string {
  return `${sayingOf(verdict).slice(0, 64)} · ${TEXTS.verdict.title}`
}

function fileTitle({ row: { verdict } }: CaseFile, at: number): string {
  return TEXTS.evidence.fileTitle(shown(verdict.id, 200), new Date(at).toISOString().slice(0, 10))
}

function verdictBody(
  file: CaseFile,
  kinds: ProtocolGuides,
  {
    tools,
    card,
    uncovered,
    cover,
  }: { tools: TemplatePart; card: TemplatePart; uncovered: string; cover: string | null },
): SafeMarkup {
  const { row, subjectRecord, ruled, argued, before, thread, debate, kind, transcript } = file
  const { verdict } = row
  if (subjectRecord.deletedAt !== null) return deletedBody(file)
  const isOverruled = verdict.decidedBy === 'human'
  const reasons = uncoveredAt(verdict.id, 'reasons')
  const { placeOf, shown } = placesIn(file)
  const nameOf = (id: string): TemplatePart => {
    const said = thread?.comments.find((comment) => comment.id === id)
    const at = placeOf(id)
    const name = words(said?.author ?? id, { most: 40 })
    return at === null ? html`<span class="chip">${name}</span> ` : html`<a class="chip" href="${at}">${name}</a> `
  }
  const sideShown = kind?.reading?.debate?.showsComments === true
  const sides = sideShown ? ([ruled.evidence.support, ruled.evidence.oppose] as const) : ([[], []] as const)
  const argument: TemplatePart[] = [
    voicesSection(debate, kind),
    argumentSection({ debate, kind, comments: thread?.comments ?? [], shown: sides, placeOf }),
    benchSection(debate, kind, {
      rationale: ruled.rationale,
      title: isOverruled ? TEXTS.verdict.overruledBench : TEXTS.verdict.bench,
    }),
  ]
  const isArgued = argument.some((part) => part !== NOTHING)
  return html`${headline(file, kinds, cover)}${tools}${cover === null ? NOTHING : html`<p class="faint">${TEXTS.covers.here} <a href="/covers">${TEXTS.covers.title}</a></p>`}
${thread === null ? html`<p class="notice">${file.isUnreadable ? TEXTS.verdict.unreadable : TEXTS.verdict.noTranscript}</p>` : card}
${storyNote(file)}${whySection(file, { cover })}
${argued.id === (isOverruled ? verdict : ruled).id ? NOTHING : html`<p class="notice">${(isOverruled ? TEXTS.verdict.overruled : TEXTS.verdict.carried)(argued.revision)} <a href="${link('/verdict', { id: argued.id })}">${TEXTS.verdict.openStanding}</a></p>`}
${missingSection(file)}
${transcript !== null && transcript.cut.length > 0 ? html`<p class="notice">${TEXTS.verdict.cut} ${words(transcript.cut.join('; '), { most: 400 })}</p>` : NOTHING}
${standInNote(ruled)}
${cover === null || !isArgued ? argument : covered(TEXTS.verdict.argumentCovered(cover), argument, { uncovered: reasons })}
${stanceSection(file, kinds)}
${thread === null ? NOTHING : commentsSection(thread, { verdictId: verdict.id, weighed: { marks: debate.marks, evidence: ruled.evidence, counts: sideCounts(file) }, shown, isDebated: isDebated(file), uncovered })}
${restSection(debate, cover === null ? null : { why: cover, uncovered: reasons })}
${sinceSection({ verdict, before, kinds, nameOf })}
${timelineSection(subjectRecord, { verdict, kinds, posted: thread?.post ?? null, cover })}
${callsSection(ruled, transcript)}`
}

/** That no language model answered, and what did in its place. */
function standInNote({ models }: Pick<Verdict, 'models'>): TemplatePart {
  // A lookup asks no model.
  const answered = Object.entries(models).flatMap(([role, model]) => (role === 'library' ? [] : [model]))
  const note = (name: string, says: (all: boolean) => string): TemplatePart => {
    const count = answered.filter((model) => model === name).length
    return count === 0 ? NOTHING : html`<p class="notice">${says(count === answered.length)}</p>`
  }
  return [note(BY_HAND, TEXTS.verdict.byHand), note(UNDERSTUDY, TEXTS.verdict.byUnderstudy)]
}

/** Which comments stand in the page, and the address of each comment's place. */
function placesIn({ row, ruled, thread }: CaseFile) {
  const counted = new Set([...ruled.evidence.support, ...ruled.evidence.oppose])
  const shown = thread === null ? [] : shownComments(thread, counted)
  const places = new Map(thread?.comments.map(({ id }, at) => [id, at]))
  const inPage = new Set(shown)
  const placeOf = (id: string): string | null => {
    const at = places.get(id)
    if (at === undefined) return null
    if (inPage.has(at)) return `#c${at}`
    return `${link('/thread', { id: row.verdict.id, from: String(at) })}#c${at}`
  }
  return { placeOf, shown }
}

/** What people write may repeat the post's words. */
function whyWithdrawn(why: string, cover: string | null): TemplatePart {
  const said = html`<span>${words(why, { most: 400 })}</span>`
  return cover === null ? said : covered(TEXTS.verdict.reasonsCovered(cover), said, { isBeside: true })
}

/** What it was found to be, what that means, how, and whether it may still change. */
function headline({ row, subjectRecord, kind }: CaseFile, kinds: ProtocolGuides, cover: string | null): SafeMarkup {
  const { verdict, standing, contested, conflicting, erased } = row
  const { final, decidedBy, protocol, revision, tenant, timing } = verdict
  const own = subjectRecord.verdicts.filter((one) => one.verdict.protocol === protocol)
  const newest = own.find((one) => one.standing)?.verdict
  const last = own.reduce((most, one) => Math.max(most, one.verdict.revision), revision)
  const other = own
    .map((one) => one.verdict)
    .filter((one) => one.revision < revision && sayingOf(one) !== sayingOf(verdict))
  const was = other.reduce<Verdict | undefined>(
    (late, one) => (late !== undefined && late.revision > one.revision ? late : one),
    undefined,
  )
  const proposal = subjectRecord.said.findLast((one) => one.said === 'proposal' && one.protocol === protocol)
  return html`<header class="headline"><h1>${badge(verdict, kinds)} <small>${final ? TEXTS.verdict.final : TEXTS.verdict.forNow}</small></h1>
<p class="how">${findingOf(verdict, kind)} ${words(howDecided(verdict))}${contested ? html` ${TEXTS.verdict.contested}` : NOTHING}${when(verdict.decision?.by, (by) => html` ${TEXTS.row.by} ${words(by, { most: 60 })}.`)}${when(was, (one) => html` ${words(TEXTS.verdict.was(sayingOf(one), one.revision), { most: 160 })}`)}</p>
${when(verdict.restored, ({ by, why }) => html`<p class="how">${words(TEXTS.verdict.withdrew(by), { most: 160 })} ${whyWithdrawn(why, cover)}</p>`)}
<p class="faint">${TEXTS.verdict.by(protocol)} · ${TEXTS.verdict.ofRevisions(revision, last)} · ${TEXTS.verdict.at} ${moment(timing.decidedAt)} · ${words(TEXTS.verdict.tenant(tenant), { most: 80 })}</p>
${standing && verdict.decision === undefined ? html`<p class="faint">${final ? TEXTS.verdict.finalMeans : TEXTS.verdict.forNowMeans}</p>` : NOTHING}
${standing || newest === undefined ? NOTHING : html`<p class="notice">${TEXTS.verdict.notStanding} <a href="${link('/verdict', { id: newest.id })}">${TEXTS.verdict.openStanding}</a></p>`}
${verdict.decision?.unseen === true ? html`<p class="notice">${TEXTS.verdict.unseenDecision}</p>` : NOTHING}${standing ? disputes(subjectRecord, verdict) : NOTHING}
${when(verdict.opposed, ({ since }) => html`<p class="notice">${TEXTS.verdict.opposed} ${moment(since)}.</p>`)}
${conflicting ? html`<p class="notice">${TEXTS.verdict.conflicting}</p>` : NOTHING}
${erased ? html`<p class="notice">${TEXTS.verdict.erased}</p>` : NOTHING}
${proposal === undefined || decidedBy !== 'human' || !standing ? NOTHING : html`<p class="notice">${TEXTS.verdict.proposal} <strong>${words(proposal.label ?? TEXTS.row.noLabel, { most: 64 })}</strong>${proposal.label === verdict.label ? `, ${TEXTS.verdict.proposalSame}` : ''} · ${moment(proposal.at)}</p>`}
</header>`
}

const dispute = z.object({ why: z.literal('disputed'), verdict: z.string() })

/** Which other labels second opinions gave. */
function disputes({ said }: SubjectRecord, { id }: Verdict): TemplatePart {
  const labels = said.flatMap(({ said: what, label, message }) => {
    const read = what === 'review' ? dispute.safeParse(message).data : undefined
    return read?.verdict === id && label !== null ? [label] : []
  })
  if (labels.length === 0) return NOTHING
  return html`<p class="notice">${TEXTS.verdict.disputed} ${words([...new Set(labels)].join(', '), { most: 200 })}</p>`
}

function toolsOf({ row }: CaseFile, canDecide: boolean): SafeMarkup {
  const { id } = row.verdict
  return html`<p class="tools">${canDecide ? html`<a class="button" href="#decide">${TEXTS.decide.title}</a> ` : NOTHING}<button type="button" data-copy="${link('/verdict', { id })}" data-done="${TEXTS.verdict.copied}" hidden>${TEXTS.verdict.copy}</button> <button type="button" data-print="yes" hidden>${TEXTS.verdict.print}</button> <a class="button" href="${link('/verdict/file', { id })}" title="${TEXTS.verdict.saveNote}">${TEXTS.verdict.save}</a></p>`
}

/** Of a deleted subject ids and times alone. */
function deletedBody({ row: { verdict }, subjectRecord }: CaseFile): SafeMarkup {
  return html`<h1>${TEXTS.verdict.title}</h1><p class="notice">${TEXTS.verdict.deleted}</p>
<dl class="fields"><dt>${TEXTS.verdict.id}</dt><dd>${words(verdict.id, { most: 700 })}</dd><dt>${TEXTS.verdict.judged}</dt><dd>${moment(verdict.timing.decidedAt)}</dd><dt>${TEXTS.decidedBy.deleted?.(0) ?? ''}</dt><dd>${moment(subjectRecord.deletedAt)}</dd></dl>`
}

/** What a saved verdict is called. */
function fileName({ id }: Pick<Verdict, 'id'>): string {
  return `gavel-${id.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 100)}.html`
}
