import { type Hook, statementDeliveriesOf } from '../../../producers/webhooks/matching.ts'
import { actionMessage } from '../../contracts/facts/action-messages.ts'
import { readVerdictId } from '../../contracts/facts/verdict-id.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { RecordStore } from '../../contracts/ports/record.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { KEEP_DELIVERY_MS, type Webhooks } from '../../contracts/ports/webhooks.ts'
import type { ReasonsParts } from '../../door/reasons.ts'
import { GIVEN_UP } from '../../record/actions.ts'

/** Statements that are sent in one step. */
const MOST = 100
/** How long a statement waits for what it is made of, as topics are read in any order: so much must be read of what came after its action. And how often it is tried meanwhile, in ms. */
const [WITHIN_MS, AGAIN_MS] = [3_600_000, 60_000]
/** What was done where nothing was: there is nothing to state. */
const NOTHING_DONE = 'none'

/**
 * Sends the statements of actions that were taken to the receivers that ask for them, each once. One that comes again within the time for
 * which deliveries are remembered is known there; of what was done longer ago none is sent, as where a record is made anew. One that fails is tried again later and holds up no other;
 * rejects then, behind the others. One that can't be made within its time, or for what no topic brings, or for which a receiver has no room, is given up, and
 * reported.
 */
export async function sendStatements(
  store: RecordStore,
  of: {
    readonly hooks: Readonly<Record<string, Hook>>
    readonly webhooks: Pick<Webhooks, 'put'>
    readonly read: ReasonsParts['read']
    readonly clock: Clock
    /** All that was sent before this time is in the record. */
    readonly readUntil: () => number
    readonly report: Report
  },
): Promise<void> {
  const failed: unknown[] = []
  for (const note of await store.unstated(of.clock(), MOST)) {
    const again = await stated(store, note, of).catch((error: unknown) => {
      failed.push(error)
      return of.clock() + AGAIN_MS
    })
    await store.settleStatement(note, again)
  }
  if (failed.length > 0) throw failed[0]
}

/** When it is tried again, or that it is given up; null where it is done, or none is to be sent. */
async function stated(
  store: RecordStore,
  note: string,
  { hooks, webhooks, read, clock, readUntil, report }: Parameters<typeof sendStatements>[1],
): Promise<number | null> {
  const taken = await store.word(note)
  const action = actionMessage.safeParse(taken?.message).data
  if (taken === null || action === undefined || action.withdraw === true || action.what === NOTHING_DONE) return null
  const { id, tenant, at } = action
  const isAskedFor = Object.values(hooks).some((hook) => hook.actions === true && hook.tenant === tenant)
  if (!isAskedFor || clock() - taken.at > KEEP_DELIVERY_MS) return null
  const giveUp = (why: string) => {
    report('statement:given-up', { tenant, action: id, why })
    return GIVEN_UP
  }
  const [en, de] = await Promise.all((['en', 'de'] as const).map((lang) => read(store, { tenant, id, lang }))).catch(
    (error: unknown) => {
      // Next time it would be of long ago.
      if (clock() + AGAIN_MS - taken.at <= KEEP_DELIVERY_MS) throw error
      return [String(error)]
    },
  )
  if (typeof en === 'string') return giveUp(en)
  if (en == null || de == null || typeof de === 'string' || en.isWithdrawn || en.isExempt) return null
  if ('lacks' in en.stated || 'lacks' in de.stated) {
    const isWaiting = en.isWaiting || de.isWaiting
    if (isWaiting && Math.min(clock(), readUntil()) - taken.at < WITHIN_MS) return clock() + AGAIN_MS
    const lacks = [en, de].flatMap(({ stated }) => ('lacks' in stated ? stated.lacks : []))
    return giveUp([...new Set(lacks)].join('; '))
  }
  const { statement, text, dsa } = en.stated
  const texts = { en: text, de: de.stated.text }
  const whole = { schema: 1, action: id, tenant, at: new Date(at).toISOString(), statement, text: texts, dsa } as const
  const protocol = action.protocol ?? readVerdictId(action.verdictId ?? '')?.protocol
  const leftOut = await webhooks.put(statementDeliveriesOf(hooks, whole, protocol))
  if (leftOut.length === 0) return null
  // Who has it already is queued nothing twice. Room may be wanting for days: the longer it was, the later it is looked for.
  const later = clock() + Math.min(WITHIN_MS, Math.max(AGAIN_MS, clock() - taken.at))
  return later - taken.at > KEEP_DELIVERY_MS ? giveUp('over-share') : later
}
