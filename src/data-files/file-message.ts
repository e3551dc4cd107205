type MessageType = 'post' | 'comment' | 'counterspeech' | 'feedback'

/** One message of a file, ready for its topic; its content is checked where it is read. */
export interface FileMessage {
  readonly type: MessageType
  /** Kafka's key: the post's id, the reply's, or the subject's that feedback is about. */
  readonly key: string
  /** Its line in the file, from 1. */
  readonly line: number
  /** ms since 1970; null where the line has no readable time. */
  readonly createdAt: number | null
  readonly value: Readonly<Record<string, unknown>>
  /**
   * What a vision model saw in each of the post's images, if the data set has that: to be taken in place of the author's
   * words, by readers of the file itself. It is no part of the message, so that no message on a topic can contain it.
   */
  readonly descriptions?: readonly string[]
}

/** Items whose data set has no time stand a second apart from here on. No post was written then: questions name no such day. */
export const UNDATED = Date.UTC(1990, 0, 1)

/** What is wrong with a line, by its number in the file. */
export interface BadLine {
  readonly line: number
  readonly why: string
  /** It was read all the same, in the way that `why` describes; else it was left out. */
  readonly read?: true
  /** It is about one rating of the line. */
  readonly rating?: true
}

/** What is wrong with a line of a file, and what became of it, for a person. */
export function faultIn(file: string, { line, why, read }: BadLine): string {
  return `${file}:${line} ${why}${read === true ? '' : '; left out'}`
}

/** A message that a reader makes of a data set's line; its time (ms since 1970) becomes a field, too. */
export function message(
  type: MessageType,
  key: string,
  line: number,
  createdAt: number,
  value: Record<string, unknown>,
): FileMessage & { readonly createdAt: number } {
  return { type, key, line, createdAt, value: { ...value, createdAt: new Date(createdAt).toISOString() } }
}
