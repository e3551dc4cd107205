import { actionMessage } from '../contracts/facts/action-messages.ts'
import { namedSubject, type Review, reviewId } from '../contracts/facts/decision-messages.ts'
import type { RecordedRow, RecordedWord, RecordStore, Reversal } from '../contracts/ports/record.ts'

/** Most reversals that are asked for in one step. */
const MOST = 100
/** What was done where nothing was: there is nothing to reverse. */
const NOTHING_DONE = 'none'

/**
 * Asks for the reversal of actions whose verdict is overruled or retracted, and for the change of those that a person found too much. A step that is repeated after a crash asks for the same
 * under the same id.
 */
export async function askReversals(
  store: Pick<RecordStore, 'reversals' | 'settleReversal' | 'word' | 'verdict'>,
  tell: (review: Review) => Promise<void>,
): Promise<void> {
  for (const due of await store.reversals(MOST)) {
    const [action, row] = await Promise.all([store.word(due.action), store.verdict(due.verdict)])
    const asked = action === null || row === null ? null : reversalOf(action, row, due.asks)
    if (asked !== null) await tell(asked)
    await store.settleReversal(due)
  }
}

/** The request for the reversal of an action, or its change; null where there is nothing to reverse. */
function reversalOf(
  { message }: RecordedWord,
  { subject, standing, verdict }: RecordedRow,
  asks: Reversal['asks'],
): Review | null {
  const read = actionMessage.safeParse(message)
  if (!read.success || read.data.withdraw === true || read.data.what === NOTHING_DONE) return null
  if (asks === 'reversal' && !standing) return null
  const { id: action, until } = read.data
  const at = verdict.timing.decidedAt
  if (until !== undefined && until <= Date.parse(at)) return null
  const asked = {
    verdict: verdict.id,
    ...(asks === 'reversal' ? { why: asks } : { why: 'measure', measure: asks }),
    action,
  }
  return { schema: 1, id: reviewId(asked), ...namedSubject(subject), protocol: verdict.protocol, ...asked, at }
}
