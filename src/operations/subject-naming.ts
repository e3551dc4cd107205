import { createHash } from 'node:crypto'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { namedIn, readVerdictId } from '../contracts/facts/verdict-id.ts'

/** How lines name what people wrote: by its id, by a hash of that, or not at all. */
export type SubjectsInLog = 'plain' | 'hashed' | 'off'

/** Ids of cases within the words of an error. */
const IN_WORDS = /\b[a-z][a-z0-9-]*(?:\/[a-z]+)?(?:@[A-Za-z0-9._-]+)?~[^\s"',;]+~[rp]\d+/g

/** Writes ids for the log of a deployment. */
export function subjectNaming(how: SubjectsInLog, gavel: string) {
  const shown = (id: string) =>
    how === 'off' ? '…' : `#${createHash('sha256').update(`${gavel}\0${id}`).digest('hex').slice(0, 16)}`
  const named = (caseId: string): string => {
    if (how === 'plain') return caseId
    const read = readVerdictId(caseId)
    if (read === null) return shown(caseId)
    const scope = caseId.slice(0, caseId.indexOf('~'))
    const subject = read.postId === undefined ? shown(read.subjectId) : `${shown(read.postId)}~${shown(read.subjectId)}`
    return `${scope}~${subject}~${read.isProposal ? 'p' : 'r'}${read.number}`
  }
  const subjectFields = ({ subjectId, postId }: { subjectId: string; postId?: string | undefined }) => {
    if (how === 'off') return {}
    const field = how === 'plain' ? (id: string) => id : shown
    return { subject: field(subjectId), ...(postId === undefined ? {} : { post: field(postId) }) }
  }
  return {
    /** The id of a case or a verdict. */
    named,
    /** Words in which ids of cases may stand. */
    inWords: (words: string): string => (how === 'plain' ? words : words.replace(IN_WORDS, named)),
    /** Tenant, protocol and subject of a case, as fields of their own; none for what is no case's id. */
    fieldsOf(caseId: string): Readonly<Record<string, string>> {
      const read = readVerdictId(caseId)
      if (read === null) return {}
      const { tenant, protocol } = read
      return { tenant, protocol, ...subjectFields(read) }
    },
    /** The same of what has no case yet. */
    fieldsOfThread: (ref: ThreadRef): Readonly<Record<string, string>> => ({
      tenant: ref.tenant,
      kind: ref.kind,
      ...subjectFields(namedIn(ref)),
    }),
  }
}
