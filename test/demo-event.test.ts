import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { loadSettings } from '../config/load.ts'
import { answer } from '../src/kit/understudy/answer.ts'
import { commentMessage, counterspeechMessage, postMessage } from '../src/service/domain/messages.ts'
import { applyPreset, hateSettings } from '../src/service/protocols/hate/settings.ts'

const time = z.iso.datetime()
const id = z.string().min(1).max(512)
const post = z.strictObject({
  type: z.literal('post'),
  id,
  text: z.string().min(1),
  author: z.string(),
  authorSince: time,
  lang: z.enum(['en', 'es', 'de']),
  media: z.tuple([z.strictObject({ kind: z.literal('image'), url: z.string(), alt: z.string().min(1) })]).optional(),
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

const counterspeech = z.strictObject({
  type: z.literal('counterspeech'),
  id,
  postId: id,
  hateSpeech: z.string().min(1),
  text: z.string().min(1),
  createdAt: time,
})

type Comment = z.infer<typeof comment>
type Post = z.infer<typeof post>

const config = new URL('../config/', import.meta.url)
const linesOf = (file: string) => readFileSync(new URL(file, config), 'utf8').trimEnd().split('\n')

const lines = linesOf('demo/event.jsonl')
const rows = lines.map((line) => z.discriminatedUnion('type', [post, comment, counterspeech]).parse(JSON.parse(line)))
const posts = rows.filter((row) => row.type === 'post')
const replies = rows.filter((row) => row.type === 'counterspeech')
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
  test('is made of messages as the topics take them', () => {
    const schemas = { post: postMessage, comment: commentMessage, counterspeech: counterspeechMessage }
    for (const { type, ...message } of rows) expect(schemas[type].safeParse(message)).toMatchObject({ success: true })
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
      const original = found<(typeof rows)[number]>(rows, change.id)
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

describe('what the demo event has for hate, safety and counterspeech', () => {
  const slur = found(posts, 'calvera-p13')

  test('is two answers to the slur, written after it', () => {
    for (const reply of replies) {
      expect(reply).toMatchObject({ postId: slur.id, hateSpeech: slur.text })
      expect(at(reply)).toBeGreaterThan(at(slur))
    }
  })

  test('is a small picture with a caption', () => {
    const pictures = posts.flatMap(({ media }) => media ?? [])
    expect(pictures).toHaveLength(1)
    const [start, bytes = ''] = pictures[0]?.url.split(',') ?? []
    expect(start).toBe('data:image/png;base64')
    const image = Buffer.from(bytes, 'base64')
    expect(image.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
    expect(image.length).toBeLessThan(1024)
  })

  test.each([
    ['calvera-p13', 'Offensive', 'Hate Speech', 'hate', 'the slur'],
    ['calvera-p14', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'its quotation'],
    ['calvera-p15', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'its reclaiming'],
    ['calvera-p6', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'a grumble'],
    ['calvera-p17', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'sabotage, which is no hate'],
  ])('%s is %s, %s and %s to the understudy (%s)', (postId, offence, hate, judgement) => {
    const text = fence('text', found(posts, postId).text)
    const labelled = (stage: string, labels: string[]) =>
      asked(stage, schemaOf({ reason: { type: 'string' }, label: { type: 'string', enum: labels } }), [
        { role: 'user', content: text },
      ])
    const unsure = "I don't know"
    expect(labelled('perspective', ['Not Offensive', 'Offensive', unsure])).toMatchObject({ label: offence })
    expect(labelled('perspective', ['Not Hate Speech', 'Hate Speech', unsure])).toMatchObject({ label: hate })
    expect(labelled('judge', ['non-hate', 'hate'])).toMatchObject({ label: judgement })
  })

  test.each([
    ['calvera-p17', 'confirmation', 'unsafe', 'how to get past the barriers'],
    ['calvera-p18', 'exoneration', 'safe', 'a warning of poison'],
    ['calvera-p14', 'exoneration', 'safe', 'a reported slur'],
    ['calvera-p16', 'default-safe', 'safe', 'a street with lamps'],
  ])('%s is ruled by %s: %s, to the understudy (%s)', (postId, rule, label) => {
    const schema = schemaOf({
      reasoning: { type: 'string' },
      rule: { type: 'string', enum: ['exoneration', 'confirmation', 'default-safe'] },
      score: { type: 'number' },
      label: { type: 'string', enum: ['unsafe', 'safe'] },
    })
    const content = fence('post', found(posts, postId).text)
    expect(asked('arbitrate', schema, [{ role: 'user', content }])).toMatchObject({ rule, label })
  })

  test('are a good and a bad answer to the understudy, in every aspect', () => {
    const scores = replies.map((reply) =>
      ['relevance', 'aggressiveness', 'coherence', 'suitableness'].map((aspect) => {
        const score = { type: 'integer', minimum: 1, maximum: aspect === 'suitableness' ? 3 : 5 }
        const content = `${aspect}\n${fence('hate-speech', reply.hateSpeech)}\n${fence('counterspeech', reply.text)}`
        const schema = schemaOf({ reasoning: { type: 'string' }, score })
        return z.object({ score: z.int() }).parse(asked('score', schema, [{ role: 'user', content }])).score
      }),
    )
    const [good = [], bad = []] = scores
    expect(good.map((score, aspect) => Math.sign(score - (bad[aspect] ?? 0)))).toEqual([1, -1, 1, 1])
  })
})

describe('the demo’s shelves', () => {
  const item = z.strictObject({ text: z.string().min(1), label: z.string() })
  const precedent = item.extend({
    label: z.enum(['safe', 'unsafe']),
    metadata: z.strictObject({ keyCues: z.string().min(1), summary: z.string().min(1) }),
  })
  const perspective = z.object({
    shelf: z.string().optional(),
    labels: z.array(z.object({ means: z.enum(['hate', 'non-hate']), shelf: z.array(z.string()).optional() })),
  })
  const perspectives = readdirSync(new URL('perspectives/', config))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => perspective.parse(parse(readFileSync(new URL(`perspectives/${file}`, config), 'utf8'))))
    .filter(({ shelf }) => shelf !== undefined)
  const shelves = readdirSync(new URL('demo/shelves/', config)).map((file) => file.replace(/\.jsonl$/, ''))

  test('are there for each perspective of the paper', () => {
    const { enabled: _, ...hate } = loadSettings({ GAVEL_PROTOCOLS_HATE_PRESET: 'paper' }).protocols.hate ?? {}
    expect(shelves).toEqual(expect.arrayContaining([...applyPreset(hateSettings.parse(hate)).perspectives]))
  })

  test.each(shelves.filter((shelf) => shelf !== 'precedents'))(
    '%s: eight examples in its perspective’s labels, of hate and of none',
    (name) => {
      const items = linesOf(`demo/shelves/${name}.jsonl`).map((line) => item.parse(JSON.parse(line)))
      expect(items).toHaveLength(8)
      const labels = perspectives.find(({ shelf }) => shelf === name)?.labels ?? []
      const meanings = items.map(({ label }) => labels.find(({ shelf }) => shelf?.includes(label))?.means)
      expect(meanings).not.toContain(undefined)
      expect(new Set(meanings).size).toBe(2)
    },
  )

  test('precedents: ten, safe and unsafe, with their key cues', () => {
    const items = linesOf('demo/shelves/precedents.jsonl').map((line) => precedent.parse(JSON.parse(line)))
    expect(items).toHaveLength(10)
    expect(new Set(items.map(({ label }) => label)).size).toBe(2)
  })

  test('hold no text of the event and none twice', () => {
    const texts = readdirSync(new URL('demo/shelves/', config)).flatMap((file) =>
      linesOf(`demo/shelves/${file}`).map((line) => item.loose().parse(JSON.parse(line)).text),
    )
    expect(new Set(texts).size).toBe(texts.length)
    expect(rows.filter(({ text }) => texts.includes(text))).toEqual([])
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
    ['calvera-p18', 'Real', 'a warning, no comments'],
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
