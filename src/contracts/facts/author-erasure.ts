import type { AuthorHash } from './author-hash.ts'
import { author as authorField } from './odd-fields.ts'

/** What an erasure of a person waits for. `intake`: to read what is on its topics; `shelves`: or cases that were shown something. */
export const AUTHOR_ERASURE_WAITS = ['intake', 'record', 'shelves'] as const

/** The erasure of all that somebody wrote. */
export interface AuthorErasure {
  /** The hash of the author's name. */
  readonly id: string
  readonly tenant: string
  /** The name; gone once it is done. */
  readonly author?: string | undefined
  /** Who asked for it. */
  readonly by: string
  /** ms since 1970 */
  readonly askedAt: number
  /**
   * `asked`: nobody has begun; `sending`: deletions of what is found are sent; `sent`: all of them are, and are carried out; `done`:
   * they were.
   */
  readonly state: 'asked' | 'sending' | 'sent' | 'done'
  readonly waitsFor: (typeof AUTHOR_ERASURE_WAITS)[number] | null
  /** How many deletions were sent. */
  readonly sent: number
  /** Up to which offsets intake, and the record, have to read before it goes on, by `topic/partition`. */
  readonly upTo: Readonly<Record<string, string>>
  /** Since when it is `sent`, and `done`, ms since 1970. */
  readonly sentAt?: number | undefined
  readonly doneAt?: number | undefined
}

/**
 * The erasure of all that somebody of a tenant wrote, as it begins; null if the name is no person's: a placeholder, or one without a
 * visible character.
 */
export function newAuthorErasure(
  of: { readonly tenant: string; readonly author: string; readonly by: string; readonly now: number },
  { hashOf, isPlaceholder }: { readonly hashOf: AuthorHash; readonly isPlaceholder: (author: string) => boolean },
): AuthorErasure | null {
  const { tenant, by, now } = of
  // As intake reads it: the hash of a long name stands for it.
  const author = authorField(of.author, () => {})
  if (typeof author !== 'string' || isPlaceholder(author)) return null
  const fresh = { state: 'asked', waitsFor: 'intake', sent: 0, upTo: {} } as const
  return { id: hashOf(tenant, author), tenant, author, by, askedAt: now, ...fresh }
}

/** Why a name is refused. */
export const NOBODYS_NAME =
  'many people share this name, or it shows nothing (threads.placeholders): it is nobody’s, and nothing is erased'

/** What of a person stays for longer than their erasure takes, and where. */
const ERASURE_STAYS = [
  'messages, verdicts, transcripts and dead letters on Kafka’s topics, until kafka.retention ends or they are compacted: deletions stand behind them, and nothing of them is judged or replayed',
  'replies without an author, and messages that are too large or no JSON: nobody can tell whose they are',
  'messages that came while their tenant held all of its share of Redis: who wrote them may not be noted, and a replay of the dead letters judges them',
  'what shelves learnt from subjects that Redis has forgotten (threads.keepTombstone), where no record is kept: delete those by hand',
  'what was only asked about on POST /v1/judge: answers end after door.keepAnswers, or are erased by DELETE /v1/judgements/{id}',
  'dead letters from before Redis was lost: a recovery notes only who wrote what it could read',
  'Redis’s append-only file, until Redis writes it anew (BGREWRITEAOF does so at once)',
  'backups of Redis, of the record and of shelves, exports, and files of gavel judge, eval and what-if',
  'what model providers and image hosts keep of requests, by their terms',
  'verdicts and reasons that consumers and webhooks’ receivers have read: each is retracted by a further revision',
  'what topics of sinks got of verdicts, until their own retention ends: the retraction goes to sinks whose condition it meets',
  'traces at their collector, and the audit, which names subjects by their ids',
  'decisions’ reasons and feedback on the topics, which people were asked to write without quotations',
] as const

/** An erasure as whoever asked for it is told. */
export function toldErasure({ id, tenant, state, waitsFor, sent, askedAt, doneAt }: AuthorErasure) {
  return {
    erasure: id,
    tenant,
    state,
    waitsFor,
    sent,
    askedAt: new Date(askedAt).toISOString(),
    doneAt: doneAt === undefined ? null : new Date(doneAt).toISOString(),
    stays: ERASURE_STAYS,
  }
}
