import { createHash, type Hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { type Ask, keptAnswer } from '../../src/contracts/facts/ask.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { byTimeThenId, type Comment, type Medium, type Snapshot } from '../../src/contracts/facts/thread.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { breakpointsIn, jsonSchema, withFormat } from '../../src/models/format.ts'
import { type Dice, dice } from '../chaos/dice.ts'
import { type Asked, drive, plainRank } from '../protocols/drive.ts'

// Every question that `preset: paper` asks about the public data sets, as digests: no word of theirs is kept here. Subjects are
// read from the files themselves, and answers are drawn: neither follows a change of the code.

/** What was asked of one protocol about one data set. */
export interface PaperDigests {
  /** Subjects that it judged. Threads with comments are judged three times: by half of them, by all, and again by all. */
  readonly subjects: number
  readonly asks: number
  /** By stage and speaker, of every ask in order. */
  readonly digests: Readonly<Record<string, string>>
}

interface Row {
  readonly words: string
  readonly image?: Omit<Medium, 'kind'>
  readonly thread?: RawThread
}
interface RawThread {
  readonly id: string
  readonly lang?: string
  readonly created_at?: number
  readonly claim: string
  readonly comments: readonly {
    readonly id?: string
    readonly parent?: string
    readonly t: number | string
    readonly text: string
  }[]
}

const ofThread = (thread: RawThread): Row => ({ words: thread.claim, thread })

/** The public files, and what of a row is judged. */
const DATA_SETS: Readonly<Record<string, (row: never) => Row>> = {
  'rumoureval2017/threads': ofThread,
  'covid19-rumor/threads': ofThread,
  'hatecheck/cases': ({ test_case }: { test_case: string }) => ({ words: test_case }),
  'implicit-hate/posts': ({ text }: { text: string }) => ({ words: text }),
  'kodoli/comments': ({ text }: { text: string }) => ({ words: text }),
  'openai-moderation/samples': ({ prompt }: { prompt: string }) => ({ words: prompt }),
  'airbench/only_text': ({ input }: { input: string }) => ({ words: input }),
  'airbench/only_img': ({ description }: { description: string }) => ({ words: '', image: { description } }),
  // As if nobody had described the image yet: a model is asked to.
  'airbench/text_img': ({ text, open_url }: { text: string; open_url: string }) => ({
    words: text,
    image: { url: `https://images.example/${open_url}` },
  }),
}
export const DATA_SET_NAMES = Object.keys(DATA_SETS)

const MOST_DRAWS = 1_000
const FOLDER = join(PROJECT, '..', 'shared', 'data')
const settings = loadSettings({})
const fence = fences('a key', settings.fences)

/** The protocols under `preset: paper`, all else as shipped. */
export function paperProtocols(): Protocol[] {
  return ['rumor', 'hate', 'safety', 'counterspeech'].flatMap((name) => {
    const own = { ...settings.protocols[name], enabled: true, preset: 'paper' }
    return makeProtocols({ [name]: own } as typeof settings.protocols, fence, plainRank)
  })
}

/** What each protocol asks about a data set, by its name; null where the file is absent. */
export function paperDigests(protocols: readonly Protocol[], dataSet: string): Record<string, PaperDigests> | null {
  const file = join(FOLDER, `${dataSet}.jsonl`)
  const rowOf = DATA_SETS[dataSet]
  if (rowOf === undefined || !existsSync(file)) return null
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const rows = lines.map((line) => rowOf(JSON.parse(line) as never))
  return Object.fromEntries(protocols.map((protocol) => [protocol.name, digestsOf(protocol, rows)]))
}

function digestsOf(protocol: Protocol, rows: readonly Row[]): PaperDigests {
  const digests = new Map<string, Hash>()
  let [subjects, asks] = [0, 0]
  for (const [at, row] of rows.entries()) {
    const whole = subjectOf(row, at, rows.at(at - 1)?.words ?? '', protocol.subject)
    if (!protocol.accepts(whole.post)) continue
    subjects++
    let carry: unknown = null
    for (const subject of revisionsOf(whole)) {
      const { asked, conclusion } = drive(protocol.script(subject, carry), (one) => answerTo(one, at))
      // What the next revision is given has been through the store.
      carry = conclusion.carry === undefined ? null : JSON.parse(JSON.stringify(conclusion.carry))
      for (const { ask } of asked) {
        const question = `${ask.stage} ${ask.role}`
        const digest = digests.get(question) ?? createHash('sha256')
        digests.set(question, digest.update(JSON.stringify(sentIn(ask))))
        asks++
      }
    }
  }
  const hex = [...digests].map(([question, digest]) => [question, digest.digest('hex').slice(0, 16)])
  return { subjects, asks, digests: Object.fromEntries(hex.sort()) }
}

/** All of an ask that reaches a model or the library. */
function sentIn(ask: Ask): unknown {
  const { temperature, maxTokens, draw, expected, lookup } = ask
  if (lookup !== undefined) return lookup
  return [temperature, maxTokens, draw, expected, withFormat(ask), jsonSchema(ask.answer), breakpointsIn(ask)]
}

/** A subject of the kind that the protocol judges. A reply answers the words of the row before. */
function subjectOf({ words, image, thread }: Row, at: number, before: string, kind: Protocol['subject']): Snapshot {
  const createdAt = (thread?.created_at ?? at) * 1000
  const post = {
    id: `p${at}`,
    text: words,
    createdAt,
    ...(thread?.lang === undefined ? {} : { lang: thread.lang }),
    ...(image === undefined ? {} : { media: [{ kind: 'image' as const, ...image }] }),
    ...(kind === 'reply' ? { hateSpeech: before } : {}),
  }
  const comments = kind === 'thread' ? (thread?.comments ?? []) : []
  const read = comments.map(
    ({ id, parent, t, text }, nth): Comment => ({
      id: id ?? `c${nth}`,
      text,
      createdAt: createdAt + (typeof t === 'number' ? t : nth) * 1000,
      ...(parent === undefined ? {} : { parentId: parent }),
    }),
  )
  return { post, comments: read.sort(byTimeThenId), leftOut: 0 }
}

function revisionsOf(whole: Snapshot): Snapshot[] {
  const half = Math.ceil(whole.comments.length / 2)
  return half === 0 ? [whole] : [{ ...whole, comments: whole.comments.slice(0, half) }, whole, whole]
}

/** An answer in the form that is asked for, drawn by its place and the same in each revision: sides differ and change their minds. */
function answerTo({ ask, round, order }: Asked, at: number): unknown {
  const draws = dice(at, `${round} ${order} ${ask.stage}`)
  if (ask.lookup !== undefined) return { shelves: ask.lookup.shelves.map((shelf) => found(shelf, draws)), weak: null }
  // An answer may be in the form and contradict itself, as a rule and its label: then another is drawn.
  for (let tries = 0; tries < MOST_DRAWS; tries++) {
    const answer = drawn(jsonSchema(ask.answer) as Form, draws)
    if (keptAnswer(ask).safeParse(answer).success) return answer
  }
  throw new Error(`no drawn answer fits ${ask.stage}`)
}

function found(shelf: string, draws: Dice): unknown {
  const neighbours = Array.from({ length: draws.between(0, 3) }, (_, nth) => ({
    id: `${shelf}-${nth}`,
    text: `an earlier text, ${draws.between(1, 99)}`,
    label: draws.pick(['safe', 'unsafe']),
    similarity: 0.9,
    metadata: {},
  }))
  return { shelf, problem: null, neighbours }
}

interface Form {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Form[]
  readonly properties?: Readonly<Record<string, Form>>
  readonly items?: Form
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

/** A value of a JSON Schema. Numbers are on a grid of twentieths of their range, both ends included. */
function drawn(form: Form, draws: Dice): unknown {
  if (form.const !== undefined) return form.const
  if (form.enum !== undefined) return draws.pick(form.enum)
  if (form.anyOf !== undefined) return drawn(draws.pick(form.anyOf), draws)
  switch (form.type) {
    case 'object':
      return Object.fromEntries(Object.entries(form.properties ?? {}).map(([key, one]) => [key, drawn(one, draws)]))
    case 'array': {
      const least = form.minItems ?? 0
      const length = draws.between(least, Math.min(form.maxItems ?? least + 1, least + 1))
      return Array.from({ length }, () => drawn(form.items ?? {}, draws))
    }
    case 'integer':
      return draws.between(form.minimum ?? 0, form.maximum ?? 1)
    case 'number': {
      const { minimum = 0, maximum = 1 } = form
      return minimum + (draws.between(0, 20) / 20) * (maximum - minimum)
    }
    case 'boolean':
      return draws.chance(0.5)
    case 'null':
      return null
    default:
      return `words, ${draws.between(1, 999)}`
  }
}
