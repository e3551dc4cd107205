import { Drawing, indented } from '../../../cli/drawing.ts'
import { counted, printable, type Terminal, table } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import type { FilteredQuestions } from '../../../contracts/facts/filtered.ts'
import type { Verdict } from '../../../contracts/facts/verdict.ts'
import { nameIn } from '../../../contracts/facts/verdict-id.ts'
import { type InspectedCase, type ShownWait, WITHHELD } from '../../../recovery/inspection/cases.ts'
import type { Inspection } from '../../../recovery/inspection/inspection.ts'
import type { ShownVerdict } from '../../../recovery/inspection/published.ts'
import type { SubjectInspection } from '../../../recovery/inspection/subject-status.ts'
import { commentsJudged, verdictLine } from '../verdict-line.ts'
import { type Minutes, printDebates } from './transcript.ts'

/** Most messages, answers and waits that are listed one by one; of more messages, the first and the last of them. */
const MOST_LISTED = 40
const MOST_TEXT = 280
/** Most proposals, and most requests for review, that are listed. */
const MOST_BENEATH = 10

/** Everything that is known of a subject, for a person: the answer first, then what it rests on. */
export function printInspection(
  shown: SubjectInspection,
  {
    transcript = false,
    prompts = false,
    offsets = false,
  }: { readonly transcript?: boolean; readonly prompts?: boolean; readonly offsets?: boolean },
  {
    terminal,
    meanings,
    traces = {},
  }: {
    readonly terminal: Terminal
    readonly meanings: Minutes['meanings']
    /** The ids of traces, by verdict or case. */
    readonly traces?: Readonly<Record<string, string>>
  },
): void {
  const { subject, standing, thread, cases, verdicts } = shown
  const out = (line: string | Drawing) => terminal.out(line)
  out(`${subject.kind} ${printable(nameIn(subject), 200)} of tenant ${subject.tenant}`)
  out(printable(standing, 2_000))
  const traced = (id: string) => {
    const traceId = entryOf(traces, id)
    return traceId === undefined ? [] : [`trace ${traceId}`]
  }
  const newest = new Map(verdicts.map((one) => [one.verdict.protocol, one]))
  const isNewest = (one: ShownVerdict) => newest.get(one.verdict.protocol) === one
  for (const one of newest.values())
    section(
      `Verdict ${printable(one.verdict.id, 200)}`,
      [...verdictIn(one, meanings, offsets), ...traced(one.verdict.id)],
      out,
    )
  if (shown.proposals.length + shown.reviews.length > 0) section('Beneath what people decided', beneathIn(shown), out)
  if (thread !== null) section('Thread', threadIn(shown), out)
  for (const one of cases) section(`Case ${printable(one.id, 200)}`, [...caseIn(one, shown.at), ...traced(one.id)], out)
  if (transcript) printDebates(shown, { prompts, meanings }, terminal)
  const earlier = verdicts.filter((one) => !isNewest(one))
  if (earlier.length > 0)
    section(
      'Earlier verdicts',
      earlier.flatMap((one) => [verdictLine(one.verdict), `  ${publication(one, offsets)}`]),
      out,
    )
  section('Messages', messagesIn(shown, offsets), out)
  if (!transcript && verdicts.length > 0 && !shown.deleted)
    out('\n--transcript shows the debates, with each comment beside its score; --offsets where the records lie.')
}

/** The newest verdict of a protocol: what was decided, in its paper's words too, and why. */
function verdictIn(one: ShownVerdict, meanings: Minutes['meanings'], offsets: boolean): string[] {
  const { verdict } = one
  const scores = Object.entries(verdict.scores).map(
    ([name, score]) => `${printable(name, 30)} ${Math.round(score * 1000) / 1000}`,
  )
  return [
    `${verdict.label === null ? withoutLabel(verdict) : `${printable(verdict.label, 60)}${inPaper(verdict, meanings)}`}, ${verdict.final ? 'for good' : 'for now'}, decided by ${verdict.decidedBy}${verdict.rounds === 0 ? '' : ` after ${counted(verdict.rounds, 'round')} of debate`}`,
    ...peopleIn(verdict),
    ...(verdict.rationale === '' ? [] : [printable(verdict.rationale, 1_000)]),
    ...clausesIn(verdict),
    ...(scores.length === 0 ? [] : [`scores: ${scores.join(', ')}`]),
    ...commentsJudged(verdict).map((words) => `judged: ${words}`),
    ...sinceSchemaTwo(verdict),
    ...verdict.degraded.map((why) => `degraded: ${printable(why, 500)}`),
    ...(verdict.filtered ?? []).map((filtered) => printable(filteredLine(filtered), 500)),
    publication(one, offsets),
  ]
}

/** The policy and the variant that it was judged by, and the clauses that it cites. */
function clausesIn({ policy, clauses = [], variant }: Verdict): string[] {
  const cited = clauses.map(({ id, quote }) => (quote === undefined ? id : `${id} “${quote}”`)).join(', ')
  return [
    ...(cited === '' ? [] : [`clauses: ${printable(cited, 500)}`]),
    ...(policy === undefined ? [] : [`policy: ${printable(`${policy.name}, version ${policy.version}`, 200)}`]),
    ...(variant === undefined ? [] : [`variant: ${printable(variant, 60)}`]),
  ]
}

/** Whether there was a debate, how sure the verdict is, and of which language: what verdicts say since schema 2, word for word. */
function sinceSchemaTwo({ debated, unverified, confidence, lang }: Verdict): string[] {
  const { value = null, how = null } = confidence ?? {}
  return [
    ...(debated === undefined
      ? []
      : [`debate: ${debated.held ? 'held' : 'none'} (${debated.why})${withoutIt(debated)}`]),
    ...(unverified === undefined ? [] : [`unverified: ${unverified.reason}`]),
    ...(value === null ? [] : [`confidence: ${Math.round(value * 1000) / 1000}${how === null ? '' : ` (${how})`}`]),
    ...(lang === undefined ? [] : [`language: ${printable(lang, 40)}`]),
  ]
}

/** Of a control: the label that its debate replaced, or confirmed. */
function withoutIt({ without }: NonNullable<Verdict['debated']>): string {
  return without === undefined ? '' : `; without it: ${printable(without ?? 'no label', 60)}`
}

/** Who brought it about, if a person did. */
function peopleIn({ decision, restored }: Verdict): string[] {
  if (decision !== undefined)
    return [
      printable(
        `by ${decision.by}, ${decision.against === null ? 'before any other' : `over ${decision.against}`}`,
        400,
      ),
    ]
  if (restored === undefined) return []
  const from = restored.from === null ? '' : ` says what ${restored.from} said;`
  return [printable(`${from.trim()} ${restored.by} has withdrawn the human verdict: ${restored.why}`.trim(), 1_000)]
}

/** What machines said beneath it, and what it is to be looked at for. */
function beneathIn({ proposals, reviews }: Inspection): string[] {
  const proposed = proposals.map(({ id, label, differs, beneath }) =>
    printable(`${id} says ${label ?? 'no label'}${differs ? ', which differs' : ''}, beneath ${beneath}`, 400),
  )
  const asked = reviews.map(({ why, verdict, label, by, at }) =>
    printable(
      `look again at ${verdict}: ${why}${label === undefined ? '' : ` (${label})`}${by === undefined ? '' : ` by ${by}`}, ${at}`,
      400,
    ),
  )
  return [...lastOf(proposed), ...lastOf(asked)]
}

const lastOf = (lines: readonly string[]) =>
  lines.length <= MOST_BENEATH ? lines : [`${lines.length - MOST_BENEATH} earlier ones`, ...lines.slice(-MOST_BENEATH)]

/** The word of the paper for this label, where models answer with such a word alone. */
function inPaper({ protocol, label }: Verdict, meanings: Minutes['meanings']): string {
  const words = Object.entries(meanings.get(protocol) ?? {}).flatMap(([word, means]) => (means === label ? [word] : []))
  return words.length === 1 ? ` (to the models: ${words[0]})` : ''
}

function withoutLabel({ decidedBy }: Verdict): string {
  if (decidedBy === 'deleted') return 'retracted'
  return decidedBy === 'none' ? 'no label' : 'scored'
}

function publication({ verdict, publishedAt, partition, offset, records }: ShownVerdict, offsets: boolean): string {
  const where = offsets ? ` as ${partition}@${offset}` : ''
  const times = records > 1 ? `, ${records} times` : ''
  return `published ${iso(publishedAt)}${where}${times}; ${counted(verdict.usage.calls, 'call')}, $${verdict.usage.costUsd.toFixed(4)}; overhead ${verdict.timing.overheadMs} ms, models ${verdict.timing.modelMs} ms`
}

/** What an endpoint's filter refused, for a person. */
function filteredLine({ stage, model, calls, found, comments }: FilteredQuestions): string {
  const what = found.map(({ category, severity }) => (severity === undefined ? category : `${category}, ${severity}`))
  const whose = comments === undefined ? '' : `; of comments ${comments.slice(0, 5).join(', ')}`
  const named = what.length === 0 ? 'it names no category' : what.join('; ')
  return `${stage}: the filter of ${model} refused ${counted(calls, 'call')} (${named})${whose}`
}

type Line = string | Drawing

function section(title: string, lines: readonly Line[], out: (line: Line) => void): void {
  out('')
  out(title)
  for (const line of lines) out(line instanceof Drawing ? indented(line, 2) : `  ${line}`)
}

function messagesIn({ messages, read }: Inspection, offsets: boolean): Line[] {
  const rows = messages.map(({ topic, partition, offset, receivedAt, what, id, deletes, outcome, detail }) => [
    iso(receivedAt),
    ...(offsets ? [`${topic}/${partition}@${offset}`] : []),
    `${deletes ? 'deletion of ' : ''}${what}`,
    printable(id ?? '?', 40),
    `${outcome ?? 'not known'}${detail === null ? '' : ` (${printable(detail, 200)})`}`,
  ])
  const listed =
    rows.length <= MOST_LISTED ? rows : [...rows.slice(0, MOST_LISTED / 2), ...rows.slice(-MOST_LISTED / 2)]
  const left = rows.length - listed.length
  return [
    ...(rows.length === 0
      ? ['none']
      : [table(['received', ...(offsets ? ['topic/partition@offset'] : []), 'what', 'id', 'outcome'], listed)]),
    ...(left === 0 ? [] : [`and ${counted(left, 'message')} between these (--json has them all)`]),
    ...(offsets ? [readLine(read)] : []),
  ]
}

function readLine(read: Inspection['read']): string {
  return `read: ${read.map(({ topic, partition, records, fromBeginning }) => `${records} of ${topic}/${partition}${fromBeginning ? '' : ' (its newest)'}`).join(', ')}`
}

function threadIn({ thread, deleted, paused }: Inspection): string[] {
  if (thread === null) return []
  const { status, text, createdAt, comments, version, final, nextAge, dueSince, streamNow } = thread
  if (deleted || status === 'deleted') return ['deleted: nothing is kept but that']
  const { accepted, kept, late, overAuthor } = comments
  return [
    ...(text === null ? [] : [`"${printable(text, MOST_TEXT)}"`]),
    `${status}, version ${version}${createdAt === null ? '' : `, posted ${iso(createdAt)}`}${final ? ', final' : ''}`,
    `comments: ${accepted} accepted, ${kept} kept, ${late} late, ${overAuthor} above their author's share`,
    `due: ${dueSince === null ? 'not at once' : `since ${iso(dueSince)}`}; next checkpoint by age: ${nextAge === null ? 'none' : iso(nextAge)}; the stream's clock: ${streamClock(streamNow)}`,
    ...(paused.length === 0 ? [] : [`protocols that are paused: ${paused.join(', ')}`]),
  ]
}

function caseIn(
  { state, withheld, openedAt, deadline, takeovers, round, answers, waits, usage, note }: InspectedCase,
  at: number,
): Line[] {
  return [
    `${state}, opened ${iso(openedAt)} (${ago(at - openedAt)}), deadline ${iso(deadline)}, taken up ${counted(takeovers, 'time')}`,
    `${answers.length} answered, ${waits.length} not yet${round === null ? '' : `, in round ${round}`}; ${counted(usage.calls, 'call')}, $${usage.costUsd.toFixed(4)}`,
    ...(Math.max(answers.length, waits.length) > MOST_LISTED
      ? [`the last ${MOST_LISTED} answers and the first ${MOST_LISTED} waits are listed; --json has them all`]
      : []),
    ...(withheld ? [`it ${WITHHELD}`] : []),
    ...(note === null ? [] : [printable(note, 300)]),
    ...(answers.length === 0
      ? []
      : [
          table(
            ['ask', 'stage', 'role', 'model', 'ms', 'calls', '$', ''],
            answers
              .slice(-MOST_LISTED)
              .map(({ key, stage, role, label, model, ms, calls, costUsd, memo, failed }) => [
                key,
                stage,
                named(role, label),
                printable(model, 40),
                String(Math.round(ms)),
                String(calls),
                costUsd.toFixed(5),
                failed === null ? (memo ? 'from the memo' : '') : `failed: ${failed.code}`,
              ]),
          ),
        ]),
    ...(waits.length === 0
      ? []
      : [
          table(
            ['ask', 'stage', 'role', 'waits', 'tries', 'deferred in all'],
            waits
              .slice(0, MOST_LISTED)
              .map((wait) => [
                wait.key,
                wait.stage,
                named(wait.role, wait.label),
                waitIn(wait, at),
                String(wait.tries),
                ago(wait.heldMs),
              ]),
          ),
        ]),
  ]
}

function waitIn({ state, readyAt, why }: ShownWait, at: number): string {
  const because = why === null ? '' : `: ${printable(why, 200)}`
  if (readyAt === null) return 'has no job; the reconciler gives it one'
  if (state === 'deferred') return `until ${iso(readyAt)}, ${ago(readyAt - at)} more${because}`
  if (state === 'active') return `a worker has it, since ${ago(at - readyAt)}${because}`
  return `for a worker, since ${ago(at - readyAt)}${because}`
}

function named(role: string, label: string | null): string {
  return label === null ? role : `${role} (${printable(label, 40)})`
}

function ago(ms: number): string {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

function streamClock(now: NonNullable<Inspection['thread']>['streamNow']): string {
  if (now === 'ended') return 'at the end of the stream'
  return now === 'unread' ? 'not known, for some partition has not been read' : iso(now)
}
