import { byStory, hasHistory, type StorySummary, storySummary } from '../contracts/facts/story-summary.ts'
import { languageOf } from '../contracts/facts/verdict-fields.ts'
import type { RecordedRow, RecordFilter, RecordReader } from '../contracts/ports/record.ts'
import { RequestRefused } from './problem.ts'
import { type DoorCall, type DoorRoute, json, type Operation, type Schema } from './route.ts'

/** Verdicts that an answer is made of, stories in it, and verdicts that are read of each. */
const [MOST_ROWS, MOST_STORIES, MOST_OF_ONE] = [300, 60, 60]
/** Verdicts of a story that is named. */
const MOST_NAMED = 500

/** `GET /v1/stories`: which posts say the same, and what stands of them, from the record. */
export function storiesRoute(parts: {
  /** The record; null where none is kept here. */
  readonly record: () => Promise<Pick<RecordReader, 'find'> | null>
}): DoorRoute {
  return {
    method: 'GET',
    path: '/v1/stories',
    scope: 'read',
    operation: OPERATION,
    problems: ['invalid', 'record-off'],
    async answer(call) {
      const [id, filter] = [call.query.get('id'), filterIn(call)]
      const isAsked = (name: 'differs' | 'opposed') => call.query.get(name) === 'true'
      const record = await parts.record()
      if (record === null)
        throw new RequestRefused('record-off', 'stories are only in the record (role record, record.path)')
      return call.inTurn(async () => {
        const { stories, isCut } = await (id === null
          ? listed(record, { ...filter, ...(isAsked('opposed') ? { opposed: true } : {}) })
          : named(record, filter, id))
        const fits = (one: StorySummary) =>
          (['differs', 'opposed'] as const).every((name) => !isAsked(name) || one[name].length > 0)
        return json(200, { stories: stories.filter(fits), isCut })
      })
    },
  }
}

async function listed(record: Pick<RecordReader, 'find'>, filter: RecordFilter) {
  const found = await record.find({ ...filter, standing: true }, MOST_ROWS)
  const groups = byStory(found)
  const stories: StorySummary[] = []
  let isCut = found.length >= MOST_ROWS || groups.length > MOST_STORIES
  // One after the other: rows of one story alone are in memory, and other requests come in between.
  for (const rows of groups.slice(0, MOST_STORIES)) {
    const whole = await wholeStory(record, filter, rows)
    isCut ||= whole.length >= MOST_OF_ONE
    const summary = storySummary(await withEarlier(record, filter, whole))
    if (summary !== null) stories.push(summary)
  }
  return { stories, isCut }
}

/** All that stands of a story, of which these verdicts fit the filter. */
async function wholeStory(record: Pick<RecordReader, 'find'>, { tenants }: RecordFilter, rows: readonly RecordedRow[]) {
  const story = rows.find(({ verdict }) => verdict.story !== undefined)?.verdict.story
  if (story === undefined) return rows
  const own = await record.find({ tenants, story: story.id, standing: true }, MOST_OF_ONE)
  const known = new Set(own.map(({ verdict }) => verdict.id))
  return [...own, ...rows.filter(({ verdict }) => !known.has(verdict.id))]
}

/** With the verdicts that stand no more, where they tell more of it. */
async function withEarlier(
  record: Pick<RecordReader, 'find'>,
  { tenants }: RecordFilter,
  rows: readonly RecordedRow[],
) {
  if (!hasHistory(rows)) return rows
  const subject = [...new Set(rows.map((row) => row.subject.postId))]
  const all = await record.find({ tenants, subject }, MOST_NAMED)
  return [...rows, ...all.filter((row) => row.subject.kind === 'post' && !row.standing)]
}

async function named(record: Pick<RecordReader, 'find'>, filter: RecordFilter, id: string) {
  const rows = await record.find({ ...filter, story: id, standing: true }, MOST_NAMED)
  const summary = storySummary(await withEarlier(record, filter, rows))
  if (summary === null) throw new RequestRefused('not-found', 'nothing is known of such a story')
  const posts = rows.map(({ verdict, lang }) => ({
    verdictId: verdict.id,
    subjectId: verdict.subjectId,
    protocol: verdict.protocol,
    revision: verdict.revision,
    label: verdict.label,
    decidedBy: verdict.decidedBy,
    lang,
    decidedAt: verdict.timing.decidedAt,
  }))
  return { stories: [{ ...summary, verdicts: posts }], isCut: rows.length >= MOST_NAMED }
}

function filterIn({ query, caller }: DoorCall): RecordFilter {
  const [since, until] = [timeIn(query, 'since'), timeIn(query, 'until')]
  const [protocol, lang] = [query.get('protocol'), query.get('lang')]
  for (const name of ['differs', 'opposed'])
    if (!['true', 'false', null].includes(query.get(name)))
      throw new RequestRefused('invalid', `${name}: true or false`)
  return {
    tenants: [caller.tenant],
    ...(since === null ? {} : { since }),
    ...(until === null ? {} : { until }),
    ...(protocol === null ? {} : { protocol }),
    ...(lang === null ? {} : { lang: languageOf(lang) }),
  }
}

function timeIn(query: URLSearchParams, name: string): number | null {
  const given = query.get(name)
  const at = given === null ? Number.NaN : Date.parse(given)
  if (given !== null && Number.isNaN(at)) throw new RequestRefused('invalid', `${name}: an ISO 8601 time`)
  return given === null ? null : at
}

const TEXT: Schema = { type: 'string' }

const OPERATION: Operation = {
  operationId: 'stories',
  summary: 'Which posts say the same, their verdicts, and what is contested',
  description:
    'From the record on this machine (role record). The newest verdicts that fit, by story; with `id` one story and its verdicts. Without posts’ words.',
  parameters: [
    { name: 'id', in: 'query', description: 'One story, by the id that its verdicts name.', schema: TEXT },
    { name: 'protocol', in: 'query', description: 'Found by its verdicts.', schema: TEXT, example: 'rumor' },
    { name: 'lang', in: 'query', description: 'Found by posts in this language, a BCP 47 tag.', schema: TEXT },
    { name: 'since', in: 'query', description: 'Found by verdicts from then on, ISO 8601.', schema: TEXT },
    { name: 'until', in: 'query', description: 'Found by verdicts before then.', schema: TEXT },
    {
      name: 'differs',
      in: 'query',
      description: 'true: only those whose verdicts contradict one another.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
    {
      name: 'opposed',
      in: 'query',
      description: 'true: only those that comments dispute.',
      schema: { type: 'string', enum: ['true', 'false'] },
    },
  ],
  response: {
    status: 200,
    description: 'The stories; `isCut`: there may be more.',
    schema: {
      type: 'object',
      required: ['stories', 'isCut'],
      properties: {
        stories: {
          type: 'array',
          items: {
            type: 'object',
            required: [
              'id',
              'tenant',
              'posts',
              'reach',
              'first',
              'languages',
              'labels',
              'opposed',
              'differs',
              'decided',
              'withdrawn',
            ],
            properties: {
              id: { type: ['string', 'null'], description: 'null: a post that no other can repeat.' },
              tenant: TEXT,
              posts: { type: 'integer' },
              reach: { type: ['number', 'null'] },
              first: { type: 'object', description: 'The post that was written first.' },
              languages: { type: 'array', items: TEXT },
              labels: { type: 'array', items: { type: 'object' }, description: 'How many posts have which label now.' },
              opposed: {
                type: 'array',
                items: { type: 'object' },
                description:
                  'By protocol what comments dispute: of how many posts, since the first comment against one.',
              },
              differs: {
                type: 'array',
                items: { type: 'object' },
                description: 'By protocol since when verdicts contradict one another.',
              },
              decided: { type: 'array', items: { type: 'object' }, description: 'What people decided.' },
              withdrawn: {
                type: 'array',
                items: { type: 'object' },
                description: 'What people decided and took back.',
              },
              verdicts: { type: 'array', items: { type: 'object' }, description: 'With `id` alone.' },
            },
          },
        },
        isCut: { type: 'boolean' },
      },
    },
  },
}
