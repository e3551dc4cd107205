import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { judgeFile } from '../../src/app/commands/judge.ts'
import { otherModels } from '../../src/app/commands/paper-models.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { startStandIn } from '../../src/commands.ts'
import type { Post, Snapshot } from '../../src/contracts/facts/thread.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { ownFolder, removeOwnFolders } from '../support/own-folder.ts'
import { type Asked, drive, Failed, plainFence, plainRank, wordsOf } from './drive.ts'

// What the preset `paper` does in all four protocols alike.

afterAll(removeOwnFolders)

const settings = loadSettings({})
const NAMES = ['rumor', 'hate', 'safety', 'counterspeech'] as const
type Name = (typeof NAMES)[number]

function under(name: Name, over: object): typeof settings {
  const given = { ...settings.protocols, [name]: { ...settings.protocols[name], ...over } }
  return { ...settings, protocols: given as typeof settings.protocols }
}

function made(name: Name, over: object): Protocol {
  const protocol = makeProtocols(under(name, over).protocols, plainFence, plainRank).find((one) => one.name === name)
  if (protocol === undefined) throw new Error(`no protocol ${name}`)
  return protocol
}

const post: Post = {
  id: 'p',
  text: 'They closed the bridge.',
  createdAt: 0,
  media: [{ kind: 'image', url: 'https://images.example/a.png', alt: 'a bridge' }],
}
const comments = ['It is so.', 'It is not.'].map((text, at) => ({ id: `c${at}`, text, createdAt: at }))
const subjects: Record<Name, Snapshot> = {
  rumor: { post, comments, leftOut: 0 },
  hate: { post, comments: [], leftOut: 0 },
  safety: { post, comments: [], leftOut: 0 },
  counterspeech: { post: { id: 'r', text: 'No.', hateSpeech: 'They lie.', createdAt: 0 }, comments: [], leftOut: 0 },
}

const EXAMPLES = {
  shelf: 'kold',
  problem: null,
  neighbours: [{ id: 'n', text: 'an example', label: 'NOT', similarity: 0.9, metadata: {} }],
}

/** Answers under which each stage of each protocol is reached; the debaters of `rumor` never agree. */
function reply({ ask, order }: Asked): unknown {
  if (ask.lookup?.shelves.includes('kold')) return { shelves: [EXAMPLES], weak: null }
  if (ask.lookup !== undefined) return new Failed()
  const answers = [
    { reason: 'r', score: order % 2 === 0 ? 0.5 : -0.5 },
    { scores: [1, 2].map((comment) => ({ comment, reason: 'r', score: comment === 1 ? 0.5 : -0.5 })) },
    { reason: 'r', answer: 'No' },
    { reasoning: 'r', answer: ask.label === 'oppose' ? 'Fake' : 'Real' },
    { reason: 'r', label: 'Offensive' },
    { reason: 'r', label: 'Hate Speech' },
    { reason: 'r', label: 'Hateful' },
    { reason: 'r', label: 'hate' },
    { argument: 'a' },
    { argument: 'a', holds: 'yes' },
    { seen: 'yes', description: 'd' },
    { summary: 's', precedents: [], patterns: 'none' },
    { reasoning: 'r', evidence: [], rule: 'default-safe', categories: [], score: 0.5, label: 'safe' },
    { reasoning: 'r', score: ask.stage === 'score' ? 1 : 0.5 },
    { steps: ['Look.'] },
  ]
  const fitting = answers.find((answer) => ask.answer.safeParse(answer).success)
  if (fitting === undefined) throw new Error(`no answer fits ${ask.stage}`)
  return fitting
}

/** The same, but for the first turn of a debate, which gets no answer. */
const losing = (asked: Asked): unknown => (['debate', 'strict'].includes(asked.ask.stage) ? new Failed() : reply(asked))

const asksOf = (name: Name, over: object) =>
  [reply, losing]
    .flatMap((replies) => drive(made(name, over).script(subjects[name], null), replies).asked.map(({ ask }) => ask))
    .filter(({ lookup }) => lookup === undefined)

/** Every way in which a protocol words its questions. */
const WAYS: Record<Name, readonly object[]> = {
  rumor: [{}, { promptKind: 'subjective' }, { debate: false }, { stance: false }, { decide: 'vanilla' }],
  hate: [
    ...[
      {},
      { perspectives: ['kold'] },
      { history: 'code', exits: false },
      { show: 'criteria' },
      { show: 'examples', perspectives: ['kold'] },
    ].map((way) => ({ debateWhen: 'always', ...way })),
    { decide: 'zero-shot' },
    { debateWhen: 'never' },
  ],
  safety: [
    ...[{}, { strict: false }, { loose: false }, { supporter: false }].map((way) => ({
      debateWhen: 'contested',
      ...way,
    })),
    { debateWhen: 'never' },
  ],
  counterspeech: [{}, { steps: 'zero-shot' }, { steps: 'model-written' }],
}

/** What only the default says, and which protocols say it. */
const DEPARTURES: readonly (readonly [string, RegExp, readonly Name[]])[] = [
  ['a language', /in English/, NAMES],
  [
    'what else to look at',
    /logic, its evidence|how coherent each is|the criteria decide|speaks most strongly/,
    ['rumor', 'hate', 'safety'],
  ],
  ['what its answers mean', /Fake: |A text is hateful if|the label that the rule gives/, ['rumor', 'hate', 'safety']],
  ['that a mind may be changed', /change your mind/, ['hate']],
  ['what to argue from without a reference', /from the text itself/, ['hate']],
  ['to concede, or what a concession weighs', /conced|concession/, ['safety']],
  ['not to make anything up', /invent|make none up|add nothing that was not seen/, ['safety']],
  ['what to do about a debater who is missing', /by yourself|look yourself|violations yourself/, ['safety']],
  ['what to do about a turn that was lost', /did not arrive|Missing turns/, ['hate', 'safety']],
  ['more of a criterion than Figure 5', /the more (relevant|coherent|suitable)|and the worse/, ['counterspeech']],
]

describe.each(NAMES)('the preset `paper` of %s', (name) => {
  const asks = (over: object) => WAYS[name].flatMap((way) => asksOf(name, { ...way, ...over }))
  const words = (over: object) => asks(over).map(({ messages }) => wordsOf(messages))

  test.each(DEPARTURES)('tells no model %s', (_, departure) => {
    for (const one of words({ preset: 'paper' })) expect(one).not.toMatch(departure)
  })

  test.each(DEPARTURES.filter(([, , where]) => where.includes(name)))(
    'while the default tells it %s',
    (_, departure) => {
      expect(words({ preset: 'none' }).some((one) => departure.test(one))).toBe(true)
    },
  )

  test('cuts no answer short', () => {
    for (const { maxTokens } of asks({ preset: 'paper', answerTokens: 16 })) expect(maxTokens).toBe(4_096)
    for (const { maxTokens } of asks({ preset: 'paper', answerTokens: 8_000 })) expect(maxTokens).toBe(8_000)
  })

  test('asks at the paper’s temperature, or for want of one at its code’s, whatever is set', () => {
    const temperatures = asks({ preset: 'paper', temperature: 1.3 }).map(({ temperature }) => temperature)
    expect(new Set(temperatures)).toEqual(new Set([name === 'rumor' ? 0.2 : 0]))
    expect(asks({ temperature: 1.3 })[0]?.temperature).toBe(1.3)
  })

  test('has every question reach a model', () => {
    expect(made(name, { preset: 'paper' }).faithful).toBe(true)
    expect(made(name, { preset: 'none' }).faithful).toBe(false)
  })
})

const EVENT = join(PROJECT, 'test', 'protocols', 'twice.jsonl')
const verdictsOf = async (
  name: Name,
  preset: 'none' | 'paper' | 'thrifty',
  over: object = {},
  event = EVENT,
  format: 'gavel' | 'airbench-both' = 'gavel',
  more: Partial<typeof settings> = {},
) => {
  const verdicts: Verdict[] = []
  const said: string[] = []
  const judged = await judgeFile(
    // One after the other, so that the second finds what the first was told.
    { ...under(name, { preset, ...over }), ...more, cases: { ...settings.cases, maxOpen: 1 } },
    event,
    { protocol: name, format, finalAge: Number.POSITIVE_INFINITY, transcript: false, json: true },
    {
      terminal: {
        out: (line) => void verdicts.push(verdict.parse(JSON.parse(String(line)))),
        say: (line) => void said.push(String(line)),
        progress: () => {},
      },
      startStandIn,
      signal: AbortSignal.timeout(30_000),
    },
  )
  expect(judged.verdicts).toBe(2)
  return { verdicts, said }
}

describe('the memo', () => {
  test.each(NAMES)('answers no question of %s under `paper`, and the second of two alike otherwise', async (name) => {
    const paper = await verdictsOf(name, 'paper')
    for (const { usage } of paper.verdicts) expect(usage.memoHits).toBe(0)
    const [first, second] = paper.verdicts
    expect(first?.usage.calls).toBeGreaterThan(0)
    expect(second?.usage.calls).toBe(first?.usage.calls)

    const known = (await verdictsOf(name, 'none')).verdicts.at(-1)
    expect(known?.usage.memoHits).toBeGreaterThan(0)
    expect(known?.usage.calls).toBe(0)
    expect(paper.said.join('\n')).toContain(`${name}, preset paper: `)
  })
})

test('of a file, every comment is judged under `paper`, as the paper does, and otherwise a sample', async () => {
  const at = '2025-01-01T12:00:00Z'
  const lines = ['p1', 'p2'].flatMap((id) => [
    { type: 'post', id, text: `the bridge at ${id} has fallen`, createdAt: at },
    ...Array.from({ length: 8 }, (_, nth) => ({
      type: 'comment',
      id: `${id}-${nth}`,
      postId: id,
      text: `${nth} people saw it`,
      createdAt: at,
      ...(nth < 4 ? { author: 'a' } : {}),
    })),
  ])
  const event = join(ownFolder('whole'), 'whole.jsonl')
  writeFileSync(event, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const threads = { ...settings.threads, maxComments: 3, maxPerAuthor: 2, maxUnnamed: 2 }
  const judgedUnder = async (preset: 'none' | 'paper') =>
    (await verdictsOf('rumor', preset, { decide: 'debate' }, event, 'gavel', { threads })).verdicts.map(
      ({ counts }) => counts.judged,
    )
  expect(await judgedUnder('paper')).toEqual([8, 8])
  expect(await judgedUnder('none')).toEqual([3, 3])
})

test.each(NAMES)('the memo answers all of the second of two alike of %s under `thrifty`', async (name) => {
  const [first, second] = (await verdictsOf(name, 'thrifty')).verdicts
  expect(first?.usage.calls).toBeGreaterThan(0)
  expect(second?.usage.calls).toBe(0)
  expect(second?.usage.memoHits).toBeGreaterThan(0)
  expect(second?.label).toBe(first?.label)
})

test('so it does of a post with an image, which a small arbiter rules on first', async () => {
  const row = { text: 'a walk by the river', description: 'A river, and two people with a dog.', voted_risk: '0' }
  const event = join(ownFolder('twice'), 'twice.jsonl')
  writeFileSync(event, `${JSON.stringify(row)}\n`.repeat(2))
  const [first, second] = (await verdictsOf('safety', 'thrifty', { debateWhen: 'contested' }, event, 'airbench-both'))
    .verdicts
  // Strict, loose, and one ruling by the model of both debaters.
  expect(first).toMatchObject({ label: 'safe', usage: { calls: 3 } })
  expect(Object.keys(first?.models ?? {})).not.toContain('arbiter')
  expect(second).toMatchObject({ label: 'safe', usage: { calls: 0, memoHits: 3 } })
})

test('steps that the model writes (G-EVAL) are written once, and then the same for every reply, also under `paper`', async () => {
  const { verdicts } = await verdictsOf('counterspeech', 'paper', { steps: 'model-written' })
  expect(verdicts.map(({ usage: { calls, memoHits } }) => ({ calls, memoHits }))).toEqual([
    { calls: 8, memoHits: 0 },
    { calls: 4, memoHits: 4 },
  ])
  const [first, second] = verdicts.map(({ steps }) => steps)
  expect(second).toEqual(first)
  expect(first?.relevance).toMatchObject({ source: 'model-written', digest: expect.stringMatching(/^\w{16}$/) })
})

describe('the models of the papers', () => {
  const lines = (name: Name, over: Partial<typeof settings> = {}) =>
    otherModels({ ...under(name, { preset: 'paper' }), ...over })
  const roles = (given: Record<string, string[]>) => ({ models: { ...settings.models, roles: given } })

  test('are named where others are set', () => {
    expect(lines('rumor')).toEqual([
      'rumor, preset paper: scorer gpt-6-luna (its paper: glm-3-turbo), debater gpt-6-luna (its paper: gpt-3.5-turbo), judge gpt-6-luna (its paper: gpt-3.5-turbo)',
    ])
    expect(lines('hate')).toEqual([
      'hate, preset paper: perspective gpt-6-luna (its paper: gpt-3.5-turbo-0125), debater gpt-6-luna (its paper: gpt-3.5-turbo-0125), judge gpt-6-luna (its paper: gpt-3.5-turbo-0125), embedder local (its paper: text-embedding-ada-002)',
    ])
    expect(lines('safety')).toEqual([
      'safety, preset paper: describer gpt-6.1-terra (its paper: gpt-4.1), supporter gpt-6-luna (its paper: gpt-4o-mini), strict gpt-6-luna (its paper: gpt-4o-mini), loose gpt-6-luna (its paper: gpt-4o-mini), arbiter gpt-6.1-terra (its paper: gpt-4o), curator gpt-6.1-terra (its paper: gpt-4o)',
    ])
    expect(lines('counterspeech')).toEqual([
      'counterspeech, preset paper: scorer gpt-6-luna (its paper: gpt-4), steps-writer gpt-6-luna (its paper: gpt-4)',
    ])
  })

  test('are not named where they are set, by a protocol’s own role too, or in a dated snapshot', () => {
    expect(lines('counterspeech', roles({ default: ['gpt-4-0613'] }))).toEqual([])
    expect(
      lines(
        'safety',
        roles({
          default: ['gpt-4o-mini'],
          arbiter: ['gpt-4o-2024-08-06'],
          curator: ['gpt-4o'],
          'safety.describer': ['gpt-4.1'],
        }),
      ),
    ).toEqual([])
    const ada = { ...settings.library, embedder: 'text-embedding-ada-002' }
    expect(lines('hate', { ...roles({ default: ['gpt-3.5-turbo-0125'] }), library: ada })).toEqual([])
  })

  test('are no other model whose name begins alike, nor one that falls over to another', () => {
    expect(lines('counterspeech', roles({ default: ['gpt-4-turbo'] }))).toHaveLength(1)
    expect(
      lines(
        'safety',
        roles({ default: ['gpt-4o-mini'], arbiter: ['gpt-4o-mini'], describer: ['gpt-4.1'], curator: ['gpt-4o'] }),
      ),
    ).toEqual(['safety, preset paper: arbiter gpt-4o-mini (its paper: gpt-4o)'])
    expect(lines('counterspeech', roles({ default: ['gpt-4', 'small'] }))[0]).toContain('scorer gpt-4, then small')
  })

  test('are nobody’s concern without the preset, or where the protocol is off', () => {
    expect(otherModels(settings)).toEqual([])
    expect(otherModels(under('hate', { preset: 'paper', enabled: false }))).toEqual([])
  })
})
