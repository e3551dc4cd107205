import { z } from 'zod'
import { authorOf } from '../contracts/facts/author.ts'
import { jsonOf } from '../contracts/facts/json-of.ts'
import { type Snapshot, type SubjectKind, snapshot, type ThreadRef } from '../contracts/facts/thread.ts'
import { commentKey, namedIn } from '../contracts/facts/verdict-id.ts'
import type { WrittenPart } from '../contracts/ports/record.ts'

/** Who wrote what of a snapshot: its subject, and each comment that is shown with it. */
export function writtenIn({ post, comments }: Pick<Snapshot, 'post' | 'comments'>): WrittenPart[] {
  return [{ ...post, id: null }, ...comments].flatMap((one) => {
    const author = authorOf(one)
    return author === undefined ? [] : [{ author, comment: one.id }]
  })
}

const held = z.object({ subject: snapshot })

/** The same of a transcript as it was sent; nothing of one whose subject was cut to fit. */
export function writtenInTranscript(json: string): WrittenPart[] {
  const read = held.safeParse(jsonOf({ value: json }))
  return read.success ? writtenIn(read.data.subject) : []
}

/** A row of what somebody wrote, with its subject; `comment` is empty where it is that itself. */
export interface WrittenRow extends WrittenPlace {
  readonly tenant: string
  readonly kind: SubjectKind
  readonly id: string
}

/** The subject of a row: a comment by itself, under the post that it is on. */
export function writtenSubject({ tenant, kind, id, comment }: WrittenRow): ThreadRef {
  if (comment === '') return { tenant, kind, postId: id }
  const { subjectId, postId = subjectId } = namedIn({ kind, postId: id })
  return { tenant, kind: 'comment', postId: commentKey(postId, comment) }
}

/** Where a search for what somebody wrote goes on: behind this row. */
export interface WrittenPlace {
  readonly s: number
  readonly comment: string
}

export function placeIn(cursor: string | null): WrittenPlace {
  const [, s = '-1', comment = ''] = /^(\d+) (.*)$/s.exec(cursor ?? '') ?? []
  return { s: Number(s), comment }
}

export const cursorOf = ({ s, comment }: WrittenPlace) => `${s} ${comment}`
