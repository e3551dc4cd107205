import type { RecordReader, SubjectRecord } from '../../service/ports/record.ts'
import { judgementsOf } from '../../service/record/judgements.ts'
import { heardBy } from './heard.ts'

/**
 * A subject with people's standing verdict of this protocol as its label, as lines that `gavel eval --data` reads: the post as the
 * machine saw it, then its comments. Nothing where people have not decided, or its words are not in the record.
 */
export async function goldLines(record: RecordReader, of: SubjectRecord, protocol: string): Promise<object[]> {
  const judgement = judgementsOf(of).find((one) => one.protocol === protocol)
  const human = of.verdicts.find((one) => one.standing && one.verdict.protocol === protocol)?.verdict
  if (judgement === undefined || human === undefined) return []
  const heard = await heardBy(record, human)
  if (heard === null) return []
  const { tenant, postId } = of.subject
  const { text, author, createdAt, media } = heard.post
  const { label, opinions, lang, audited } = judgement
  const post = {
    ...{ type: 'post', id: postId, tenant, text, author, lang: lang ?? undefined, createdAt: isoOf(createdAt) },
    media: media?.flatMap(({ kind, url, alt }) => (url === undefined && alt === undefined ? [] : [{ kind, url, alt }])),
    ...{ label, labels: [label, ...opinions.map((one) => one.label)] },
    slices: { drawn: audited ? 'audit' : 'chosen' },
  }
  const comments = heard.comments.map((one) => ({
    ...{ type: 'comment', id: one.id, postId, tenant, parentId: one.parentId, author: one.author, text: one.text },
    createdAt: isoOf(one.createdAt),
  }))
  return [post, ...comments]
}

const isoOf = (ms: number) => new Date(ms).toISOString()
