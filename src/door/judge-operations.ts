import { MOST_WAIT, USUAL_WAIT } from './judge-body.ts'
import type { Operation, Schema } from './route.ts'
import { IGNORED } from './unknown-fields.ts'

const ANSWER: Schema = {
  type: 'object',
  required: ['id', 'url', 'until', 'done', 'verdicts', 'missing'],
  properties: {
    id: { type: 'string', description: 'Of the request.' },
    url: { type: 'string', description: 'The address of its answer.' },
    until: { type: 'string', description: 'Until when it is.' },
    done: { type: 'boolean' },
    verdicts: {
      type: 'array',
      items: { $ref: '#/components/schemas/Verdict' },
      description: 'As on the topic, with the id that you gave as `subject`.',
    },
    missing: { type: 'array', items: { type: 'string' }, description: 'Protocols whose verdict is to come.' },
    supersededBy: {
      type: 'array',
      items: { type: 'string', enum: ['stream', 'person'] },
      description:
        'In the answer to the question itself, beside a verdict of a first lane: what may replace it. stream: the verdicts on the same post on its topic; person: a decision on that post. Empty: nothing does.',
    },
    transcripts: { type: 'array', items: { type: 'object' } },
    ignored: IGNORED,
  },
}
const RESPONSES: Pick<Operation, 'response' | 'others'> = {
  response: { status: 200, description: 'All verdicts.', schema: ANSWER },
  others: [{ status: 202, description: 'Some are to come: ask at `url`.', schema: ANSWER }],
}

/** What the document of the door tells of `POST /v1/judge`, of its answer, and of its erasure. */
export const JUDGE: Operation = {
  operationId: 'judge',
  summary: 'Judges a post, with comments or as a reply, or a comment by itself, and answers its verdicts',
  parameters: [
    {
      name: 'wait',
      in: 'query',
      description: 'As in the body: it stands in one of the two. `1s` is `1`.',
      schema: { type: 'string', pattern: '^[0-9.]+s?$' },
    },
  ],
  description:
    'Such a request is no revision of a streamed subject: it is judged by itself, and kept for a set time. A client that goes away before it is answered ends it: no further question is asked, and its calls are stopped unless somebody else waits for the same answer.',
  request: {
    schema: {
      type: 'object',
      properties: {
        post: { type: 'object', description: 'A post; `id` and `createdAt` may be left out.' },
        reply: { type: 'object', description: 'A reply (`hateSpeech`, `text`), in place of a post.' },
        comment: {
          type: 'object',
          description:
            'A comment that is judged by itself, in place of a post: `hate` and `safety` do that. `id`, `postId` and `createdAt` may be left out. It is shown with `post` and `parent`, which are not judged.',
        },
        parent: { type: 'object', description: 'Beside a comment: the one that it answers.' },
        comments: {
          type: 'array',
          items: {},
          description: 'Comments; `id`, `postId` and `createdAt` may be left out.',
        },
        protocols: {
          type: 'array',
          items: { type: 'string' },
          description: 'Who judges; left out, as the routes have it.',
        },
        wait: { type: 'number', minimum: 0, maximum: MOST_WAIT, default: USUAL_WAIT, description: 'Seconds.' },
        stream: { type: 'boolean', default: false, description: 'Puts it on the topics, too; needs the scope send.' },
        webhook: {
          type: 'boolean',
          default: false,
          description: 'Sends its verdicts to the webhooks of the tenant, too.',
        },
      },
    },
    example: { post: { text: 'The bridge is closed.' }, protocols: ['hate'], wait: 10 },
  },
  ...RESPONSES,
}
export const JUDGEMENT: Operation = {
  operationId: 'judgement',
  summary: 'The request and its verdicts so far',
  parameters: [
    {
      name: 'wait',
      in: 'query',
      description: 'Seconds to wait for what is missing.',
      schema: { type: 'number', minimum: 0, maximum: MOST_WAIT },
    },
    {
      name: 'transcript',
      in: 'query',
      description: 'true: with the debates.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
  ],
  ...RESPONSES,
}
export const ERASE: Operation = {
  operationId: 'eraseJudgement',
  summary: 'Stops the request, and erases its texts and verdicts',
  response: { status: 204, description: 'Nothing of it is kept.' },
}
