import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { filePartsOf } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Post } from '../../src/contracts/facts/thread.ts'
import { questionIn } from '../../src/lab/commands/lane/asked-decider.ts'
import { deciderQuestion } from '../../src/protocols/decider-question.ts'
import { readLane } from '../../src/protocols/lane-file.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { ownFolder } from '../support/own-folder.ts'
import { LANE_LABELS, type LaneProtocol, plantedLane, protocolWith, writtenLane } from '../support/planted-lane.ts'
import { By, drive, Failed, MODEL, type Replies } from './drive.ts'

const folder = ownFolder('lanes')

const KINDS = Object.keys(LANE_LABELS) as LaneProtocol[] // The keys are its own.
const LABELS = LANE_LABELS
const grounds = (name: LaneProtocol) => plantedLane(name, MODEL)
const make = (name: string, own: Readonly<Record<string, unknown>> = {}, decider = MODEL) =>
  protocolWith(name, own, decider)

let files = 0
const written = (lane: unknown) => writtenLane(join(folder, `lane-${files++}.json`), lane)

const POST: Post = { id: 'p', text: 'the words of a post', lang: 'en-GB', createdAt: 0 }
const said = (name: LaneProtocol, nth: 0 | 1, probability: number) => {
  const [one, other] = LABELS[name]
  const likely = nth === 0 ? [probability, 1 - probability] : [1 - probability, probability]
  return { label: LABELS[name][nth], probabilities: { [one]: likely[0], [other]: likely[1] }, wire: 'chat' }
}

/** All that the protocol asks, where a decider says this, and anything else fails. */
function run(
  protocol: ReturnType<typeof make>,
  decider: unknown,
  {
    post = POST,
    under,
    ...context
  }: { post?: Post; under?: { text: string }; tenant?: string; closedLane?: string } = {},
) {
  const replies: Replies = ({ ask }) => (ask.role === 'decider' ? decider : new Failed('unavailable', 'away'))
  const subject = { post, comments: [], leftOut: 0, ...(under === undefined ? {} : { under }) }
  const { asked, conclusion } = drive(
    protocol.script(subject, null, { overloaded: false, tenant: 'default', ...context }),
    replies,
  )
  return { asked: asked.map(({ ask }) => ask), ruling: conclusion.ruling }
}

it.each(KINDS)('%s: a decider that is sure enough settles it, with one question', (name) => {
  const lane = make(name, { lane: [written(grounds(name))] })
  const hash = lane.laneFor?.('default')?.hash
  expect(hash).toMatch(/^[0-9a-f]{16}$/)
  for (const nth of [0, 1] as const) {
    const { asked, ruling } = run(lane, said(name, nth, 0.93))
    expect(asked).toHaveLength(1)
    expect(ruling).toMatchObject({
      label: LABELS[name][nth],
      decidedBy: 'lane',
      debated: { held: false, why: 'lane' },
      confidence: { value: 0.98, how: 'lane' },
      policy: { hash: expect.any(String) },
      degraded: [],
      lane: hash,
    })
  }
})

it.each(KINDS)(
  '%s: what a decider is not sure of is judged as ever, and no later question shows what it said',
  (name) => {
    const own = { debateWhen: 'always' }
    const [plain, lane] = [make(name, own), make(name, { ...own, lane: [written(grounds(name))] })]
    const without = run(plain, null)
    const unsure = [
      said(name, 0, 0.8),
      { ...said(name, 0, 0.99), wire: 'systemone' },
      { label: LABELS[name][0] },
      new By('another model', said(name, 0, 0.99)),
      new Failed('unreadable', 'no JSON'),
      new Failed('budget', 'spent'),
    ]
    expect(without.asked.length).toBeGreaterThan(0)
    for (const decider of unsure) {
      const { asked, ruling } = run(lane, decider)
      expect(asked[0]).toMatchObject({ role: 'decider', stage: 'decide', spared: true })
      expect(JSON.stringify(asked.slice(1))).toBe(JSON.stringify(without.asked))
      // Its failure is no part of the verdict.
      expect(ruling).toEqual({ ...without.ruling, lane: lane.laneFor?.('default')?.hash })
    }
  },
)

it.each(KINDS)('%s: a benign label needs every word read; a harmful one does not', (name) => {
  const lane = make(name, { lane: [written(grounds(name))] })
  const cut: Post = { ...POST, cut: { left: 10, of: 100 } }
  expect(run(lane, said(name, 1, 0.99), { post: cut }).ruling.decidedBy).not.toBe('lane')
  expect(run(lane, said(name, 0, 0.99), { post: cut }).ruling).toMatchObject({
    decidedBy: 'lane',
    degraded: [expect.stringContaining('10 of 100 characters not read')],
  })
  const long: Post = { ...POST, text: 'words '.repeat(5_000) }
  expect(run(lane, said(name, 1, 0.99), { post: long }).ruling.decidedBy).not.toBe('lane')
})

it.each(KINDS)('%s: nobody asks a decider about pictures, clips, and comments: its promise is about texts', (name) => {
  const lane = make(name, { lane: [written(grounds(name))] })
  const asksFirst = (given: Parameters<typeof run>[2]) => run(lane, said(name, 0, 0.99), given).asked[0]?.role
  expect(asksFirst({})).toBe('decider')
  expect(asksFirst({ post: { ...POST, media: [{ kind: 'image', url: 'https://example.org/1.png' }] } })).not.toBe(
    'decider',
  )
  expect(asksFirst({ post: { ...POST, clips: [{ kind: 'video', transcript: 'said' }] } })).not.toBe('decider')
  expect(asksFirst({ under: { text: 'a post' } })).not.toBe('decider')
})

it('a closed lane asks nobody, and the verdict says so; a language without a threshold is not settled', () => {
  const lane = make('hate', { lane: [written(grounds('hate'))] })
  const hash = lane.laneFor?.('default')?.hash ?? ''
  const { asked, ruling } = run(lane, said('hate', 0, 0.99), { closedLane: hash })
  expect(asked.every(({ role }) => role !== 'decider')).toBe(true)
  expect(ruling.lane).toBe(`closed-${hash}`)
  // Another one was closed.
  expect(run(lane, said('hate', 0, 0.99), { closedLane: 'another' }).ruling.decidedBy).toBe('lane')
  expect(run(lane, said('hate', 0, 0.99), { post: { ...POST, lang: 'ko' } }).ruling.decidedBy).not.toBe('lane')
})

it('a lane is void where its prompts, its policy or its decider are others; nothing stops', () => {
  const given = grounds('hate')
  const other = { name: 'hate', version: '1', hash: 'another' }
  for (const [lane, why] of [
    [
      { ...given, decider: { ...given.decider, prompts: 'others' } },
      'the question that its decider was asked is another now',
    ],
    [{ ...given, decider: { ...given.decider, prompts: null } }, 'its answers are of a file'],
    [{ ...given, policy: other }, 'it holds for the policy hate 1'],
    [{ ...given, policy: null }, 'it holds for the policy (none)'],
    [
      { ...given, policy: given.policy && { ...given.policy, hash: 'other' } },
      'it holds for another text of the policy Hate speech, in plain words 2 than is in force',
    ],
  ] as const) {
    const made = make('hate', { lane: [written(lane)] })
    expect(made.lanes?.[0]?.isVoid('default')).toContain(why)
    expect(made.laneFor?.('default')).toBeUndefined()
    expect(run(made, said('hate', 0, 0.99)).asked[0]?.role).not.toBe('decider')
  }
})

it('is void where the same prompts ask in another way: other dialects, and another length of texts', () => {
  const settings = loadSettings({})
  const kind = PROTOCOLS.find(({ name }) => name === 'hate')
  if (kind === undefined) throw new Error('hate')
  const hashWith = (dialect: object, maxChars = settings.fences.maxChars) =>
    questionIn(
      {
        ...settings,
        fences: { ...settings.fences, maxChars },
        models: { ...settings.models, roles: { decider: [MODEL] }, dialects: { [MODEL]: dialect } },
      },
      kind,
    ).promptsHash
  const other = [{ form: 'text' }, { thinkingTokens: 4_096 }, { effort: 'none' }, { logprobs: 2 }, { system: 'user' }]
  expect(new Set([hashWith({}), hashWith({}, 14_000), ...other.map((one) => hashWith(one))]).size).toBe(7)
  expect(hashWith({ decisions: 'openai' })).toBe(hashWith({}))
  const over = make('hate', {
    lane: [written({ ...grounds('hate'), decider: { ...grounds('hate').decider, wire: 'openai' } })],
  })
  expect(over.lanes?.[0]?.isVoid('default')).toBe('its decider answered over openai, and models.dialects has chat')
})

it('holds under whatever key a deployment has for its fences', () => {
  const settings = loadSettings({})
  const kind = PROTOCOLS.find(({ name }) => name === 'hate')
  if (kind === undefined) throw new Error('hate')
  const parts = filePartsOf(kind, settings.protocols.hate ?? { enabled: true })
  const hashes = Array.from({ length: 100 }, (_, key) => {
    const fence = fences(`key ${key}`, settings.fences)
    return deciderQuestion(kind, { ...parts, fence, samplingRank: samplingRanks('any') }).promptsHash
  })
  expect(new Set(hashes).size).toBe(1)
})

it('where another has the role decider it is not asked; settings name it as the file does, however its server says it', () => {
  const given = grounds('hate')
  const asked = { ...given, decider: { ...given.decider, asked: 'typesafe/one' } }
  const settledBy = (lane: unknown, decider: string) =>
    run(make('hate', { lane: [written(lane)] }, decider), said('hate', 0, 0.99)).asked.map(({ role }) => role)[0]
  expect(settledBy(given, MODEL)).toBe('decider')
  expect(settledBy(asked, 'typesafe/one')).toBe('decider')
  expect(settledBy(given, 'another')).not.toBe('decider')
  expect(settledBy(asked, MODEL)).not.toBe('decider')
  const [own, others] = [MODEL, 'another'].map((decider) => make('hate', { lane: [written(given)] }, decider))
  expect(others?.laneFor?.('default')).toBeUndefined()
  expect(others?.lanes?.[0]?.isVoid('default')).toBe(`it holds for ${MODEL}, and another has the role decider`)
  // A case that was opened with the other is not gone on with in another shape.
  expect(others?.settingsHash).not.toBe(own?.settingsHash)
})

it('of two tenants each has its own thresholds; another tenant’s are never used', () => {
  const given = grounds('hate')
  const theirs = { ...given, tenant: 'acme', thresholds: given.thresholds.slice(1) }
  const [own, alone] = [
    make('hate', { lane: [written(given), written(theirs)] }),
    make('hate', { lane: [written(theirs)] }),
  ]
  const hateful = said('hate', 0, 0.99)
  expect(run(own, hateful).ruling.decidedBy).toBe('lane')
  expect(run(own, hateful, { tenant: 'acme' }).ruling.decidedBy).not.toBe('lane')
  expect(run(own, said('hate', 1, 0.99), { tenant: 'acme' }).ruling.decidedBy).toBe('lane')
  expect(run(alone, hateful).asked[0]?.role).not.toBe('decider')
})

it('under paper there is none; without one nothing of a protocol is another', () => {
  const path = written(grounds('hate'))
  expect(make('hate', { preset: 'paper', lane: [path] }).lanes).toBeUndefined()
  const [plain, lane] = [make('hate', { lane: [] }), make('hate', { lane: [path] })]
  expect(plain).toMatchObject({ promptsHash: make('hate').promptsHash, settingsHash: make('hate').settingsHash })
  expect(lane.settingsHash).not.toBe(plain.settingsHash)
  expect(lane.mostCalls(POST, 0)).toBe(plain.mostCalls(POST, 0) + 1)
  expect(lane.stages).toEqual(['decide', ...plain.stages])
})

it('its closing is kept by the decider, how it was asked, and the labels: by no promise, tenant or answers', () => {
  const given = grounds('hate')
  const basisOf = (more: object) => readLane(JSON.stringify({ ...given, ...more })).basis
  const { decider, promise } = given
  for (const same of [
    { promise: { ...promise, risk: 0.1 } },
    { promise: { ...promise, delta: 0.1 } },
    { tenant: 'acme', policy: null },
    { decider: { ...decider, answers: 'b' }, thresholds: given.thresholds.slice(1), settles: 0.2 },
    { data: { ...given.data, items: 9 } },
  ])
    expect(basisOf(same), JSON.stringify(same)).toBe(basisOf({}))
  for (const other of [
    { decider: { ...decider, model: 'b' } },
    { decider: { ...decider, prompts: 'b' } },
    { decider: { ...decider, wire: 'openai' } },
    { data: { ...given.data, sha256: 'b' } },
    { protocol: 'safety' },
  ])
    expect(basisOf(other), JSON.stringify(other)).not.toBe(basisOf({}))
})

it('is no surer of a label than its test can show', () => {
  const given = grounds('hate')
  const certain = given.thresholds.map((one) => ({
    ...one,
    map: { method: 'isotonic', steps: [{ from: 0.9, right: 1 }] },
  }))
  const lane = make('hate', { lane: [written({ ...given, thresholds: certain })] })
  expect(run(lane, said('hate', 0, 0.99)).ruling.confidence).toEqual({ value: 101 / 102, how: 'lane' })
})

it('takes no file that promises nothing, or what nothing could show', () => {
  const given = grounds('hate')
  for (const more of [{ risk: 0 }, { risk: 0.51 }, { risk: 1 }, { delta: 0 }, { delta: 1 }]) {
    const text = JSON.stringify({ ...given, promise: { ...given.promise, ...more } })
    expect(() => readLane(text), text).toThrow(`promise.${Object.keys(more)[0]}`)
  }
})

it('names every fault of its files', () => {
  const given = grounds('hate')
  const paths = [
    written('{'),
    written({ ...given, thresholds: [] }),
    join(folder, 'none.json'),
    written(given),
    written(given),
  ]
  expect(() => make('hate', { lane: paths })).toThrow(
    new RegExp(
      [
        "protocols.hate.lane: .*lane-\\d+.json can't be read: .*JSON.*",
        "protocols.hate.lane: .*lane-\\d+.json can't be read: thresholds: .*",
        "protocols.hate.lane: .*none.json can't be read: ENOENT.*",
        'protocols.hate.lane: .*lane-\\d+.json is for the same tenant as .*lane-\\d+.json',
      ].join('\\s+'),
    ),
  )
  expect(() => make('safety', { lane: [paths[3]] })).toThrow('is for hate')
})
