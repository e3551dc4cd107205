import type { Settings } from '../../../../config/schema.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { ShadowVerdict } from '../../../contracts/facts/shadow-verdict.ts'
import { type Post, type Snapshot, snapshot, type ThreadRef } from '../../../contracts/facts/thread.ts'
import { transcript, type Verdict } from '../../../contracts/facts/verdict.ts'
import { streamedKindIn } from '../../../contracts/facts/verdict-id.ts'
import type { FileMessage } from '../../../data-files/file-message.ts'
import type { Protocol } from '../../../judging/engine/script.ts'
import type { GatewayStores } from '../../composition/gateway.ts'
import { judgeFileSubjects } from '../judging/file-judging.ts'

/** What a live case has judged, as its transcript has it. */
export interface JudgedSnapshot {
  readonly of: string
  readonly ref: ThreadRef
  readonly protocol: string
  readonly revision: number
  readonly live: ShadowVerdict['live']
  readonly snapshot: Snapshot
}

/** Fields of a post that a message has; what a store has set aside of an image it alone can give. */
const FIELDS = ['id', 'text', 'author', 'lang', 'media', 'reach', 'hateSpeech'] as const

/**
 * What a machine has judged by this protocol, in a transcript; null where that is another's, a person's, or holds no subject that could
 * be judged again.
 */
export function judgedIn(
  value: Buffer | null,
  { name: protocol, subject: judges }: Pick<Protocol, 'name' | 'subject'>,
): JudgedSnapshot | null {
  const read = transcript.safeParse(parsed(value))
  if (!read.success || read.data.turns.length === 0) return null
  const { verdictId, verdict, subject } = read.data
  const seen = snapshot.safeParse(subject)
  if (verdict?.protocol !== protocol || !seen.success) return null
  const kind = streamedKindIn(verdictId, new Set(judges === 'reply' ? [protocol] : []))
  if (kind === null || JSON.stringify(seen.data).includes('"kept:')) return null
  const { tenant, label, decidedBy, usage, faults, revision, subjectId: postId } = verdict
  const live = { label, decidedBy, faults, costUsd: usage.costUsd }
  return { of: verdictId, ref: { tenant, postId, kind }, protocol, revision, live, snapshot: seen.data }
}

function parsed(value: Buffer | null): unknown {
  try {
    return JSON.parse(value?.toString('utf8') ?? 'null')
  } catch {
    return null
  }
}

/** Judges the same snapshot under a variant's settings, in memory alone. */
export async function shadowOf(
  variant: string,
  judged: JudgedSnapshot,
  parts: { settings: Settings; secret: string; stores: Partial<GatewayStores>; signal: AbortSignal; now: () => number },
): Promise<ShadowVerdict> {
  const { of, ref, protocol, revision, live } = judged
  const { settings, secret, stores, signal, now } = parts
  let verdict: Verdict | undefined
  let why = ''
  const note = (text: string) => {
    why = text
  }
  const file = { file: 'transcripts', format: 'gavel' as const, messages: () => messagesOf(judged) }
  await judgeFileSubjects(
    settings,
    { protocol, ...file, finalAge: Number.POSITIVE_INFINITY, secret, stores },
    {
      signal,
      judged(made) {
        verdict = made
      },
      refused: note,
      corrected() {},
      unrouted: () => note(`${protocol} does not judge it`),
      failed: note,
    },
  )
  signal.throwIfAborted()
  if (verdict === undefined) throw new OperatorError(`no verdict of ${variant} on ${of}: ${why}`)
  const { label, decidedBy, policy, clauses, faults, usage, models, versions } = verdict
  return {
    schema: 1,
    id: `${of}~v~${variant}`,
    variant,
    of,
    subjectId: ref.postId,
    subjectKind: ref.kind,
    tenant: ref.tenant,
    protocol,
    revision,
    label,
    live,
    decidedBy,
    ...(policy === undefined ? {} : { policy }),
    ...(clauses === undefined ? {} : { clauses: clauses.map(({ id }) => id) }),
    faults,
    usage,
    models,
    versions,
    at: new Date(now()).toISOString(),
  }
}

/** The snapshot as messages: a reply, or a post with its comments. */
async function* messagesOf({ ref, snapshot: { post, comments } }: JudgedSnapshot): AsyncGenerator<FileMessage> {
  const { tenant, postId: key, kind } = ref
  const timesOf = ({ createdAt, authorSince }: Pick<Post, 'createdAt' | 'authorSince'>) => ({
    createdAt: new Date(createdAt).toISOString(),
    ...(authorSince === undefined ? {} : { authorSince: new Date(authorSince).toISOString() }),
  })
  const given = Object.fromEntries(FIELDS.flatMap((name) => (post[name] === undefined ? [] : [[name, post[name]]])))
  const type = kind === 'reply' ? 'counterspeech' : 'post'
  yield { type, key, line: 1, createdAt: post.createdAt, value: { ...given, tenant, ...timesOf(post) } }
  for (const comment of comments) {
    const { id, text, author, parentId, createdAt } = comment
    const value = { id, text, author, parentId, tenant, postId: key, ...timesOf(comment) }
    yield { type: 'comment', key, line: 1, createdAt, value }
  }
}
