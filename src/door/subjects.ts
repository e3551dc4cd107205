import { STREAMED_KINDS, type ThreadRef } from '../contracts/facts/thread.ts'
import { commentKey, namedIn } from '../contracts/facts/verdict-id.ts'
import { type CaseStore, StoreSuspended } from '../contracts/ports/cases.ts'
import type { DecisionStore } from '../contracts/ports/decisions.ts'
import type { RecordReader, SubjectRecord } from '../contracts/ports/record.ts'
import type { Report } from '../contracts/ports/report.ts'
import type { ThreadOutline, ThreadStatus, ThreadStore } from '../contracts/ports/threads.ts'
import { RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json, type Operation, type Schema, STORE_MS } from './route.ts'

export interface SubjectParts {
  readonly threads: Pick<ThreadStore, 'outline' | 'statusOf'>
  readonly cases: Pick<CaseStore, 'unpublished'>
  readonly decisions: Pick<DecisionStore, 'published'>
  /** The record; null where none is kept here. */
  readonly record: () => Promise<Pick<RecordReader, 'subject' | 'transcript'> | null>
  readonly report: Report
}

/** `GET /v1/subjects/{id}`: what is on its way about a streamed post or reply, and, where the record is kept, what stands. */
export function subjectsRoute(parts: SubjectParts): DoorRoute {
  return {
    method: 'GET',
    path: '/v1/subjects/{id}',
    scope: 'read',
    operation: OPERATION,
    needs: { dependency: 'redis', withinMs: STORE_MS },
    problems: ['invalid', 'record-off', 'store-away'],
    async answer(call) {
      const kinds = kindsIn(call)
      const [given, post] = [call.param('id'), call.query.get('post')]
      const id = post === null ? given : commentKey(post, given)
      const wants = { standing: flag(call, 'standing'), transcript: flag(call, 'transcript') }
      try {
        const record = await parts.record()
        if (record === null && (wants.standing || wants.transcript))
          throw new RequestRefused(
            'record-off',
            'verdicts and transcripts are only in the record (role record, record.path)',
          )
        for (const kind of kinds) {
          const ref: ThreadRef = { tenant: call.caller.tenant, postId: id, kind }
          const [status, state, recorded] = await Promise.all([
            parts.threads.statusOf(ref),
            parts.threads.outline(ref),
            // As much may be said of one subject as anybody who decides likes.
            record === null ? null : call.inTurn(() => record.subject({ tenant: ref.tenant, id, kind })),
          ])
          if (status === null && recorded === null) continue
          const known = { ref, status, state, recorded, record }
          const answered = async () => json(200, await shown(known, wants.transcript))
          // An open case is read whole, as are transcripts.
          return wants.transcript || openIdsOf(state).length > 0 ? await call.inTurn(answered) : await answered()
        }
      } catch (error) {
        if (error instanceof RequestRefused) throw error
        if (!(error instanceof StoreSuspended || call.gone().aborted)) parts.report('error', { where: 'door', error })
        throw new RequestRefused('store-away', 'the store does not answer now', { retryAfter: 3 })
      }
      throw new RequestRefused('not-found', 'nothing is known of such a subject, or it is forgotten')
    },
  }

  async function shown(
    known: {
      readonly ref: ThreadRef
      readonly status: ThreadStatus | null
      readonly state: ThreadOutline | null
      readonly recorded: SubjectRecord | null
      readonly record: Pick<RecordReader, 'transcript'> | null
    },
    withTranscripts: boolean,
  ) {
    const { ref, status, state, recorded, record } = known
    const { subjectId, postId } = namedIn(ref)
    const deleted = status === 'deleted' || (status === null && recorded !== null && recorded.deletedAt !== null)
    const open = deleted ? [] : await Promise.all(openIdsOf(state).map((id) => parts.cases.unpublished(id)))
    const revisions = [...(state?.revisions ?? [])].map(async ([protocol, { revision, final }]) => {
      const published = await parts.decisions.published(ref, protocol)
      return [protocol, { revision, final, published }] as const
    })
    const standing = deleted
      ? []
      : (recorded?.verdicts ?? []).filter((one) => one.standing).map(({ verdict }) => verdict)
    return {
      id: subjectId,
      ...(postId === undefined ? {} : { postId }),
      kind: ref.kind,
      tenant: ref.tenant,
      deleted,
      status: status ?? 'forgotten',
      comments: { accepted: state?.accepted ?? 0, kept: state?.kept ?? 0, late: state?.late ?? 0 },
      final: state?.final ?? false,
      dueSince: timeOf(state?.dueSince),
      nextAge: timeOf(state?.nextAge),
      waitsFor: state?.dormantFor ?? [],
      open: open.flatMap((found) => {
        if (found === null) return []
        const { id, protocol, revision, final, openedAt } = found.record
        return [{ id, protocol, revision, final, openedAt: timeOf(openedAt), decided: found.concluded }]
      }),
      revisions: Object.fromEntries(await Promise.all(revisions)),
      ...(record === null ? {} : { standing }),
      ...(record !== null && withTranscripts ? { transcripts: await transcriptsOf(record, standing) } : {}),
    }
  }
}

function openIdsOf(state: ThreadOutline | null): string[] {
  return [...(state?.revisions.values() ?? [])].flatMap(({ openId }) => openId ?? [])
}

async function transcriptsOf(
  record: Pick<RecordReader, 'transcript'>,
  standing: readonly { readonly id: string }[],
): Promise<unknown[]> {
  const found = await Promise.all(standing.map(({ id }) => record.transcript(id)))
  return found.flatMap((text) => (text === null ? [] : [JSON.parse(text)]))
}

function kindsIn({ query }: DoorCall): readonly ThreadRef['kind'][] {
  const asked = query.get('kind')
  if (query.has('post')) {
    if (asked !== null && asked !== 'comment') throw new RequestRefused('invalid', 'post: goes with kind=comment alone')
    return ['comment']
  }
  if (asked === null) return STREAMED_KINDS
  const kinds = STREAMED_KINDS.filter((kind) => kind === asked)
  if (kinds.length === 0) throw new RequestRefused('invalid', `kind: ${STREAMED_KINDS.join(' or ')}`)
  return kinds
}

function flag({ query }: DoorCall, name: string): boolean {
  const given = query.get(name) ?? 'false'
  if (given !== 'true' && given !== 'false') throw new RequestRefused('invalid', `${name}: true or false`)
  return given === 'true'
}

function timeOf(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString()
}

const TIME: Schema = { type: ['string', 'null'] }
const FLAG: Schema = { type: 'string', enum: ['true', 'false'] }

const OPERATION: Operation = {
  operationId: 'subject',
  summary: 'Open work on a post, reply or comment, and its current verdicts',
  description:
    'It covers messages from /v1/messages and from the topics. Current verdicts and transcripts need the record on this machine (role record). The id is percent-encoded.',
  parameters: [
    {
      name: 'id',
      in: 'path',
      description: 'The id of the post, reply or comment.',
      schema: { type: 'string' },
      example: 'p1',
    },
    {
      name: 'kind',
      in: 'query',
      description:
        'Which of the two, if a post and a reply have this id; by default the post. With `post` it is a comment.',
      schema: { type: 'string', enum: [...STREAMED_KINDS, 'comment'] },
    },
    {
      name: 'post',
      in: 'query',
      description: 'Of a comment that is judged by itself: its post.',
      schema: { type: 'string' },
    },
    { name: 'standing', in: 'query', description: 'true: 501 where there is no record.', schema: FLAG },
    { name: 'transcript', in: 'query', description: 'true: with the debates, or 501.', schema: FLAG },
  ],
  response: {
    status: 200,
    description: 'Its state and verdicts.',
    schema: {
      type: 'object',
      required: ['id', 'kind', 'tenant', 'deleted', 'status', 'open', 'revisions'],
      properties: {
        id: { type: 'string' },
        postId: { type: 'string', description: 'Of a comment: its post.' },
        kind: { type: 'string' },
        tenant: { type: 'string' },
        deleted: { type: 'boolean' },
        status: { type: 'string', description: 'As the store has it; forgotten: only the record knows it.' },
        comments: { type: 'object', description: 'How many were accepted, are kept, and came too late.' },
        final: { type: 'boolean', description: 'Its last revision was opened.' },
        dueSince: { ...TIME, description: 'Since when it waits for a case to be opened.' },
        nextAge: { ...TIME, description: "When it is judged next, by the stream's clock." },
        waitsFor: { type: 'array', items: { type: 'string' }, description: 'Protocols that are paused.' },
        open: { type: 'array', items: { type: 'object' }, description: 'Cases that are judged or published now.' },
        revisions: {
          type: 'object',
          description:
            'By protocol, the last revision that was opened, and the last that was published (0: none), which people decide against. What is opened beneath a human verdict is never published.',
        },
        standing: {
          type: 'array',
          items: { $ref: '#/components/schemas/Verdict' },
          description: 'Verdicts, as on the topic.',
        },
        transcripts: { type: 'array', items: { type: 'object' } },
      },
    },
  },
}
