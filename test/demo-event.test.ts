import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { loadSettings } from '../config/load.ts'
import { answer } from '../src/kit/understudy/answer.ts'
import { readHateSettings } from '../src/protocols/hate/settings.ts'
import { storyWords } from '../src/protocols/same-words.ts'

const post = z.object({ id: z.string(), text: z.string() })
const counterspeech = post.extend({ type: z.literal('counterspeech'), hateSpeech: z.string() })

const config = new URL('../config/', import.meta.url)
const linesOf = (file: string) => readFileSync(new URL(file, config), 'utf8').trimEnd().split('\n')

const rows = linesOf('demo/event.jsonl').map((line): unknown => JSON.parse(line))
const texts = rows.flatMap((row) => post.safeParse(row).data ?? [])
const replies = rows.flatMap((row) => counterspeech.safeParse(row).data ?? [])

function textOf(postId: string): string {
  const row = texts.find(({ id }) => id === postId)
  if (row === undefined) throw new Error(`${postId} is not in the event`)
  return row.text
}

describe('what the demo event has for hate, safety and counterspeech', () => {
  test.each([
    ['calvera-p13', 'Offensive', 'Hate Speech', 'hate', 'the slur'],
    ['calvera-p14', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'its quotation'],
    ['calvera-p15', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'its reclaiming'],
    ['calvera-p6', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'a grumble'],
    ['calvera-p17', 'Not Offensive', 'Not Hate Speech', 'non-hate', 'sabotage, which is no hate'],
  ])('%s is %s, %s and %s to the understudy (%s)', (postId, offence, hate, judgement) => {
    const text = fence('text', textOf(postId))
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
    const content = fence('post', textOf(postId))
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

test('the demo event has eighteen posts of a fire, and three further ones that repeat three of these', () => {
  const posts = rows.flatMap((row) => post.extend({ type: z.literal('post') }).safeParse(row).data ?? [])
  const stories = Map.groupBy(posts, ({ text }) => storyWords(text) ?? text)
  expect([posts.length, stories.size]).toEqual([21, 18])
  const copies = [...stories.values()].flatMap((all) => (all.length > 1 ? [all.map(({ id }) => id)] : []))
  expect(copies).toEqual([
    ['calvera-p3', 'calvera-p20'],
    ['calvera-p4', 'calvera-p19'],
    ['calvera-p5', 'calvera-p21'],
  ])
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
    expect(shelves).toEqual(expect.arrayContaining([...readHateSettings(hate).perspectives]))
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
    const items = readdirSync(new URL('demo/shelves/', config)).flatMap((file) =>
      linesOf(`demo/shelves/${file}`).map((line) => item.loose().parse(JSON.parse(line)).text),
    )
    expect(new Set(items).size).toBe(items.length)
    expect(texts.filter(({ text }) => items.includes(text))).toEqual([])
  })
})

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
