import { type ActionTaken, actionMessage } from '../contracts/facts/action-messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { commentKey } from '../contracts/facts/verdict-id.ts'
import type { RecordedAppeal, RecordReader } from '../contracts/ports/record.ts'
import { actionNote, withdrawalNote } from './actions.ts'
import { heardBy } from './heard.ts'
import type { StatementBasis } from './statement.ts'

type Reader = Pick<RecordReader, 'word' | 'subject' | 'verdict' | 'transcript'>

/** An action of a tenant, and when it was withdrawn, in ms since 1970; null if the record has none of this id. */
export async function actionOf(
  record: Pick<RecordReader, 'word'>,
  tenant: string,
  id: string,
  tenants?: readonly string[],
): Promise<{
  readonly action: ActionTaken
  readonly isWithdrawn: boolean
  readonly withdrawnAt: number | null
} | null> {
  const [taken, over] = await Promise.all([
    record.word(actionNote(tenant, id), tenants),
    record.word(withdrawalNote(tenant, id), tenants),
  ])
  const read = taken === null ? undefined : actionMessage.safeParse(taken.message)
  if (read?.success !== true || read.data.withdraw === true) return null
  const withdrawnAt = over === null ? null : (actionMessage.safeParse(over.message).data?.at ?? over.at)
  return { action: read.data, isWithdrawn: over !== null, withdrawnAt }
}

/** What a statement about an action is made of, as far as the record has it. */
export async function basisOf(
  record: Reader,
  action: ActionTaken,
): Promise<StatementBasis & { readonly subject: ThreadRef | null; readonly replacedBy: Verdict | null }> {
  const { tenant, subjectId, subjectKind, postId } = action
  const id = subjectKind === 'comment' ? commentKey(postId ?? '', subjectId) : subjectId
  const subject = await record.subject({ tenant, id, kind: subjectKind })
  const verdicts = (subject?.verdicts ?? [])
    .map(({ verdict }) => verdict)
    .filter(({ decidedBy }) => decidedBy !== 'deleted')
  const verdict = restsOn(action, verdicts)
  const of = { action, verdict, subject: subject?.subject ?? null, replacedBy: replacedBy(verdict, verdicts) }
  for (const seen of verdict === null ? verdicts.toReversed() : [verdict]) {
    const content = await heardBy(record, seen)
    if (content !== null) return { ...of, content }
  }
  return { ...of, content: null }
}

/** The verdict in force, where it has another label than this one. */
function replacedBy(verdict: Verdict | null, verdicts: readonly Verdict[]): Verdict | null {
  const own = verdicts.filter(({ protocol }) => protocol === verdict?.protocol)
  const last = own.reduce<Verdict | null>((last, one) => ((last?.revision ?? 0) < one.revision ? one : last), null)
  return last?.label === verdict?.label ? null : last
}

/** The verdict that an action rests on: the one that it names, or the last of its protocol at its time. */
function restsOn({ verdictId, protocol, at }: ActionTaken, verdicts: readonly Verdict[]): Verdict | null {
  if (verdictId !== undefined) return verdicts.find(({ id }) => id === verdictId) ?? null
  const before = verdicts.filter((one) => one.protocol === protocol && Date.parse(one.timing.decidedAt) <= at)
  return before.reduce<Verdict | null>(
    (last, one) => (last === null || one.revision > last.revision ? one : last),
    null,
  )
}

/** What had been done about the subject of an appeal, and was in force when it came: by the words of the platform. */
export async function measuresAt(
  record: Pick<RecordReader, 'subject'>,
  { tenant, subject, protocol, at }: RecordedAppeal,
): Promise<readonly string[]> {
  const of = subject === null ? null : await record.subject({ tenant, id: subject.postId, kind: subject.kind })
  const told = (of?.said ?? []).flatMap(({ message }) => actionMessage.safeParse(message).data ?? [])
  const over = new Set(told.flatMap((one) => (one.withdraw === true && one.at <= at ? [one.id] : [])))
  const inForce = told.filter(
    (one): one is ActionTaken =>
      one.withdraw !== true &&
      one.at <= at &&
      (one.until ?? Number.POSITIVE_INFINITY) > at &&
      (one.protocol ?? protocol) === protocol &&
      !over.has(one.id),
  )
  return [...new Set(inForce.map(({ what }) => what))]
}
