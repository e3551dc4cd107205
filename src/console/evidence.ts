import { hash } from 'node:crypto'
import type { RecordedMessage, Transcript, Turn, Verdict } from '../contracts/facts/verdict.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { RecordedVerdict, RecordedWord } from '../contracts/ports/record.ts'
import type { CaseFile } from './case-file.ts'
import { badge, type ProtocolGuides } from './kinds.ts'
import { seconds, usd } from './notes.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** Who saves a file, when, and from where. */
export interface SaveStamp {
  /** ms since 1970 */
  readonly at: number
  readonly by: string
  readonly from: string
}

/** What begins a saved file: what it is, who saved it, and of which verdict. */
export function evidenceHead(file: CaseFile, kinds: ProtocolGuides, saved: SaveStamp): SafeMarkup {
  return html`<section aria-labelledby="evidence"><h2 id="evidence">${TEXTS.evidence.title}</h2><p>${TEXTS.evidence.intro}</p>
${pairs(factsOf(file, kinds, saved))}
<p class="faint">${TEXTS.evidence.checks}</p></section>`
}

/** What a saved file holds beyond its page, for who must show later what was decided on what: all of it, whole. */
export function evidenceBody(file: CaseFile, kinds: ProtocolGuides): SafeMarkup {
  const { row, subjectRecord, sent, argued, thread } = file
  const own = subjectRecord.verdicts.filter(({ verdict }) => verdict.protocol === row.verdict.protocol)
  return html`${chainSection(own, kinds)}
${peopleSection(file)}
${[file.transcript, sent.argued?.transcript ?? null].map((one) => (one === null ? NOTHING : turnsSection(one)))}
${file.scoredEarlier === 0 ? NOTHING : html`<p>${TEXTS.evidence.scoredEarlier(file.scoredEarlier, file.debate.marks.size)}</p>`}
${thread === null ? NOTHING : threadTable(file)}
${messagesSection([
  [TEXTS.evidence.ofVerdict, row.verdict.id, row.sent],
  [TEXTS.evidence.ofTranscript, row.verdict.id, sent.transcript],
  ...(sent.argued === null ? [] : [[TEXTS.evidence.ofTranscript, argued.id, sent.argued.json] as const]),
])}`
}

type Pair = readonly [string, TemplatePart]

function pairs(all: readonly Pair[]): SafeMarkup {
  return html`<dl class="pairs">${all.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function factsOf({ row, argued, ruled }: CaseFile, kinds: ProtocolGuides, saved: SaveStamp): Pair[] {
  const { evidence, verdict: said } = TEXTS
  const { verdict, standing } = row
  const models = Object.entries(ruled.models).map(([role, model]) => `${role} ${model}`)
  return [
    [evidence.saved, exact(saved.at)],
    [evidence.by, words(saved.by, { most: 200 })],
    ...(saved.from === '' ? [] : [[evidence.from, words(saved.from, { most: 200 })] as const]),
    [evidence.verdict, words(verdict.id, { most: 1_000 })],
    [evidence.subject, words(`${nameIn(row.subject)} (${said.tenant(verdict.tenant)})`, { most: 1_000 })],
    [evidence.protocol, verdict.protocol],
    [evidence.revision, verdict.revision],
    [evidence.label, badge(verdict, kinds)],
    [evidence.standing, standing ? TEXTS.yes : TEXTS.no],
    [evidence.how, words(verdict.decidedBy, { most: 64 })],
    [evidence.decided, exact(verdict.timing.decidedAt)],
    [evidence.models, words(models.join(', '), { most: 2_000 })],
    [said.took.script, ruled.versions.script],
    [said.took.prompts, words(ruled.versions.prompts, { most: 128 })],
    [said.took.settings, words(ruled.versions.settings, { most: 128 })],
    ...(argued.id === verdict.id ? [] : [[evidence.rests, words(argued.id, { most: 1_000 })] as const]),
  ]
}

/** A moment to the millisecond, in UTC: no reader's zone makes it another. */
function exact(at: number | string): string {
  const time = new Date(at)
  return Number.isNaN(time.getTime()) ? String(at) : time.toISOString()
}

function table(heads: readonly string[], rows: readonly (readonly TemplatePart[])[]): SafeMarkup {
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`
}

function chainSection(own: readonly RecordedVerdict[], kinds: ProtocolGuides): SafeMarkup {
  const { chainFacts: name } = TEXTS.evidence
  const { took } = TEXTS.verdict
  const block = ({ verdict: one, sent }: RecordedVerdict): SafeMarkup => {
    const person = one.decision?.by ?? one.restored?.by
    const of = one.decision?.of ?? one.restored?.of
    const why = one.decision === undefined ? one.restored?.why : one.rationale
    const facts: Pair[] = [
      [name.how, words(one.decidedBy, { most: 64 })],
      [name.at, exact(one.timing.decidedAt)],
      ...(one.supersedes === null ? [] : [[name.supersedes, words(one.supersedes, { most: 1_000 })] as const]),
      ...(person === undefined ? [] : [[name.person, words(person, { most: 200 })] as const]),
      ...(of === undefined ? [] : [[name.of, words(of, { most: 100 })] as const]),
      ...(why === undefined ? [] : [[name.why, words(why)] as const]),
      [took.script, one.versions.script],
      [took.prompts, words(one.versions.prompts, { most: 128 })],
      [took.settings, words(one.versions.settings, { most: 128 })],
      [name.sha256, words(sha256(sent))],
    ]
    return html`<h3>${words(one.id, { most: 1_000 })}: ${badge(one, kinds)}</h3>${pairs(facts)}`
  }
  return html`<section aria-labelledby="chain"><h2 id="chain">${TEXTS.evidence.chain}</h2>${own.map(block)}</section>`
}

function peopleSection({ subjectRecord, row }: CaseFile): SafeMarkup {
  const said = subjectRecord.said.filter(({ protocol }) => protocol === row.verdict.protocol)
  const none = html`<p>${TEXTS.evidence.noPeople}</p>`
  const block = ({ at, said: what, id, message }: RecordedWord): SafeMarkup =>
    html`<h3>${exact(at)}: ${words(id.startsWith(what) ? id : `${what} ${id}`, { most: 1_000 })}</h3><pre>${whole(JSON.stringify(message, null, 1))}</pre>`
  return html`<section aria-labelledby="people"><h2 id="people">${TEXTS.evidence.people}</h2>${said.length === 0 ? none : said.map(block)}</section>`
}

/** A text of any length, its characters that nobody sees made visible. */
function whole(text: string): SafeMarkup {
  return words(text, { most: Number.POSITIVE_INFINITY })
}

/** Every turn of a transcript, folded: what was asked, the answer in the model's own words, and as it was read. */
export function turnsSection({ verdictId, turns }: Transcript): TemplatePart {
  if (turns.length === 0) return NOTHING
  return html`<section><h2>${TEXTS.evidence.turns}: ${words(verdictId, { most: 1_000 })}</h2>${turns.map(turnBlock)}</section>`
}

function turnBlock(turn: Turn, at: number): SafeMarkup {
  const { evidence } = TEXTS
  const { stage, role, model, startedAt, ms, usage, calls, messages, raw, answer, failed, memo } = turn
  const asked = [...new Set(calls.flatMap((call) => call.model ?? []))].join(', ')
  const facts: Pair[] = [
    [evidence.turnFacts.model, words(model, { most: 200 })],
    ...(asked === '' ? [] : [[evidence.turnFacts.asked, words(asked, { most: 400 })] as const]),
    [evidence.turnFacts.began, words(startedAt, { most: 40 })],
    [evidence.turnFacts.took, seconds(ms)],
    [evidence.turnFacts.cost, usd(usage.costUsd)],
    [evidence.turnFacts.calls, words(calls.map(({ id, outcome }) => `${id} ${outcome}`).join(', '), { most: 4_000 })],
  ]
  return html`<details><summary>${words(evidence.turn(at + 1, stage, role), { most: 300 })}</summary>
${pairs(facts)}${memo ? html`<p>${TEXTS.verdict.fromMemory}</p>` : NOTHING}
<h3>${evidence.asked}</h3>${messages.map(messageBlock)}
<h3>${evidence.answered}</h3><pre>${whole(failed === undefined ? (raw ?? '') : TEXTS.verdict.failed(`${failed.code}: ${failed.detail}`))}</pre>
<h3>${evidence.read}</h3><pre>${whole(JSON.stringify(answer, null, 1) ?? '')}</pre></details>`
}

function messageBlock(message: RecordedMessage): SafeMarkup {
  const said =
    'sameAs' in message
      ? TEXTS.evidence.sameAs(message.sameAs.turn, message.sameAs.message)
      : [message.content, ...(message.images ?? [])].join('\n')
  return html`<p class="faint">${message.role}</p><pre>${whole(said)}</pre>`
}

/** The post and all its comments, whole, with what each was scored. */
export function threadTable({ thread, debate: { marks } }: Pick<CaseFile, 'thread' | 'debate'>): TemplatePart {
  const comments = thread?.comments ?? []
  const rows = comments.map(({ id, author = '', createdAt, parentId = '', text }): TemplatePart[] => [
    words(id, { most: 1_000 }),
    words(author, { most: 200 }),
    exact(createdAt),
    words(parentId, { most: 1_000 }),
    String(marks.get(id)?.score ?? ''),
    whole(text),
  ])
  return html`<section aria-labelledby="whole-thread"><h2 id="whole-thread">${TEXTS.evidence.thread(comments.length)}</h2>
<pre>${whole(JSON.stringify(thread?.post, null, 1))}</pre>${comments.length === 0 ? NOTHING : table(TEXTS.evidence.commentHeads, rows)}</section>`
}

/** In Base64, so that no character of a stranger's is lost or does anything, and their hashes can be checked. */
function messagesSection(all: readonly (readonly [string, Verdict['id'], string | null])[]): SafeMarkup {
  return html`<section aria-labelledby="messages"><h2 id="messages">${TEXTS.evidence.messages}</h2><p>${TEXTS.evidence.messagesHow}</p>
${all.map(
  ([what, id, json]) => html`<h3>${what} ${words(id, { most: 1_000 })}</h3>
${json === null ? html`<p>${TEXTS.evidence.none}</p>` : html`<p class="hash">${sha256(json)}</p><details><summary>${TEXTS.show}</summary><pre class="base64">${Buffer.from(json).toString('base64')}</pre></details>`}`,
)}</section>`
}

function sha256(json: string): string {
  return hash('sha256', json, 'hex')
}
