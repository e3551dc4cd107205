import type { Redis } from 'ioredis'
import { post } from '../../src/contracts/facts/thread.ts'
import { transcript, type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { storyWords } from '../../src/protocols/same-words.ts'
import { DEAD_HEADER } from './expected.ts'
import type { TopicRecord } from './reader.ts'

/**
 * What the topics say of stories, and how often Redis lost data: a key that Gavel made is another then, and so are ids. A post that is read
 * again after its thread was forgotten counts twice, until the minute has passed to which the end of the first is rounded.
 */
interface StoryEvidence {
  readonly posts: readonly TopicRecord[]
  readonly verdicts: readonly TopicRecord[]
  readonly transcripts: readonly TopicRecord[]
  readonly losses: number
}

/** A story as Redis counts it, and the threads there that name it. */
export interface CountedStory {
  readonly key: string
  readonly fields: Readonly<Record<string, string>>
  /** Of each thread that stays: the labels that are counted, as `PROTOCOL LABEL`. */
  readonly staying: readonly (readonly string[])[]
}

const judged = transcript.pick({ verdictId: true }).extend({ subject: transcript.shape.subject })

/** Ids that do not say what posts say, and counts that are more than the topic has, or other than the threads that Redis holds. */
export function storyBreaches(
  { posts, verdicts, transcripts, losses }: StoryEvidence,
  counted: readonly CountedStory[],
): string[] {
  const breaches: string[] = []
  const words = new Map<string, string>()
  for (const { value } of transcripts) {
    const { verdictId, subject } = judged.parse(JSON.parse(value))
    const read = post.safeParse((subject as { post?: unknown } | null)?.post)
    // Of a text that was cut the whole is not in it.
    if (read.success && read.data.cut === undefined) words.set(verdictId, saidIn(read.data.text, read.data.media ?? []))
  }
  const edited = editedIn(posts)
  const ids = new Map<string, Set<string>>()
  const names = new Map<string, Set<string>>()
  for (const one of verdicts.map(({ value }) => verdict.parse(JSON.parse(value)))) {
    const { story, tenant, id, subjectId } = one
    const own = words.get(id)
    // A post that is edited while it is judged is told the story of the words that it has by then.
    if (story === undefined || own === undefined || !isMachines(one) || edited.has(nameOf(tenant, subjectId))) continue
    const name = JSON.stringify([tenant, own])
    ids.set(name, (ids.get(name) ?? new Set()).add(story.id))
    names.set(story.id, (names.get(story.id) ?? new Set()).add(name))
    const most = sayers(posts, tenant, own)
    const labelled = Object.values(story.labels).reduce((sum, count) => sum + count, 0)
    if (story.members < 1 || story.members > most * (1 + losses))
      breaches.push(`${id} counts ${story.members} posts of its story, and the topic has ${most}`)
    if (labelled > story.members) breaches.push(`${id} counts ${labelled} labels of ${story.members} posts`)
  }
  for (const [name, own] of ids)
    if (own.size > 1 && losses === 0) breaches.push(`${name} has the ids ${[...own].join(', ')}`)
  for (const [id, own] of names) if (own.size > 1) breaches.push(`the story ${id} is of ${[...own].join(' and ')}`)
  return [...breaches, ...counted.flatMap(miscounted)].map((line) => `stories: ${line}`)
}

function isMachines({ decidedBy, restored }: Verdict): boolean {
  return decidedBy !== 'human' && decidedBy !== 'deleted' && restored === undefined
}

/** What copies of a post have in common; the text itself where it is too short for a story. */
function saidIn(text: string, media: readonly { readonly url?: string | undefined }[]): string {
  return JSON.stringify([storyWords(text) ?? text, media.map(({ url }) => url ?? null)])
}

const nameOf = (tenant: string, id: string) => JSON.stringify([tenant, id])

interface ToldPost {
  readonly id: string
  readonly tenant?: string
  readonly text?: string
  readonly media?: { readonly url?: string }[]
}

/** The posts that are no dead letters. */
function readable(posts: readonly TopicRecord[]): ToldPost[] {
  return posts
    .filter(({ headers }) => headers[DEAD_HEADER] === undefined)
    .map(({ value }) => JSON.parse(value) as ToldPost)
}

/** The posts that have said more than one thing. */
function editedIn(posts: readonly TopicRecord[]): ReadonlySet<string> {
  const first = new Map<string, string>()
  const edited = new Set<string>()
  for (const one of readable(posts)) {
    if (one.text === undefined) continue
    const [name, own] = [nameOf(one.tenant ?? 'default', one.id), saidIn(one.text.toWellFormed(), one.media ?? [])]
    if ((first.get(name) ?? own) !== own) edited.add(name)
    first.set(name, own)
  }
  return edited
}

/** How many posts of the tenant have said so at some time. */
function sayers(posts: readonly TopicRecord[], tenant: string, own: string): number {
  const all = new Set<string>()
  for (const one of readable(posts)) {
    if ((one.tenant ?? 'default') === tenant && saidIn((one.text ?? '').toWellFormed(), one.media ?? []) === own)
      all.add(one.id)
  }
  return all.size
}

/** Counts below 0, and those of threads that stay that are not as many. */
function miscounted({ key, fields, staying }: CountedStory): string[] {
  const counts = Object.entries(fields).filter(([field]) => /^\d+ (posts|reach|label )/.test(field))
  const below = counts.flatMap(([field, count]) => (Number(count) < 0 ? [`${key} has ${count} of "${field}"`] : []))
  const expected = new Map([['0 posts', staying.length]])
  for (const label of staying.flat()) expected.set(`0 label ${label}`, (expected.get(`0 label ${label}`) ?? 0) + 1)
  const own = new Map(
    counts.flatMap(([field, count]) => (/^0 (posts|label )/.test(field) ? [[field, Number(count)]] : [])),
  )
  const differ = [...new Set([...expected.keys(), ...own.keys()])].flatMap((field) => {
    const [has, is] = [own.get(field) ?? 0, expected.get(field) ?? 0]
    return has === is ? [] : [`${key} has ${has} of "${field}", and its threads are ${is}`]
  })
  return [...below, ...differ]
}

/** The stories that Redis counts, with their threads. */
export async function countedIn(client: Redis, prefix: string): Promise<CountedStory[]> {
  const staying = new Map<string, string[][]>()
  for (const key of await keysOf(client, `${prefix}*thread:*`)) {
    const fields = await client.hgetall(key).catch((): Record<string, string> => ({}))
    const [, root, tenant] = /^(\{.*?\}:)thread:([^/:]*)/.exec(key) ?? []
    if (fields.story === undefined || fields.storyEnd !== undefined || root === undefined) continue
    const told = Object.entries(fields).flatMap(([name, label]) =>
      name.startsWith('told:') ? [`${name.slice(5)} ${label}`] : [],
    )
    const name = `${root}story:${tenant}:${fields.story}`
    staying.set(name, [...(staying.get(name) ?? []), told])
  }
  const keys = (await keysOf(client, `${prefix}*story:*`)).filter((key) => !key.endsWith(':twins'))
  return Promise.all(
    [...new Set([...keys, ...staying.keys()])].map(async (key) => ({
      key,
      fields: await client.hgetall(key),
      staying: staying.get(key) ?? [],
    })),
  )
}

async function keysOf(client: Redis, pattern: string): Promise<string[]> {
  const found = new Set<string>()
  for (let cursor = '0'; ; ) {
    const [next, some] = await client.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000)
    for (const key of some) found.add(key)
    if (next === '0') return [...found]
    cursor = next
  }
}
