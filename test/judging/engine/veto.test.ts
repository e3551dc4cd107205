import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { vetoes as vetoSettings } from '../../../config/vetoes.ts'
import type { Ask } from '../../../src/contracts/facts/ask.ts'
import { PermanentError } from '../../../src/contracts/facts/errors.ts'
import type { Post, Snapshot } from '../../../src/contracts/facts/thread.ts'
import { transcript, verdict } from '../../../src/contracts/facts/verdict.ts'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'
import type { Attempt, Work } from '../../../src/contracts/ports/stage-queues.ts'
import { judge } from '../../../src/judging/engine/judge.ts'
import { type Protocol, round, type Script } from '../../../src/judging/engine/script.ts'
import { gateway } from '../../../src/models/gateway.ts'
import { imageCache } from '../../../src/models/image-cache.ts'
import { openVetoLists } from '../../../src/models/vetoes/veto-lists.ts'
import { vetoChecks } from '../../../src/models/vetoes/vetoes.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { memoryLookedAt } from '../../../src/store/veto/memory.ts'
import { ARRIVAL, postOf, RULES, recordOf, said, T0, thread } from '../../contracts/samples.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { asksIn, GATEWAY, memoryParts, noLibrary, protocolNamed } from '../../support/parts.ts'
import { WRITES } from '../../support/verdicts.ts'

const folder = ownFolder('vetoes')
const BAD = 'data:image/png;base64,bad'
const sha256 = (dataUrl: string) =>
  createHash('sha256')
    .update(Buffer.from(dataUrl.slice(dataUrl.indexOf(',') + 1), 'base64'))
    .digest('hex')
const list = (name: string, ...lines: readonly string[]) => {
  writeFileSync(join(folder, name), lines.join('\n'))
  return join(folder, name)
}
const BAD_LIST = { kind: 'sha256', list: list('bad.txt', sha256(BAD)) }
const SPAM_LIST = { kind: 'pattern', list: list('spam.txt', '(?i)free\\s+money') }

const answer = z.object({ word: z.string() })
/** Shows the post, its images and its comments to a model, whose word is the label. */
function* asking(subject: unknown): Script {
  const { post, comments, elsewhere = [] } = subject as Snapshot // the engine gives a snapshot
  const content = [post.text, ...[...comments, ...elsewhere].map(({ text }) => text)].join('\n')
  const images = (post.media ?? []).flatMap(({ url }) => url ?? [])
  const ask: Ask<{ word: string }> = {
    stage: 'word',
    role: 'speaker',
    messages: [{ role: 'user', content, ...(images.length === 0 ? {} : { images }) }],
    answer,
    temperature: 0,
    maxTokens: 10,
  }
  const [said] = yield* round([ask])
  return {
    ruling: {
      label: said.ok ? said.answer.word : null,
      scores: {},
      rationale: 'so it is',
      decidedBy: said.ok ? 'judge' : 'none',
      rounds: 1,
      evidence: { support: [], oppose: [], precedents: [] },
      degraded: said.ok ? [] : [said.detail],
    },
  }
}
const SAFETY: Protocol = protocolNamed('safety', { script: asking, labels: ['unsafe', 'safe'], harmful: 'unsafe' })
const HATE: Protocol = protocolNamed('hate', { script: asking, labels: ['hate', 'safe'], harmful: 'hate' })

/** A post's cases, judged with these lists. `host` is what the addresses show, and takes some time for it. */
async function judged(given: {
  readonly post: Partial<Post>
  readonly vetoes: object
  readonly host?: (url: string, nth: number) => Promise<string>
  readonly word?: string
  readonly protocols?: readonly Protocol[]
  /** Comments under other posts that it is shown. */
  readonly elsewhere?: Snapshot['elsewhere']
  /** When it is judged, in ms after it was opened. */
  readonly after?: number
}) {
  const {
    post,
    host = async () => {
      throw new PermanentError('image', 'gone')
    },
    word = 'safe',
    protocols = [SAFETY],
    elsewhere,
  } = given
  let now = T0
  const clock = () => now
  const stores = memoryStores(clock)
  const ref = thread('P')
  await stores.threads.putPost(ref, postOf(ref, post), ARRIVAL, RULES)
  await stores.threads.putComments(ref, [said('c1', { text: 'THE COMMENT' })], T0, RULES)
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  const ids = await stores.threads.open(state, {
    cases: protocols.map(({ name }) => {
      const record = recordOf(state, name)
      const subject = { ...(record.subject as Snapshot), ...(elsewhere === undefined ? {} : { elsewhere }) } // as: just made
      return { record: { ...record, subject }, seen: state.version }
    }),
    waiting: [],
    dormant: [],
    nextDue: null,
    final: false,
  })
  now += given.after ?? 0
  const fetched: string[] = []
  const requests: ModelRequest[] = []
  const load = async (url: string) => {
    if (url.startsWith('data:')) return url
    fetched.push(url)
    return host(url, fetched.length)
  }
  const lists = await openVetoLists(vetoSettings.parse(given.vetoes))
  const images = imageCache(load, GATEWAY.images, clock)
  const decode = async () => Buffer.from(`${'0f'.repeat(32)} 100`)
  const looked = memoryLookedAt(clock)
  // Two processes.
  const works = [0, 1].map(() => {
    const vetoes = vetoChecks({ lists: () => lists, looked, images, decode, clock })
    return judge({
      protocols: new Map(protocols.map((one) => [one.name, one])),
      cases: stores.cases,
      vetoes,
      gateway: gateway({
        model: {
          async complete(request) {
            requests.push(request)
            const counts = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 }
            return { text: JSON.stringify({ word }), finish: 'stop', model: 'm', ...counts }
          },
        },
        loadImage: vetoes.guard(load),
        ...memoryParts(clock),
        settings: GATEWAY,
        clock,
        report: () => {},
      }),
      library: noLibrary,
      clock,
      report: () => {},
      settings: { maxTakeovers: 20, handBack: 30_000, transcriptBytes: 900_000, writes: WRITES },
    })
  })
  let waits = 0
  for (const id of ids) waits += await workOff(works, id)
  const entries = (await stores.outbox.next('test', 100, 1)).flatMap((entry) =>
    entry.kind === 'verdict' ? [entry] : [],
  )
  return {
    fetched,
    requests,
    waits,
    verdicts: entries.map((entry) => verdict.parse(JSON.parse(entry.verdict))),
    transcripts: entries.map((entry) => transcript.parse(JSON.parse(entry.transcript))),
    texts: entries.map(({ verdict, transcript }) => verdict + transcript).join('\n'),
    sent: JSON.stringify(requests.map(({ messages }) => messages)),
  }
}

/** The processes take turns. Returns how often the case had to wait. */
async function workOff(works: readonly Work[], id: string): Promise<number> {
  let waits = 0
  for (let turn = 0; turn < 200; turn++) {
    const work = works[turn % works.length]
    const advance = await work?.advance(id)
    if (advance?.next === 'done') return waits
    if (advance?.next === 'later') {
      waits++
      await sleep(20)
      continue
    }
    for (const staged of advance === undefined ? [] : asksIn(advance)) {
      const signal = new AbortController().signal
      const attempt: Attempt = { ...staged, number: 1, last: true, waitSeconds: 0, heldMs: 0, signal }
      await work?.answer(attempt)
    }
  }
  throw new Error('no end')
}

const picture = (url: string, more: object = {}) => ({ kind: 'image' as const, url, ...more })

describe('a subject on a list', () => {
  test('gets its verdict without a model, and of it hashes alone are kept', async () => {
    const { verdicts, transcripts, requests, texts } = await judged({
      post: { text: 'THE WORDS', media: [picture(BAD, { alt: 'THE DESCRIPTION' })] },
      vetoes: { known: BAD_LIST },
    })
    expect(requests).toEqual([])
    expect(verdicts).toMatchObject([
      {
        label: 'unsafe',
        decidedBy: 'veto',
        veto: { list: 'known', entry: sha256(BAD) },
        debated: { held: false, why: 'veto' },
        degraded: [],
        usage: { calls: 0 },
        counts: { accepted: 1, judged: 0 },
      },
    ])
    expect(transcripts[0]?.subject).toMatchObject({
      post: {
        text: `sha256:${createHash('sha256').update('THE WORDS').digest('hex')}`,
        media: [{ kind: 'image', sha256: sha256(BAD) }],
      },
      comments: [],
    })
    expect(texts).not.toMatch(/THE WORDS|THE DESCRIPTION|THE COMMENT|data:/)
  })

  test('has the labels that its list names, and none of other protocols', async () => {
    const vetoes = { known: { ...BAD_LIST, labels: { hate: 'hate' } } }
    const { verdicts } = await judged({ post: { media: [picture(BAD)] }, vetoes, protocols: [SAFETY, HATE] })
    expect(verdicts.map(({ protocol, label, decidedBy }) => [protocol, label, decidedBy])).toEqual([
      ['safety', null, 'veto'],
      ['hate', 'hate', 'veto'],
    ])
  })

  test.for([
    ['its text', { text: 'get FREE  money' }],
    ['what it answers', { text: 'no', hateSpeech: 'free money' }],
    ["an image's description", { media: [picture('https://a.example/', { alt: 'free money' })] }],
    ['what is said in a clip', { clips: [{ kind: 'audio' as const, transcript: 'free money' }] }],
  ] as const)('by %s is recognized', async ([, post]) => {
    const { verdicts, fetched, requests } = await judged({ post: post as Partial<Post>, vetoes: { spam: SPAM_LIST } })
    expect(verdicts).toMatchObject([{ decidedBy: 'veto', veto: { list: 'spam', entry: '(?i)free\\s+money' } }])
    expect([fetched, requests]).toEqual([[], []])
  })

  test('by a hash that its message says costs no fetch', async () => {
    const { verdicts, fetched } = await judged({
      post: { media: [picture('https://a.example/1', { sha256: sha256(BAD) })] },
      vetoes: { known: BAD_LIST },
    })
    expect(verdicts).toMatchObject([{ decidedBy: 'veto' }])
    expect(fetched).toEqual([])
  })

  test('by its picture is fetched once, whichever process asks, for all protocols', async () => {
    const { verdicts, fetched, requests, waits } = await judged({
      post: { media: [picture('https://a.example/1')] },
      vetoes: { known: BAD_LIST },
      host: async () => {
        await sleep(500)
        return BAD
      },
      protocols: [SAFETY, HATE],
    })
    expect(verdicts.map(({ decidedBy }) => decidedBy)).toEqual(['veto', 'veto'])
    expect(fetched).toEqual(['https://a.example/1'])
    expect(requests).toEqual([])
    expect(waits).toBeGreaterThan(0)
  })

  test('by what it looks like is recognized', async () => {
    const near = `0e${'0f'.repeat(31)}`
    const { verdicts } = await judged({
      post: { media: [picture('https://a.example/1')] },
      vetoes: { alike: { kind: 'pdq', list: list('alike.txt', near) } },
      host: async () => 'data:image/png;base64,any',
    })
    expect(verdicts).toMatchObject([{ decidedBy: 'veto', veto: { list: 'alike', entry: near } }])
  })
})

describe('a picture that can not be had', () => {
  const post = { text: 'harmless', media: [picture('https://a.example/gone')] }
  const WHY = 'media.0: not compared with every list, and shown to no model: gone'

  test.for([
    ['fail-closed', 'safe', null],
    ['fail-closed', 'unsafe', 'unsafe'],
    ['fail-open', 'safe', 'safe'],
  ] as const)('%s: what looks %s is %s, and no model is shown it', async ([unavailable, word, label]) => {
    const found = await judged({ post, vetoes: { known: { ...BAD_LIST, unavailable } }, word })
    expect(found.verdicts).toMatchObject([{ label, degraded: expect.arrayContaining([WHY]) }])
    expect(found.requests).toHaveLength(1)
    expect(found.sent).not.toContain('a.example')
    expect(found.fetched).toHaveLength(1)
  })

  test('is not missed where only words are compared', async () => {
    const found = await judged({ post: { text: 'harmless' }, vetoes: { spam: SPAM_LIST } })
    expect(found.verdicts).toMatchObject([{ label: 'safe', degraded: [] }])
  })
})

test('a case whose deadline comes before its pictures ends, and of its words hashes alone are kept', async () => {
  const { requests, verdicts, texts } = await judged({
    post: { text: 'THE WORDS', media: [picture('https://a.example/1')] },
    vetoes: { known: BAD_LIST },
    host: () => new Promise(() => {}),
    after: 2 * 3_600_000,
  })
  expect(requests).toEqual([])
  expect(verdicts).toMatchObject([
    { label: null, degraded: ['not compared with the lists: its deadline came before its pictures'] },
  ])
  expect(texts).not.toContain('THE WORDS')
})

test('a picture that its host exchanges after it was compared is shown to no model', async () => {
  const { requests, verdicts } = await judged({
    post: { text: 'harmless', media: [picture('https://a.example/1')] },
    vetoes: { known: BAD_LIST },
    host: async (_, nth) => (nth === 1 ? 'data:image/png;base64,good' : BAD),
  })
  expect(requests).toEqual([])
  expect(verdicts).toMatchObject([{ label: null, decidedBy: 'none', degraded: ['it is on the list known'] }])
})

test('comments beside it that are on a list reach no model', async () => {
  const { sent, verdicts, texts } = await judged({
    post: { text: 'harmless' },
    vetoes: { comments: { kind: 'pattern', list: list('comments.txt', 'THE COMMENT') } },
  })
  expect(sent).toContain('harmless')
  expect(sent + texts).not.toContain('THE COMMENT')
  expect(verdicts).toMatchObject([{ label: 'safe', degraded: ['1 texts beside it are on a list: left out'] }])
})

test('a picture that is on no list is judged', async () => {
  const { requests, verdicts } = await judged({
    post: { text: 'harmless', media: [picture('https://a.example/1')] },
    vetoes: { known: BAD_LIST, spam: SPAM_LIST },
    host: async () => 'data:image/png;base64,good',
  })
  expect(verdicts).toMatchObject([{ label: 'safe', decidedBy: 'judge' }])
  expect(verdicts[0]).not.toHaveProperty('veto')
  expect(requests).toHaveLength(1)
})

test('a comment under another post that is on a list is shown to no model, and nothing else is left out for it', async () => {
  const comment = (id: string, text: string) => ({ id, text, createdAt: T0 })
  const elsewhere = [comment('t~c1', 'Get FREE money now'), comment('t~c2', 'So it was here')]
  const { requests, verdicts, texts } = await judged({
    post: { text: 'A claim' },
    vetoes: { spam: SPAM_LIST },
    elsewhere,
  })
  expect(requests[0]?.messages[0]?.content).toMatch(/^A claim\nTHE COMMENT\nSo it was here\n\n/)
  expect(verdicts[0]).toMatchObject({ label: 'safe', evidence: { elsewhere: ['t~c2'] } })
  expect(verdicts[0]?.degraded.join()).toContain('1 texts beside it are on a list: left out')
  expect(texts).not.toContain('FREE money')
})

test('under paper nothing is compared', async () => {
  const { verdicts } = await judged({
    post: { text: 'free money' },
    vetoes: { spam: SPAM_LIST },
    protocols: [{ ...SAFETY, faithful: true }],
  })
  expect(verdicts).toMatchObject([{ decidedBy: 'judge' }])
})
