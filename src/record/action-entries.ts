import type { z } from 'zod'
import type { ActionTaken, actionMessage } from '../contracts/facts/action-messages.ts'
import { subjectOf } from '../contracts/facts/decision-messages.ts'
import { subjectKeyOf } from '../contracts/facts/messages.ts'
import { readVerdictId } from '../contracts/facts/verdict-id.ts'
import type { Entry, NoteEntry } from '../contracts/ports/record.ts'
import type { IncomingMessage } from '../contracts/ports/topic.ts'
import { actionNote, withdrawalNote } from './actions.ts'

/** The notes of an action or a withdrawal; null and a message with another key are none: intake refuses them. */
export function actionEntries(
  { key, timestamp }: IncomingMessage,
  read: z.infer<typeof actionMessage> | null,
  ofReplies: ReadonlySet<string>,
): Entry[] {
  if (read === null || key === null) return []
  const about = { by: read.by, at: timestamp, json: JSON.stringify(read, inWords) }
  if (read.withdraw === true) {
    // It does not name what it is about: the record knows that by the action.
    const subject = { tenant: read.tenant, postId: key, kind: 'post' } as const
    const id = withdrawalNote(read.tenant, read.id)
    return [{ what: 'said', said: 'withdrawal', subject, id, protocol: '', label: read.id, ...about }]
  }
  return key === subjectKeyOf(read) ? takenAction(read, ofReplies, about) : []
}

const TIMES: ReadonlySet<string> = new Set(['at', 'since', 'until', 'decisionAt'])
/** Times as they were sent. */
const inWords = (name: string, value: unknown) =>
  TIMES.has(name) && typeof value === 'number' ? new Date(value).toISOString() : value

function takenAction(
  read: ActionTaken,
  ofReplies: ReadonlySet<string>,
  about: Pick<NoteEntry, 'by' | 'at' | 'json'>,
): Entry[] {
  const protocol = read.protocol ?? readVerdictId(read.verdictId ?? '')?.protocol ?? ''
  const subject = subjectOf(read, ofReplies.has(protocol) ? 'reply' : 'post')
  if (subject === null) return []
  const id = actionNote(read.tenant, read.id)
  const rests = read.verdictId ?? read.at
  return [{ what: 'said', said: 'action', subject, id, protocol, label: read.what, rests, ...about }]
}
