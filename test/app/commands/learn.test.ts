import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { judgeFile } from '../../../src/app/commands/judge.ts'
import { command as approveProposals } from '../../../src/app/commands/learn/approve.ts'
import { command as learnCommand } from '../../../src/app/commands/learn/learn.ts'
import { learnFile } from '../../../src/app/commands/learn/learn-feedback.ts'
import { command as listProposals } from '../../../src/app/commands/learn/list.ts'
import { command as rejectProposals } from '../../../src/app/commands/learn/reject.ts'
import { command as showProposal } from '../../../src/app/commands/learn/show.ts'
import { command as libraryHistory } from '../../../src/app/commands/library/history.ts'
import { command as rollbackChange } from '../../../src/app/commands/library/rollback.ts'
import { verdictsInFile } from '../../../src/app/commands/verdict-sources.ts'
import { makeCurations } from '../../../src/app/composition/make-protocols.ts'
import { startStandIn } from '../../../src/commands.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { type FeedbackMessage, feedbackMessage } from '../../../src/contracts/facts/messages.ts'
import { snapshot } from '../../../src/contracts/facts/thread.ts'
import { noUsage, transcript, verdict } from '../../../src/contracts/facts/verdict.ts'
import type { Library } from '../../../src/contracts/ports/library.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { AskResult } from '../../../src/models/context.ts'
import type { Gateway } from '../../../src/models/gateway.ts'
import type { FeedbackOutcome, JudgedVerdicts } from '../../../src/shelves/curator/feedback.ts'
import { learner } from '../../../src/shelves/curator/learn.ts'
import { libraryOf } from '../../../src/shelves/lancedb/library.ts'
import { memoryLibrary } from '../../../src/shelves/memory.ts'
import { ownerOf } from '../../../src/shelves/names.ts'
import { wordEmbedder } from '../../contracts/library.ts'
import { callOf } from '../../contracts/samples.ts'
import { plainFence } from '../../protocols/drive.ts'
import { invocation, perform } from '../../support/commands.ts'
import { startMisbehaving } from '../../support/misbehaving.ts'
import { protocolNamed } from '../../support/parts.ts'

const safety = protocolNamed('safety', { labels: ['unsafe', 'safe'], learns: 'cases' })
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const say = (subjectId: string, label: string, more: object = {}): FeedbackMessage =>
  feedbackMessage.parse({ subjectId, protocol: 'safety', label, by: 'ann', at: at(1), ...more })

describe('the learner', () => {
  let library: Library
  let asked: string[]
  let answer: (attempt: number) => Promise<Partial<AskResult>>
  let found: { verdicts: number; arguments: number }
  let stop: AbortController

  beforeEach(() => {
    library = memoryLibrary(wordEmbedder(), { proposalsPerAuthor: 3 })
    asked = []
    answer = async () => ({ answer: { reasoning: 'r', keyCues: ['one cue', 'another'], summary: 'a summary' } })
    found = { verdicts: 0, arguments: 0 }
    stop = new AbortController()
  })

  const gateway: Pick<Gateway, 'ask'> = {
    async ask({ ask, attempt, addCall, mayAsk }) {
      await mayAsk?.()
      const said = ask.messages.map(({ content }) => content).join('\n')
      asked.push(said)
      addCall(callOf(`${asked.length}`))
      return {
        answer: null,
        raw: '',
        model: 'm',
        usage: { ...noUsage(), costUsd: 0.5 },
        ms: 1,
        memo: false,
        ...(await answer(attempt)),
      }
    },
  }
  /** Everything whose id begins with `known` was judged unsafe. */
  const judged: JudgedVerdicts = {
    async verdicts(subjects) {
      found.verdicts++
      const known = [...subjects].filter((key) => key.startsWith('safety default known'))
      return new Map(known.map((key) => [key, decided(key.slice('safety default '.length))]))
    },
    async arguments(of) {
      found.arguments++
      return new Map(
        of.map(({ id, subjectId }) => {
          const subject = snapshot.parse({
            post: { id: subjectId, text: `the words of ${subjectId}`, createdAt: 0 },
            comments: [],
            leftOut: 0,
          })
          return [id, { verdictId: id, subject, turns: [] }]
        }),
      )
    },
  }
  const decided = (subjectId: string) => ({ id: `safety~${subjectId}~r1`, subjectId, label: 'unsafe' })
  const make = (all = false) =>
    learner({
      protocols: [safety, protocolNamed('rumor', { labels: ['rumor'] })],
      known: new Set(['safety', 'rumor', 'hate']),
      library,
      gateway,
      curations: makeCurations({}, plainFence),
      clock: Date.now,
      settings: { all, atOnce: 2, deadlineMs: 60_000, retries: { attempts: 3, backoffMs: 1 } },
    })
  const io = () => ({ signal: stop.signal, progress: () => {} })
  const learn = (feedback: readonly FeedbackMessage[], by = make()) => by.learn(feedback, judged, io())
  const outcomes = async (feedback: readonly FeedbackMessage[], by = make()) =>
    (await learn(feedback, by)).map(({ outcome }) => outcome)
  const whyOf = (learnt: FeedbackOutcome | undefined) =>
    learnt !== undefined && 'why' in learnt ? learnt.why : undefined

  it('asks nothing about a subject that is deleted while others are asked about', async () => {
    const ownerOfPost = (id: string) => ownerOf({ tenant: 'default', id, kind: 'post' })
    answer = async () => {
      await library.forget([ownerOfPost('known-2')])
      return { answer: { reasoning: 'r', keyCues: ['a cue'], summary: 'a summary' } }
    }
    const { learn } = make()
    expect(await learn([say('known-1', 'safe')], judged, io())).toMatchObject([{ outcome: 'proposed' }])
    expect(await learn([say('known-2', 'safe')], judged, io())).toEqual([
      { outcome: 'refused', why: 'its subject was deleted meanwhile' },
    ])
    expect(asked).toHaveLength(1)
  })

  it('says of what it learns from a reply that it is one: a post may have the same id', async () => {
    const replies = protocolNamed('safety', { labels: ['unsafe', 'safe'], learns: 'cases', subject: 'reply' })
    const by = learner({
      protocols: [replies],
      known: new Set(['safety']),
      library,
      gateway,
      curations: makeCurations({}, plainFence),
      clock: Date.now,
      settings: { all: false, atOnce: 2, deadlineMs: 60_000, retries: { attempts: 3, backoffMs: 1 } },
    })
    expect(await outcomes([say('known-1', 'safe')], by)).toEqual(['proposed'])
    const ownerOfKind = (kind: 'post' | 'reply') => ownerOf({ tenant: 'default', id: 'known-1', kind })
    expect(await library.forget([ownerOfKind('post')])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
    expect(await library.forget([ownerOfKind('reply')])).toEqual({
      erased: 1,
      owned: new Set([ownerOfKind('reply')]),
      damaged: [],
    })
  })

  it('proposes what the curator distils from a case whose verdict was wrong, with where it came from', async () => {
    const by = make()
    expect(await outcomes([say('known-1', 'safe', { note: 'a joke' })], by)).toEqual(['proposed'])
    expect(await library.proposals()).toEqual([
      {
        id: expect.any(String),
        shelf: 'cases',
        state: 'waiting',
        change: null,
        text: 'the words of known-1',
        label: 'safe',
        metadata: { keyCues: 'one cue; another', summary: 'a summary', note: 'a joke' },
        provenance: {
          tenant: 'default',
          subjectId: 'known-1',
          kind: 'post',
          protocol: 'safety',
          verdictId: 'safety~known-1~r1',
          by: 'ann',
          at: '2026-01-01T00:01:00.000Z',
        },
      },
    ])
    expect(asked).toHaveLength(1)
    expect(asked[0]).toContain("The panel's verdict: unsafe\nThe true label: safe")
    expect(by.spent()).toEqual({ calls: 1, costUsd: 0.5 })
  })

  it('learns nothing from agreement, unless it is to keep everything', async () => {
    expect(await outcomes([say('known-1', 'unsafe')])).toEqual(['agreed'])
    expect(found.arguments).toBe(0)
    expect(await outcomes([say('known-1', 'unsafe')], make(true))).toEqual(['proposed'])
    expect(asked).toHaveLength(1)
  })

  it('says why feedback can not be used, and asks no model for it', async () => {
    const learnt = await learn([
      say('unknown', 'safe'),
      say('known-1', 'dangerous'),
      say('known-1', 'rumor', { protocol: 'rumor' }),
      say('known-1', 'hate', { protocol: 'hate' }),
      say('known-1', 'safe', { protocol: 'humor' }),
      say('known-1', 'safe', { tenant: 'another' }),
      say('known-1', 'safe', { subjectKind: 'comment', postId: 'p' }),
    ])
    expect(learnt.map(({ outcome }) => outcome)).toEqual([
      'unjudgeable',
      'invalid',
      'refused',
      'refused',
      'invalid',
      'unjudgeable',
      'refused',
    ])
    expect(learnt.map(whyOf)).toEqual([
      'no final verdict of safety on this subject is there',
      'label: safety knows unsafe, safe',
      'rumor does not learn from feedback',
      'hate is switched off in the settings',
      'protocol: there is none called humor',
      'no final verdict of safety on this subject is there',
      'nothing is learnt from verdicts on comments',
    ])
    expect(asked).toEqual([])
  })

  it('makes no second proposal, and pays no second time, for what comes again', async () => {
    const feedback = [say('known-1', 'safe'), say('known-2', 'safe')]
    expect(await outcomes(feedback)).toEqual(['proposed', 'proposed'])
    expect(await outcomes(feedback)).toEqual(['already-proposed', 'already-proposed'])
    const [one] = await library.proposals()
    await library.reject([one?.id ?? ''], 'op')
    expect(await outcomes(feedback)).toEqual(['already-proposed', 'already-proposed'])
    expect(asked).toHaveLength(2)
    expect(await library.proposals()).toHaveLength(2)
  })

  it('asks no more than an author may propose, however much they send, and hears the others', async () => {
    const flood = Array.from({ length: 10_000 }, (_, index) => say(`known-${index}`, 'safe', { by: 'mallory' }))
    const learnt = await learn([...flood, say('known-x', 'safe')])
    expect(learnt.at(-1)?.outcome).toBe('proposed')
    const counts = Map.groupBy(learnt, ({ outcome }) => outcome)
    expect(counts.get('refused')).toHaveLength(9_997)
    expect(counts.get('proposed')).toHaveLength(4)
    expect(asked).toHaveLength(4)
    expect(found).toEqual({ verdicts: 1, arguments: 1 })
    expect(whyOf(counts.get('refused')?.[0])).toContain('mallory has as many proposals')
    expect(await outcomes(flood.slice(5, 9))).toEqual(['refused', 'refused', 'refused', 'refused'])
    expect(asked).toHaveLength(4)
  })

  it('holds an author to the newest that they said of a subject, in one part and over several', async () => {
    expect(
      await outcomes([
        say('known-1', 'unsafe', { at: at(1) }),
        say('known-1', 'safe', { at: at(3) }),
        say('known-1', 'unsafe', { at: at(2) }),
      ]),
    ).toEqual(['superseded', 'proposed', 'superseded'])
    expect(await outcomes([say('known-1', 'unsafe', { at: at(2) })])).toEqual(['superseded'])
    expect((await library.proposals('waiting')).map(({ label }) => label)).toEqual(['safe'])
    expect(await outcomes([say('known-1', 'unsafe', { at: at(4) })])).toEqual(['agreed'])
    expect((await library.proposals()).map(({ label, state }) => [label, state])).toEqual([['safe', 'rejected']])
  })

  it('asks no more than a tenant may propose, by however many names, and hears other tenants', async () => {
    library = memoryLibrary(wordEmbedder(), { newProposals: { perAuthor: 2, perTenant: 5, per: 3_600_000 } })
    const many = Array.from({ length: 40 }, (_, at) => say(`known-${at}`, 'safe', { by: `sock ${at % 20}` }))
    const others: JudgedVerdicts = {
      ...judged,
      verdicts: async (subjects) =>
        new Map([...subjects].map((key) => [key, decided(key.slice('safety default '.length))])),
    }
    const learnt = await make().learn([...many, say('theirs', 'safe', { tenant: 'another' })], others, io())
    const counts = Map.groupBy(learnt, ({ outcome }) => outcome)
    expect([counts.get('proposed')?.length, counts.get('refused')?.length]).toEqual([6, 35])
    expect(learnt.at(-1)?.outcome).toBe('proposed')
    expect(whyOf(counts.get('refused')?.[0])).toContain('people of the tenant default have made as many proposals')
    expect(asked).toHaveLength(6)
  })

  it('lets people contradict one another, and asks once where they say the same', async () => {
    const feedback = [
      say('known-1', 'safe'),
      say('known-1', 'unsafe', { by: 'bob' }),
      say('known-1', 'safe', { by: 'cem' }),
    ]
    expect(await outcomes(feedback, make(true))).toEqual(['proposed', 'proposed', 'proposed'])
    expect(asked).toHaveLength(2)
    expect(await outcomes([say('known-1', 'safe', { by: 'dee' })])).toEqual(['proposed'])
    expect(asked).toHaveLength(2)
  })

  it('asks anew where what was learnt before has been rejected', async () => {
    expect(await outcomes([say('known-1', 'safe')])).toEqual(['proposed'])
    const [one] = await library.proposals()
    await library.reject([one?.id ?? ''], 'op')
    answer = async () => ({ answer: { reasoning: 'r', keyCues: ['better'], summary: 'another summary' } })
    expect(await outcomes([say('known-1', 'safe', { by: 'bob' }), say('known-1', 'safe', { by: 'cem' })])).toEqual([
      'proposed',
      'proposed',
    ])
    expect(asked).toHaveLength(2)
    expect((await library.proposals('waiting')).map(({ metadata }) => metadata.summary)).toEqual([
      'another summary',
      'another summary',
    ])
  })

  it('tries again what can not be had now, with the next model, and gives up on the whole when it stays so', async () => {
    const attempts: number[] = []
    answer = async (attempt) => {
      attempts.push(attempt)
      if (attempts.length < 3) throw new RetryLaterError('unavailable', 'status 503')
      return { answer: { reasoning: 'r', keyCues: ['c'], summary: 's' } }
    }
    expect(await outcomes([say('known-1', 'safe')])).toEqual(['proposed'])
    expect(attempts).toEqual([1, 2, 3])
    answer = async () => {
      throw new RetryLaterError('unavailable', 'status 503')
    }
    await expect(learn([say('known-2', 'safe')])).rejects.toThrow('status 503')
    expect(await library.proposals()).toHaveLength(1)
  })

  it('names the case that the curator can make nothing of, and goes on', async () => {
    answer = async () => {
      if (asked.at(-1)?.includes('known-1')) return { failed: { code: 'refused', detail: 'the model refused' } }
      if (asked.at(-1)?.includes('known-2')) throw new PermanentError('content-filter', 'status 400')
      return { answer: { reasoning: 'r', keyCues: ['c'], summary: 's' } }
    }
    const learnt = await learn(['known-1', 'known-2', 'known-3'].map((id) => say(id, 'safe')))
    expect(learnt.map(({ outcome }) => outcome)).toEqual(['curator-failed', 'curator-failed', 'proposed'])
    expect(learnt.map(whyOf).slice(0, 2)).toEqual([
      'the curator failed: refused (the model refused)',
      'the curator failed: content-filter (status 400)',
    ])
  })

  it('takes it for a fault of the settings when the endpoint rejects every question', async () => {
    answer = async () => {
      throw new PermanentError('rejected', 'status 401')
    }
    await expect(learn(['known-1', 'known-2', 'known-3'].map((id) => say(id, 'safe')))).rejects.toThrow('status 401')
    expect(await outcomes([say('known-4', 'safe')])).toEqual(['curator-failed'])
  })

  it('stops between cases, and keeps what was proposed', async () => {
    answer = async () => {
      if (asked.length === 2) stop.abort()
      return { answer: { reasoning: 'r', keyCues: ['c'], summary: 's' } }
    }
    const feedback = Array.from({ length: 20 }, (_, index) => say(`known-${index}`, 'safe', { by: `author ${index}` }))
    const done = await outcomes(feedback)
    expect(done.filter((outcome) => outcome === 'left').length).toBeGreaterThan(15)
    expect(await library.proposals()).toHaveLength(done.filter((outcome) => outcome === 'proposed').length)
    stop = new AbortController()
    const again = await outcomes(feedback)
    expect(new Set(again)).toEqual(new Set(['already-proposed', 'proposed']))
    expect(await library.proposals()).toHaveLength(20)
  })

  it('proposes nothing of a post that was deleted', async () => {
    const gone: JudgedVerdicts = { ...judged, arguments: async (of) => new Map(of.map(({ id }) => [id, null])) }
    const [learnt] = await make().learn([say('known-1', 'safe')], gone, io())
    expect(learnt).toEqual({ outcome: 'unjudgeable', why: "the verdict's transcript holds no post" })
    expect(await library.proposals()).toEqual([])
  })
})

describe('gavel learn', () => {
  let endpoint: Understudy
  let folder: string
  let out: string[]
  let said: string[]

  beforeAll(async () => {
    endpoint = await startUnderstudy({})
  })
  afterAll(() => endpoint.close())
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-learn-'))
    out = []
    said = []
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const settings = (changes: Record<string, string> = {}) =>
    loadSettings({
      ...endpoint.settings,
      GAVEL_LIBRARY_PATH: join(folder, 'library'),
      GAVEL_LIBRARY_EMBEDDER: 'some-model',
      GAVEL_LIBRARY_PROPOSALS_PER_AUTHOR: '5',
      ...changes,
    })
  const io = () => ({
    terminal: {
      out: (line: unknown) => out.push(String(line)),
      say: (line: unknown) => said.push(String(line)),
      progress() {},
    },
    startStandIn,
    signal: new AbortController().signal,
  })
  const file = (name: string, ...lines: (object | string)[]) => {
    const path = join(folder, name)
    writeFileSync(path, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
    return path
  }
  const post = (id: string, text: string, more: object = {}) => ({ type: 'post', id, text, createdAt: at(0), ...more })
  const feedback = (subjectId: string, label: string, more: object = {}) => ({
    type: 'feedback',
    subjectId,
    protocol: 'safety',
    label,
    by: 'ann',
    at: at(1),
    ...more,
  })
  /** Judges posts, and leaves verdicts and transcripts in a file. */
  async function judged(name: string, ...posts: object[]) {
    out.length = 0
    const options = {
      protocol: 'safety',
      format: 'gavel' as const,
      finalAge: Number.POSITIVE_INFINITY,
      transcript: true,
      json: true,
    }
    await judgeFile(settings(), file(`${name}.posts`, ...posts), options, io())
    const path = file(name, ...out)
    const read = out.map((line) => {
      const both = JSON.parse(line) as { verdict: unknown; transcript: unknown }
      return { verdict: verdict.parse(both.verdict), transcript: transcript.parse(both.transcript) }
    })
    out.length = 0
    return { path, read, labels: new Map(read.map((one) => [one.verdict.subjectId, one.verdict.label])) }
  }
  const other = (label: string | null | undefined) => (label === 'unsafe' ? 'safe' : 'unsafe')
  const learn = (path: string, judgedIn: string, all = false, of = settings()) =>
    learnFile(of, path, { all, json: true, judged: judgedIn }, io())
  async function list(): Promise<{ id: string; text: string; label: string; contradicts: string[]; state: string }[]> {
    out.length = 0
    await perform(listProposals, settings(), [], { json: true }, io())
    return out.splice(0).map((line) => JSON.parse(line))
  }

  it('goes from feedback to a precedent that the next case is shown, and back', async () => {
    const knife = 'I will stab the cucumber for the salad with my big knife'
    const first = await judged('first', post('p1', knife), post('p2', 'a walk in the park'))
    const truth = other(first.labels.get('p1'))
    const path = file(
      'feedback.jsonl',
      post('p1', knife),
      feedback('p1', truth, { note: 'it is about salad' }),
      feedback('p2', first.labels.get('p2') ?? ''),
      feedback('p9', 'safe'),
      feedback('p1', 'dangerous', { by: 'bob' }),
      { ...feedback('p1', truth), at: 'yesterday' },
      'no JSON',
    )
    const done = await learn(path, first.path)
    expect(done).toMatchObject({
      read: 6,
      proposed: 1,
      agreed: 1,
      unjudgeable: 1,
      invalid: 3,
      refused: 0,
      left: 0,
      calls: 1,
    })
    expect(await learn(path, first.path)).toMatchObject({ proposed: 0, alreadyProposed: 1, calls: 0 })

    const [proposal] = await list()
    expect(proposal).toMatchObject({ text: knife, label: truth, state: 'waiting', contradicts: [] })
    const precedents = async (id: string, text: string) =>
      (await judged(`${id}.again`, post(id, text))).read[0]?.verdict.evidence.precedents
    const similar = 'I will stab the cucumber for the soup with my big knife'
    expect(await precedents('p3', similar)).toEqual([])

    await perform(approveProposals, settings(), [proposal?.id ?? ''], { by: 'curator', json: true }, io())
    const change = JSON.parse(out.splice(0)[0] ?? '') as { id: string }
    expect(change).toMatchObject({ kind: 'approve', added: 1, by: 'curator' })
    expect(await precedents('p4', similar)).toHaveLength(1)
    expect(await precedents('p1', similar)).toEqual([])
    expect(await precedents('p5', `  ${knife.toUpperCase()} `)).toEqual([])

    await perform(rollbackChange, settings(), [change.id], {}, io())
    expect(await precedents('p6', similar)).toEqual([])
    out.length = 0
    await perform(libraryHistory, settings(), [], { json: true }, io())
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ id: change.id, rolledBackAt: expect.any(Number) })
    expect((await list())[0]?.state).toBe('waiting')
  })

  it('learns what images show, as precedents are looked for', async () => {
    const media = [
      { kind: 'image', alt: 'a cat on a mat' },
      { kind: 'image', alt: 'a dog in a bog' },
    ]
    const { path, labels } = await judged('images', post('p1', 'look at these', { media }))
    await learn(file('feedback.jsonl', feedback('p1', other(labels.get('p1')))), path)
    expect((await list())[0]?.text).toBe('look at these\na cat on a mat\na dog in a bog')
  })

  it('leaves it to a person to choose between proposals that contradict one another', async () => {
    const { path, labels } = await judged('two', post('p1', 'a sharp knife'), post('p2', 'a blunt spoon'))
    const lines = ['ann', 'bob'].map((by, at) => feedback('p1', ['safe', 'unsafe'][at] ?? '', { by }))
    await learn(file('feedback.jsonl', ...lines, feedback('p2', other(labels.get('p2')))), path, true)
    const all = await list()
    const [one, two, three] = all
    expect(all.map(({ contradicts }) => contradicts)).toEqual(
      all.map(({ text, id }) =>
        text === 'a sharp knife' ? all.filter((it) => it.text === text && it.id !== id).map((it) => it.id) : [],
      ),
    )
    await perform(listProposals, settings(), [], { state: 'waiting', json: false }, io())
    expect(out.filter((line) => line.includes('[contradicts '))).toHaveLength(2)
    out.length = 0
    await perform(approveProposals, settings(), [], { all: true, json: false }, io())
    expect(out).toEqual([expect.stringMatching(/^\S+: 1 added, 0 unchanged, 0 relabelled \(change /)])
    expect(said.at(-1)).toMatch(/^2 contradict one another and were left waiting: /)
    const rival = [one, two, three].find((it) => it?.text === 'a sharp knife')?.id ?? ''
    await perform(rejectProposals, settings(), [rival], { json: false }, io())
    expect((await list()).flatMap(({ contradicts }) => contradicts)).toEqual([])
    await perform(approveProposals, settings(), [], { all: true, json: true }, io())
    expect((await list()).map(({ state }) => state).sort()).toEqual(['approved', 'approved', 'rejected'])
    await expect(perform(approveProposals, settings(), ['nobody'], { json: true }, io())).rejects.toThrow(OperatorError)
    await expect(perform(showProposal, settings(), ['nobody'], { json: true }, io())).rejects.toThrow(OperatorError)
  })

  it('holds nobody up by what people of another tenant say of the same text', async () => {
    const library = libraryOf(settings(), Date.now)
    const of = (tenant: string, label: string) => ({
      shelf: 'precedents',
      text: 'a sharp knife',
      label,
      metadata: {},
      provenance: {
        tenant,
        subjectId: 'p1',
        kind: 'post' as const,
        protocol: 'safety',
        verdictId: 'v',
        by: 'ann',
        at: at(1),
      },
    })
    await library.propose([of('acme', 'safe'), of('beta', 'unsafe')])
    await library.close()
    expect((await list()).map(({ contradicts }) => contradicts)).toEqual([[], []])
    await perform(approveProposals, settings(), [], { all: true, json: false }, io())
    expect(out.map((line) => line.replace(/ \(change .*/, '')).sort()).toEqual([
      'precedents of acme: 1 added, 0 unchanged, 0 relabelled',
      'precedents of beta: 1 added, 0 unchanged, 0 relabelled',
    ])
  })

  it('shows strangers’ words as lines that drive no terminal', async () => {
    const hostile = '\u001b]0;mine\u0007\u009b31m\u202e\n'
    const { path, labels } = await judged('hostile', post(`p ${hostile}`, `knife ${hostile}`))
    const by = `ann ${hostile}`
    const lines = [feedback(`p ${hostile}`, other(labels.get(`p ${hostile}`)), { by, note: hostile })]
    for (let n = 0; n < 7; n++)
      lines.push(feedback(`q${n}`, `safe ${hostile}`, { by }), feedback(`q${n}`, 'safe', { by }))
    for (const json of [true, false]) {
      const done = await learnFile(
        settings(),
        file('feedback.jsonl', ...lines),
        { all: false, json, judged: path },
        io(),
      )
      learnCommand.print(done, invocation<object>(settings(), [], { json }, io()))
      await perform(listProposals, settings(), [], { json }, io())
      const [{ id } = { id: '' }] = (await list()) as { id: string }[]
      await perform(showProposal, settings(), [id], { json }, io())
    }
    expect(out.length + said.length).toBeGreaterThan(8)
    for (const line of [...out, ...said]) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('says that the understudy answers where no model is set, and what is wrong with a file', async () => {
    const { path, labels } = await judged('p', post('p1', 'a sharp knife'))
    const none = settings({ OPENAI_API_KEY: '' })
    const given = file('feedback.jsonl', feedback('p1', other(labels.get('p1'))))
    expect(await learn(given, path, false, none)).toMatchObject({ proposed: 1 })
    expect(said[0]).toContain('understudy')
    await expect(learn(join(folder, 'absent'), path)).rejects.toThrow(/absent cannot be read: there is no such file/)
    await expect(learn(given, join(folder, 'absent'))).rejects.toThrow(/absent cannot be read: there is no such file/)
    await expect(learnFile(settings(), given, { all: false, json: true }, io())).rejects.toThrow('Kafka is not set')
  })

  describe('before an endpoint that can’t answer', () => {
    const refusal = (status: number, body: unknown) => ({ status, body })
    const word = (message: string, code: string | null = null) => ({ error: { message, code } })
    const many = async () => {
      const posts = Array.from({ length: 12 }, (_, nth) => post(`p${nth}`, `a sharp knife, ${nth}`))
      const { path, labels } = await judged('p', ...posts)
      const lines = posts.map(({ id }) => feedback(id, other(labels.get(id)), { by: `ann ${id}` }))
      return { path, given: file('feedback.jsonl', ...lines) }
    }
    it.each<[string, { status: number; body: unknown }, RegExp]>([
      ['a wrong key', refusal(401, word('no', 'invalid_api_key')), /401 .*the key is not accepted.*OPENAI_API_KEY/],
      ['no credit', refusal(402, word('Insufficient Balance')), /402: the account has no quota or credit/],
      ['no quota', refusal(429, word('You exceeded your current quota.', 'insufficient_quota')), /429 .*no quota/],
      ['no such model', refusal(404, word('no', 'model_not_found')), /404 .*no such model.*models\.roles/],
      ['a page of HTML', refusal(200, '<html></html>'), /does not answer: .*OPENAI_BASE_URL/],
    ])('ends after few calls with one line: %s', async (_, response, line) => {
      const { path, given } = await many()
      const server = await startMisbehaving(() => response)
      try {
        const { message } = await learn(given, path, false, settings(server.settings)).then(
          () => new Error('it ended well'),
          (error: Error) => error,
        )
        expect(message).toMatch(line)
        expect(message).toMatch(/Proposals made so far are kept; run it again to continue\.$/)
        expect(message).not.toContain('\n')
        expect(server.asked.length).toBeLessThan(50)
      } finally {
        await server.close()
      }
    })

    it('keeps what was proposed before it went away', async () => {
      const { path, given } = await many()
      let answered = 0
      const answer = () => {
        answered++
      }
      const server = await startMisbehaving(() => (answered < 3 ? answer : refusal(401, word('revoked'))))
      try {
        await expect(learn(given, path, false, settings(server.settings))).rejects.toThrow(/the key is not accepted/)
      } finally {
        await server.close()
      }
      const kept = (await list()).length
      expect(kept).toBeGreaterThan(0)
      expect(await learn(given, path)).toMatchObject({ proposed: 12 - kept, alreadyProposed: kept })
    })
  })

  it('goes by the newest final verdict, and passes over lines that are none', async () => {
    const { read } = await judged('p', post('p1', 'a sharp knife'))
    const [one] = read
    const revision = (number: number, more: object = {}) => {
      const id = `safety~p1~r${number}`
      return {
        verdict: { ...one?.verdict, id, revision: number, ...more },
        transcript: { ...one?.transcript, verdictId: id },
      }
    }
    const bad: number[] = []
    const decision = { by: 'ann', against: 'safety~p1~r2', of: '0@0' }
    const human = revision(4, { decidedBy: 'human', decision })
    const path = file(
      'judged',
      revision(2),
      'no JSON',
      revision(3, { final: false }),
      revision(1),
      { verdict: 1 },
      human,
    )
    const looked = verdictsInFile(path, (line) => bad.push(line))
    const { signal } = new AbortController()
    const verdicts = await looked.verdicts(new Set(['safety default p1']), signal)
    expect([...verdicts.values()].map(({ id }) => id)).toEqual(['safety~p1~r2'])
    expect([...(await looked.arguments([...verdicts.values()], signal)).keys()]).toEqual(['safety~p1~r2'])
    expect(bad).toEqual([2, 5])
  })
})
