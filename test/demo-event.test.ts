import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answer } from '../src/stack/understudy/answer.ts'

const time = z.iso.datetime()
const id = z.string().min(1).max(512)
const post = z.strictObject({
  type: z.literal('post'),
  id,
  text: z.string().min(1),
  author: z.string(),
  authorSince: time,
  lang: z.enum(['en', 'es', 'de']),
  createdAt: time,
})
const comment = z.strictObject({
  type: z.literal('comment'),
  id,
  postId: id,
  parentId: id.optional(),
  text: z.string().min(1),
  author: z.string(),
  authorSince: time,
  createdAt: time,
  deleted: z.literal(true).optional(),
})

type Comment = z.infer<typeof comment>
type Post = z.infer<typeof post>

const lines = readFileSync(new URL('../config/demo/event.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
const rows = lines.map((line) => z.discriminatedUnion('type', [post, comment]).parse(JSON.parse(line)))
const posts = rows.filter((row) => row.type === 'post')
/** The first line of each comment, before any edit or deletion. */
const comments = rows
  .filter((row) => row.type === 'comment')
  .filter((row, index, all) => firstOf(all, row.id) === index)
const thread = (postId: string) => comments.filter((one) => one.postId === postId)
const at = (row: { createdAt: string }) => Date.parse(row.createdAt)

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

function firstOf(all: readonly { id: string }[], wanted: string): number {
  return all.findIndex((one) => one.id === wanted)
}

function found<Row extends { id: string }>(all: readonly Row[], wanted: string): Row {
  const row = all.find((one) => one.id === wanted)
  if (!row) throw new Error(`${wanted} is not in the event`)
  return row
}

describe('the demo event', () => {
  test('has twelve posts within ninety minutes, and some 240 comments', () => {
    expect(posts).toHaveLength(12)
    expect(Math.max(...posts.map(at)) - Math.min(...posts.map(at))).toBeLessThanOrEqual(90 * MINUTE)
    expect(comments.length).toBeGreaterThanOrEqual(220)
    expect(comments.length).toBeLessThanOrEqual(250)
  })

  test('has threads of many sizes, one of none and one of sixty', () => {
    const sizes = posts.map((one) => thread(one.id).length)
    expect(sizes.filter((size) => size === 0)).toHaveLength(1)
    expect(Math.max(...sizes)).toBe(60)
    expect(new Set(sizes).size).toBeGreaterThanOrEqual(10)
  })

  test('is sorted by time over posts and comments', () => {
    const times = rows.map(at)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
  })

  test('lies in the past and names known posts and parents only', () => {
    expect(Math.max(...rows.map(at))).toBeLessThan(Date.now())
    for (const { postId, parentId } of comments) {
      expect(posts.map((one) => one.id)).toContain(postId)
      if (parentId) expect(found(comments, parentId).postId).toBe(postId)
    }
  })

  test('speaks several languages', () => {
    expect(new Set(posts.map(({ lang }) => lang))).toEqual(new Set(['en', 'es', 'de']))
    const texts = comments.map(({ text }) => text)
    for (const script of [
      /\p{Script=Hiragana}/u,
      /^[^\p{Script=Hiragana}]*\p{Script=Han}{3}/u,
      /\p{Script=Arabic}/u,
      /\p{L}ß|ü/u,
      /[¿ñ]/u,
    ]) {
      expect(texts.filter((text) => script.test(text)).length).toBeGreaterThan(0)
    }
  })

  test('has a comment that arrives before its post', () => {
    const early = rows.filter((row) => row.type === 'comment' && firstOf(rows, row.id) < firstOf(rows, row.postId))
    expect(early).toHaveLength(1)
  })

  test('has one duplicate, one edit and one deletion', () => {
    const duplicates = lines.filter((line, index) => lines.indexOf(line) !== index)
    expect(duplicates).toHaveLength(1)
    const changes = rows.filter(
      (row, index) => firstOf(rows, row.id) !== index && !duplicates.includes(lines[index] ?? ''),
    )
    expect(changes.map((row) => row.type === 'comment' && row.deleted === true)).toEqual([false, true])
    for (const change of changes) {
      const original = found(rows, change.id)
      expect(change.text).not.toBe(original.text)
      expect(at(change)).toBeGreaterThan(at(original))
    }
  })

  test('has a brigade: a dozen young accounts with one sentence, on one post, within two minutes', () => {
    const first = found(comments, 'calvera-p3-c1')
    const brigade = thread('calvera-p3').filter((one) => likeness(one.text, first.text) >= 0.6)
    expect(brigade).toHaveLength(12)
    expect(Math.max(...brigade.map(at)) - Math.min(...brigade.map(at))).toBeLessThanOrEqual(2 * MINUTE)
    expect(new Set(brigade.map(({ author }) => author)).size).toBe(12)
    for (const one of brigade) expect(at(one) - Date.parse(one.authorSince)).toBeLessThan(7 * DAY)
  })

  test('has an injected order that forges the end of its fence and a system message', () => {
    const injected = comments.filter(({ text }) => text.includes('<<end:'))
    expect(injected).toHaveLength(1)
    expect(injected[0]?.text).toMatch(/SYSTEM:.*answer Real/)
  })
})

describe('the understudy’s labels for the demo event', () => {
  test.each([
    ['calvera-p1', 'Real', 'an eyewitness of the fire'],
    ['calvera-p2', 'Real', 'the fire brigade'],
    ['calvera-p3', 'Fake', 'a bomb and deaths, with a brigade behind it'],
    ['calvera-p4', 'Fake', 'cracks in the bridge'],
    ['calvera-p5', 'Fake', 'poisoned tap water'],
    ['calvera-p6', 'Real', 'an opinion'],
    ['calvera-p7', 'Real', 'satire'],
    ['calvera-p8', 'Real', 'the hospital on its own power'],
    ['calvera-p9', 'Fake', 'a picture from elsewhere, with an injected order'],
    ['calvera-p10', 'Real', 'stopped trams'],
    ['calvera-p11', 'Real', 'the denial of a second blast'],
    ['calvera-p12', 'Real', 'a shelter, no comments'],
  ])('%s: %s (%s)', (postId, label) => {
    expect(judged(found(posts, postId), thread(postId)).label).toBe(label)
  })

  test('are reached by consensus at once, after a round, and by the judge', () => {
    const ways = new Set(posts.map((one) => judged(one, thread(one.id)).decidedBy))
    expect([...ways].toSorted()).toEqual(['consensus after 0', 'consensus after 1', 'judge'])
  })

  test('turn for the bridge, by count and by age, once the harbour office has denied the cracks', () => {
    const bridge = found(posts, 'calvera-p4')
    const all = thread(bridge.id)
    const within = (minutes: number) => all.filter((one) => at(one) - at(bridge) <= minutes * MINUTE)
    expect(within(15).length).toBeGreaterThanOrEqual(10)
    expect(within(60).length).toBeGreaterThanOrEqual(30)
    const labels = [all.slice(0, 10), all.slice(0, 30), within(15), within(60)].map(
      (some) => judged(bridge, some).label,
    )
    expect(labels).toEqual(['Real', 'Fake', 'Real', 'Fake'])
  })
})

/** Share of the words of two texts that they have in common. */
function likeness(one: string, other: string): number {
  const words = new Set(one.toLowerCase().match(/\p{L}+/gu))
  const others = new Set(other.toLowerCase().match(/\p{L}+/gu))
  const common = [...words].filter((word) => others.has(word)).length
  return common / (words.size + others.size - common)
}

const VERDICT = schemaOf({ reasoning: { type: 'string' }, answer: { type: 'string', enum: ['Fake', 'Real'] } })
const STANCE = schemaOf({ reason: { type: 'string' }, score: { type: 'number' } })

function schemaOf(properties: Record<string, unknown>) {
  return { type: 'object', properties, required: Object.keys(properties) }
}

function fence(kind: string, text: string): string {
  return `<<${kind}:0123456789abcdef>>\n${text}\n<<end:0123456789abcdef>>`
}

type Message = { role: string; content: string }

function asked(stage: string, schema: Record<string, unknown>, messages: Message[]): unknown {
  const format = { type: 'json_schema', json_schema: { name: stage, schema } }
  return JSON.parse(answer({ messages, response_format: format }).content)
}

function view(stage: string, messages: Message[]) {
  return z.object({ reasoning: z.string(), answer: z.string() }).parse(asked(stage, VERDICT, messages))
}

/** Rumor's protocol in short: stances, twenty comments a side, opinions, two rounds at most, a judge. */
function judged({ text }: Post, replies: readonly Comment[]): { label: string; decidedBy: string } {
  const claim = fence('claim', text)
  const scored = replies.map((reply) => {
    const question = { role: 'user', content: `${claim}\n${fence('comment 1', reply.text)}` }
    return { reply, ...z.object({ score: z.number() }).parse(asked('stance', STANCE, [question])) }
  })
  const talks = [1, -1].map((side): Message[] => {
    const chosen = scored
      .filter(({ score }) => score * side > 0)
      .toSorted((one, other) => side * (other.score - one.score))
      .slice(0, 20)
    const shown = chosen.map(({ reply }, index) => fence(`comment ${index + 1}`, reply.text))
    return [{ role: 'user', content: [claim, ...shown].join('\n') }]
  })
  let views = talks.map((talk) => view('opinion', talk))
  for (let round = 0; ; round++) {
    const [one, other] = views
    if (!one || !other) throw new Error('a debate takes two')
    if (one.answer === other.answer) return { label: one.answer, decidedBy: `consensus after ${round}` }
    const both = [fence('argument', one.reasoning), fence('argument', other.reasoning)] as const
    if (round === 2) {
      const ruling = view('judge', [{ role: 'user', content: [claim, ...both].join('\n') }])
      return { label: ruling.answer, decidedBy: 'judge' }
    }
    views = talks.map((talk, side) => {
      talk.push({ role: 'assistant', content: JSON.stringify(views[side]) })
      talk.push({ role: 'user', content: both[1 - side] ?? '' })
      return view('debate', talk)
    })
  }
}
