import { z } from 'zod'
import { type AppealMessage, appealOutcome } from '../contracts/facts/appeal-messages.ts'
import { subjectOf } from '../contracts/facts/decision-messages.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { id, tenant } from '../contracts/facts/messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { readVerdictId, threadIn } from '../contracts/facts/verdict-id.ts'
import type { AppealEndEntry, AppealEntry } from '../contracts/ports/record.ts'
import type { IncomingMessage } from '../contracts/ports/topic.ts'
import { actionNote } from './actions.ts'
import { partyOf } from './appeals.ts'

/** Of a message that is no appeal: what its outcome is told by. */
const named = z.object({ id: z.preprocess((given) => (typeof given === 'number' ? String(given) : given), id), tenant })

/** The record's entries for an appeal, or its withdrawal; `read`: the message as its schema reads it, null if it does not. */
export function appealEntries(
  { timestamp }: IncomingMessage,
  value: Buffer,
  read: AppealMessage | null,
  ofReplies: ReadonlySet<string>,
): (AppealEntry | AppealEndEntry)[] | null {
  if (read === null) {
    const ours = named.safeParse(jsonOf({ value }))
    if (!ours.success) return null
    return [{ what: 'appeal-end', ...ours.data, outcome: 'invalid', at: timestamp, told: false }]
  }
  const { tenant, id } = read
  if (read.withdraw === true)
    return [{ what: 'appeal-end', tenant, id, outcome: 'withdrawn', at: timestamp, told: false }]
  const { by, text, contact, ground, objectsTo, at } = read
  const about = aboutOf(read, ofReplies)
  if (about === null) return [{ what: 'appeal-end', tenant, id, outcome: 'unknown', at: timestamp, told: false }]
  return [
    {
      what: 'appeal',
      tenant,
      id,
      ...about,
      side: by,
      party: partyOf(contact),
      objectsTo: objectsTo === 'measure' ? objectsTo : null,
      at: timestamp,
      json: JSON.stringify({
        id,
        by,
        text,
        contact,
        ground,
        objectsTo,
        at: new Date(at).toISOString(),
        ...about.named,
      }),
    },
  ]
}

/** What an appeal is about; null where that is of another tenant, or nothing that people decide on. */
function aboutOf(
  read: Exclude<AppealMessage, { withdraw: true }>,
  ofReplies: ReadonlySet<string>,
): (Pick<AppealEntry, 'subject' | 'protocol' | 'against'> & { named: object }) | null {
  if (read.actionId !== undefined) {
    // What an action is about the record knows by its own message, which may be read later.
    const against = actionNote(read.tenant, read.actionId)
    const subject = { tenant: read.tenant, postId: against, kind: 'asked' } as const
    return { subject, protocol: '', against, named: { actionId: read.actionId } }
  }
  if (read.verdictId !== undefined) {
    const subject = threadIn(read.verdictId, ofReplies)
    const verdict = readVerdictId(read.verdictId)
    if (subject === null || verdict === null || verdict.isProposal || subject.tenant !== read.tenant) return null
    return { subject, protocol: verdict.protocol, against: read.verdictId, named: { verdictId: read.verdictId } }
  }
  const { protocol = '' } = read
  const subject: ThreadRef | null = subjectOf(read, ofReplies.has(protocol) ? 'reply' : 'post')
  return subject === null ? null : { subject, protocol, against: null, named: {} }
}

/** What was told of an appeal, as a record that is made anew reads it. */
export function appealOutcomeEntries({ timestamp }: IncomingMessage, value: Buffer): AppealEndEntry[] | null {
  const read = appealOutcome.safeParse(jsonOf({ value }))
  if (!read.success) return null
  const { tenant, id, outcome, at, verdict, label: answer, code } = read.data
  const endedAt = Date.parse(at)
  const ended = { tenant, id, outcome, at: Number.isNaN(endedAt) ? timestamp : endedAt, told: true }
  return [{ what: 'appeal-end', ...ended, verdict, answer, code }]
}
