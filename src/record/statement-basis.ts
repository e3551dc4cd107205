import { type ActionTaken, actionMessage } from '../contracts/facts/action-messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { commentKey } from '../contracts/facts/verdict-id.ts'
import type { RecordReader } from '../contracts/ports/record.ts'
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
): Promise<StatementBasis & { readonly subject: ThreadRef | null }> {
  const { tenant, subjectId, subjectKind, postId } = action
  const id = subjectKind === 'comment' ? commentKey(postId ?? '', subjectId) : subjectId
  const subject = await record.subject({ tenant, id, kind: subjectKind })
  const verdicts = (subject?.verdicts ?? [])
    .map(({ verdict }) => verdict)
    .filter(({ decidedBy }) => decidedBy !== 'deleted')
  const verdict = restsOn(action, verdicts)
  for (const seen of verdict === null ? verdicts.toReversed() : [verdict]) {
    const content = await heardBy(record, seen)
    if (content !== null) return { action, verdict, content, subject: subject?.subject ?? null }
  }
  return { action, verdict, content: null, subject: subject?.subject ?? null }
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
