import type { z } from 'zod'
import { authorOf } from '../src/contracts/facts/author.ts'
import type { AuthorHash } from '../src/contracts/facts/author-hash.ts'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { CommentMessage, CounterspeechMessage, PostMessage } from '../src/contracts/facts/messages.ts'
import { author as authorField } from '../src/contracts/facts/odd-fields.ts'
import type { ThreadRef } from '../src/contracts/facts/thread.ts'
import type { AuthorIndex } from '../src/contracts/ports/authors.ts'
import type { ThreadRules } from '../src/contracts/ports/threads.ts'
import type { InvalidMessage, ValidMessage } from './read-message.ts'

/** A subject, and who wrote it. */
interface Written {
  readonly subject: ThreadRef
  readonly author: string
}

/**
 * Notes who wrote these subjects, so that all that somebody wrote is found when they are erased; nothing new of a tenant that holds `most`
 * bytes.
 */
export type NoteAuthors = (written: readonly Written[], most?: number | null) => Promise<void>

/** Notes them in the index, by the hashes of their names. */
export function authorNotes(index: Pick<AuthorIndex, 'note'>, hashOf: AuthorHash): NoteAuthors {
  return (written, most = null) =>
    index.note(
      written.map(({ subject, author }) => ({
        tenant: subject.tenant,
        author: hashOf(subject.tenant, author),
        subject,
      })),
      most,
    )
}

type Rules = { readonly rules: Pick<ThreadRules, 'isPlaceholder'> }
type AuthoredMessage = PostMessage | CommentMessage | CounterspeechMessage

/** What is needed of a topic's handler. */
interface AuthoredTopic {
  readonly schema: z.ZodType<AuthoredMessage>
  itselfIn(message: AuthoredMessage): ThreadRef
}

/** What these messages say that somebody wrote; a name that many share is nobody's. */
export function writtenIn(
  handler: Pick<AuthoredTopic, 'itselfIn'>,
  { rules }: Rules,
  read: readonly Pick<ValidMessage<AuthoredMessage>, 'message'>[],
): Written[] {
  return read.flatMap(({ message }) => {
    const author = message.deleted === true ? undefined : authorOf(message)
    return author === undefined || rules.isPlaceholder(author) ? [] : [{ subject: handler.itselfIn(message), author }]
  })
}

/** The same of messages that become dead letters, as far as they name a subject and its author: they may be sent again. */
export function writtenUnread(
  handler: AuthoredTopic,
  context: Rules,
  unread: readonly Pick<InvalidMessage, 'json'>[],
): Written[] {
  return unread.flatMap(({ json }) => {
    if (typeof json !== 'object' || json === null) return []
    const given = json as Readonly<Record<string, unknown>> // any object has fields
    const [id, postId, tenant] = ['id', 'postId', 'tenant'].map((name) => entryOf(given, name))
    const author = authorField(entryOf(given, 'author') ?? '', () => {})
    // A deletion says nothing but which subject it is about.
    const about = handler.schema.safeParse({ id, postId, tenant, createdAt: LONG_AGO, deleted: true })
    if (!about.success || typeof author !== 'string') return []
    return writtenIn(handler, context, [{ message: { ...about.data, author, deleted: undefined } }])
  })
}

const LONG_AGO = new Date(0).toISOString()
