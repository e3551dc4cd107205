import { beforeEach, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { aheadByReach } from '../../src/judging/threads/head-start.ts'
import { recoverStore } from '../../src/recovery/recover.ts'
import type { RecoveryRun } from '../../src/recovery/run.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, MINUTE, retractionOf, T0, thread } from '../contracts/samples.ts'
import { inputOver, intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'
import { aVerdict } from '../support/verdicts.ts'

const NOW = T0 + 48 * HOUR
const TOPICS = {
  posts: 'posts',
  comments: 'comments',
  counterspeech: 'counterspeech',
  verdicts: 'verdicts',
  transcripts: 'transcripts',
  deadLetters: 'dead-letters',
  decisions: 'decisions',
  decisionOutcomes: 'outcomes',
  proposals: 'proposals',
  reviews: 'reviews',
  reach: 'reach',
}
const at = (ms: number) => new Date(ms).toISOString()

/** What stands on each topic, all in one partition. */
let topics: Map<string, IncomingMessage[]>
let steps: string[]
let stores: ReturnType<typeof memoryStores>

function put(topic: string, value: object, timestamp = T0): void {
  const messages = topics.get(topic) ?? []
  const place = { topic, partition: 0, offset: String(messages.length), key: 'k', headers: {}, timestamp }
  topics.set(topic, [...messages, { ...place, value: Buffer.from(JSON.stringify(value)) }])
}

function runOf(change: Partial<RecoveryRun> = {}): RecoveryRun {
  const { threads, cases, outbox, marks } = stores
  // Whoever is shown the post as it came, without a text, fails here as the protocols do.
  const reader = protocolNamed('rumor', { accepts: ({ text, media = [] }) => text.trim() !== '' || media.length > 0 })
  const protocols = [reader]
  const routes = router(protocols, {}, () => 0)
  const checkpoints = { counts: [], ages: [], finalAge: HOUR, reopen: true }
  return {
    topics: TOPICS,
    history: {
      async rangesOf(topic, since) {
        const messages = topics.get(topic)
        if (messages === undefined) throw new Error(`there is no topic ${topic}`)
        const first = since === null ? 0 : messages.findIndex(({ timestamp }) => timestamp >= since)
        return new Map([[0, { from: BigInt(first < 0 ? messages.length : first), to: BigInt(messages.length) }]])
      },
      async read(topic, ranges, take) {
        const { from, to } = ranges.get(0) ?? { from: 0n, to: 0n }
        const messages = (topics.get(topic) ?? []).slice(Number(from), Number(to))
        if (messages.length > 0) await take(messages)
      },
    },
    progress: async () => ({
      committed: new Map([...topics].map(([topic, { length }]) => [topic, new Map([[0, BigInt(length)]])])),
      alone: true,
    }),
    group: 'gavel',
    setProgress: async ({ committed }) => {
      const at = [...committed].flatMap(([topic, all]) => [...all].map(([number, to]) => `${topic}/${number} ${to}`))
      steps.push(`offsets ${at.join(', ')}`)
    },
    threads,
    cases,
    outbox,
    marks,
    protocols,
    routes,
    store: {
      async restore(ref, published) {
        const raised = [...published].map(({ protocol, revision }) => `${ref.postId} ${protocol} ${revision}`)
        steps.push(`restore ${raised}`)
        return { raised: raised.length, givenUp: 0 }
      },
      end: async (ref) => void steps.push(`end ${ref.postId}`),
      settle: async (ref) => void steps.push(`settle ${ref.postId}`),
      restoreDecided: async (_, all) => {
        for (const { verdict, stands, of, proposal, asked, isUntold } of all)
          steps.push(
            [`decided ${verdict} of ${of}`, stands ? 'stands' : 'stands no longer', `p${proposal}`, ...asked].join(
              ', ',
            ) + (isUntold ? ', untold' : ''),
          )
      },
      noteDeleted: async (ref) => void steps.push(`deleted ${ref.postId}`),
    },
    hold: {
      async hold() {
        steps.push('hold')
        return false
      },
      setRevisionsComplete: async (knowsAll) => void steps.push(`complete ${knowsAll}`),
      async release() {
        steps.push('release')
        return true
      },
    },
    decide: async ({ label }, { partition, offset }) => {
      steps.push(`decide ${partition}@${offset} ${label}`)
      return { outcome: 'stands', verdict: 'rumor~p~r2' }
    },
    input: inputOver(intakeContext(stores, { routes, checkpoints, clock: () => NOW })),
    retraction: (ref, protocol, revision) => retractionOf(ref)(protocol, revision),
    clock: () => NOW,
    settings: {
      keep: { keepAfterFinalMs: 24 * HOUR, keepTombstoneMs: 7 * 24 * HOUR },
      checkpoints,
    },
    since: null,
    upTo: null,
    dryRun: false,
    signal: new AbortController().signal,
    told: () => {},
    say: () => {},
    outage: (error) => (error instanceof Error && error.message === 'away' ? 'Redis is away' : null),
    ...change,
  }
}

function verdictOn(postId: string, decidedAt: number): Verdict {
  const verdict = aVerdict(at(decidedAt), { subjectId: postId, label: 'good' })
  return { ...verdict, timing: { ...verdict.timing, createdAt: at(T0), receivedAt: at(T0) } }
}

beforeEach(() => {
  topics = new Map(Object.values(TOPICS).map((topic) => [topic, []]))
  steps = []
  stores = memoryStores(() => NOW)
})

describe('a recovery', () => {
  it('brings revisions back, ends what is over, takes the rest again, and only then lets the services go on', async () => {
    put('posts', { id: 'old', text: 'long ago', createdAt: at(T0) })
    put('posts', { id: 'new', text: 'just now', createdAt: at(NOW - 2 * HOUR) }, NOW - 2 * HOUR)
    put('comments', { id: 'c1', postId: 'new', text: 'and so', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    put('comments', { id: 'c2' }, NOW - HOUR)
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    put('verdicts', verdictOn('new', NOW - HOUR))
    const done = await recoverStore(runOf())
    expect(steps).toEqual(['hold', 'restore new rumor 1', 'end old', 'complete true', 'release'])
    expect(done).toMatchObject({ dryRun: false, subjects: 2, over: 1, revisions: 1, messages: 4 })
    expect(done.outcomes).toEqual({ judged: 2, 'dead-letter': 1 })
    expect(await stores.threads.read(thread('old'))).toBeNull()
    expect((await stores.threads.read(thread('new')))?.comments).toHaveLength(1)
    expect([...(await stores.marks.read()).keys()].sort()).toEqual(['comments/0', 'posts/0'])
  })

  it('reads the words beside a text that the settings name, as the services do', async () => {
    const status = { text: 'just now', title: 'A bridge', createdAt: at(NOW - HOUR) }
    put('posts', { id: 'p', ...status }, NOW - HOUR)
    put('comments', { id: 'c', postId: 'p', ...status, text: null }, NOW - HOUR)
    const limits = { maxMessageBytes: 1 << 20, maxAhead: 5 * MINUTE, textFields: ['title'] }
    const { context, ...input } = runOf().input
    await recoverStore(runOf({ input: { ...input, context: { ...context, limits } } }))
    const found = await stores.threads.read(thread('p'))
    expect([found?.post?.text, found?.comments.map(({ text }) => text)]).toEqual(['just now\n\nA bridge', ['A bridge']])
  })

  it('knows the highest reach that the topic tells of, also of a post that is yet to come', async () => {
    for (const id of ['a', 'b', 'c'])
      put('posts', { id, text: `of ${id}`, createdAt: at(NOW - HOUR), reach: 7 }, NOW - HOUR)
    put('comments', { id: 'c1', postId: 'orphan', text: 'and so', createdAt: at(NOW - MINUTE) }, NOW - MINUTE)
    const reach = (postId: string, reached: number) => ({ postId, reach: reached, at: at(NOW - MINUTE) })
    for (const [postId, reached] of [
      ['c', 5_000],
      ['c', 90],
      ['b', 100],
      ['a', 3],
      ['orphan', 9],
      ['forgotten', 9],
    ] as const)
      put('reach', reach(postId, reached), NOW - HOUR)
    put('reach', reach('coming', 2_000), NOW - MINUTE)
    put('reach', { postId: 'b' })
    await recoverStore(runOf())
    const ahead = await Promise.all(
      ['a', 'b', 'c'].map((id) =>
        stores.threads.raiseReach(thread(id), aheadByReach(5_000), { keepMs: HOUR, now: T0 }),
      ),
    )
    expect(ahead).toEqual(['updated', 'updated', 'duplicate'])
    expect(await stores.threads.raiseReach(thread('coming'), aheadByReach(2_000), { keepMs: HOUR, now: T0 })).toBe(
      'duplicate',
    )
    expect(await stores.threads.raiseReach(thread('forgotten'), aheadByReach(9), { keepMs: HOUR, now: T0 })).toBe(
      'updated',
    )
  })

  describe('of what people decided', () => {
    const MINE = { subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'rumor' }
    const decided = (offset: number, revision: number, label = 'good') => ({
      ...verdictOn('p', NOW - HOUR + offset),
      id: `rumor~p~r${revision}`,
      revision,
      label,
      decidedBy: 'human',
      decision: { by: 'ann', against: null, of: `0@${offset}` },
    })
    const outcome = (offset: number, revision: number, what = 'stands') => ({
      schema: 1,
      ...MINE,
      outcome: what,
      of: `0@${offset}`,
      revision,
      label: 'good',
      by: 'ann',
      at: at(NOW - HOUR + offset),
    })
    /** Each stands at the offset that its time has. */
    const decision = (offset: number, label = 'good', against = 1): void => {
      const value = { subjectId: 'p', protocol: 'rumor', label, against, by: 'ann', why: 'Ticket 88.' }
      put('decisions', { ...value, at: at(NOW - HOUR + offset) }, NOW - HOUR + offset)
      const all = topics.get('decisions') ?? []
      topics.set('decisions', [...all.slice(0, -1), { ...(all.at(-1) as IncomingMessage), key: 'p' }])
    }
    const decidedSteps = async () => {
      await recoverStore(runOf())
      return steps.filter((step) => step.startsWith('decide'))
    }
    beforeEach(() => {
      put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - 2 * HOUR) }, NOW - 2 * HOUR)
      put('verdicts', verdictOn('p', NOW - 2 * HOUR))
    })

    it('restores current verdicts, with the open requests, before messages are read again', async () => {
      decision(0)
      put('verdicts', decided(0, 2))
      put('outcomes', outcome(0, 2))
      const proposed = {
        ...verdictOn('p', NOW - 1),
        id: 'rumor~p~p3',
        proposal: 3,
        beneath: 'rumor~p~r2',
        differs: true,
      }
      put('proposals', proposed)
      const asked = { schema: 1, ...MINE, verdict: 'rumor~p~r2', at: at(NOW) }
      put('reviews', { ...asked, id: 'a', why: 'edited' })
      put('reviews', { ...asked, id: 'b', why: 'differs', label: 'bad' })
      const done = await recoverStore(runOf())
      expect(done).toMatchObject({ standing: 1, decidedAgain: 0 })
      const mine = 'decided rumor~p~r2 of 0@0, stands, p3, edited, differs bad'
      expect(steps).toEqual(['hold', 'restore p rumor 2', mine, 'complete true', 'release'])
    })

    it('says what came of a verdict that was published, where nothing does', async () => {
      decision(0)
      put('verdicts', decided(0, 2))
      expect(await decidedSteps()).toEqual(['decided rumor~p~r2 of 0@0, stands, p2, untold'])
    })

    it('carries out again that of which nothing, or only its outcome, was published', async () => {
      decision(0)
      decision(1, 'bad', 2)
      put('verdicts', decided(0, 2))
      put('outcomes', outcome(0, 2))
      put('outcomes', outcome(1, 3))
      decision(2, 'good', 3)
      decision(3, 'bad', 4)
      expect(await decidedSteps()).toEqual([
        'decided rumor~p~r2 of 0@0, stands, p2',
        'decide 0@1 bad',
        'decide 0@2 good',
        'decide 0@3 bad',
      ])
    })

    it('goes by the outcome alone where verdicts have expired, whatever its age', async () => {
      topics.set('verdicts', [])
      put('outcomes', outcome(0, 2))
      const { history } = runOf()
      const cut: RecoveryRun['history'] = {
        ...history,
        rangesOf: async (topic, since) =>
          topic === 'verdicts' ? new Map([[0, { from: 5n, to: 5n }]]) : history.rangesOf(topic, since),
      }
      expect(await recoverStore(runOf({ history: cut }))).toMatchObject({ standing: 1 })
      expect(steps).toContain('decided rumor~p~r2 of 0@0, stands, p0')
    })

    it('takes what people decide of a comment for its own, whose verdict is lost, and for nothing of a post of its id', async () => {
      const comment = { subjectId: 'p', subjectKind: 'comment', postId: 'q' }
      const value = { ...comment, protocol: 'rumor', label: 'good', against: 1, by: 'ann', why: 'Ticket 88.' }
      put('decisions', { ...value, at: at(NOW - HOUR) }, NOW - HOUR)
      const all = topics.get('decisions') ?? []
      topics.set('decisions', [{ ...(all.at(-1) as IncomingMessage), key: 'q' }])
      put('outcomes', { ...outcome(0, 1), ...comment, kind: 'post' })
      expect(await decidedSteps()).toEqual(['decide 0@0 good'])
    })

    it('leaves alone what was refused, came twice, or came before another', async () => {
      decision(0, 'bad', 7)
      decision(1)
      put('verdicts', decided(1, 2))
      put('outcomes', outcome(1, 2))
      decision(2, 'bad', 1)
      put('reviews', { schema: 1, ...MINE, id: 'a', verdict: 'rumor~p~r2', why: 'refused', of: '0@2', at: at(NOW) })
      decision(3, 'bad')
      const dead = { topic: 'decisions', partition: 0, offset: '3', at: at(NOW - HOUR + 3) }
      put('dead-letters', {
        schema: 1,
        ...dead,
        key: 'p',
        headers: {},
        reason: 'invalid',
        detail: '',
        raw: '',
        rawBytes: 0,
        truncated: false,
      })
      expect(await decidedSteps()).toEqual(['decided rumor~p~r2 of 0@1, stands, p2'])
    })

    it('goes by the order of decisions, in whatever order publishers have sent what came of them', async () => {
      put('verdicts', decided(0, 2))
      put('verdicts', decided(1, 3))
      put('outcomes', outcome(1, 3))
      put('outcomes', outcome(0, 2))
      expect(await decidedSteps()).toEqual(['decided rumor~p~r3 of 0@1, stands, p3'])
      steps = []
      topics.set('outcomes', [])
      put('outcomes', outcome(1, 3, 'deleted'))
      put('outcomes', outcome(1, 3))
      put('outcomes', outcome(0, 2))
      expect(await decidedSteps()).toEqual([])
    })

    it('lets a withdrawal without a verdict of its own end a human verdict whose outcome was lost', async () => {
      decision(0)
      put('verdicts', decided(0, 2))
      put('outcomes', { ...outcome(1, 0, 'withdrawn'), label: null })
      const done = await recoverStore(runOf())
      expect(done).toMatchObject({ standing: 0 })
      expect(steps.filter((step) => step.startsWith('decide'))).toEqual(['decided null of 0@1, stands no longer, p2'])
    })

    it('counts on from the time where proposals beneath it may have expired, and none of its own is left', async () => {
      put('verdicts', decided(0, 2))
      put('outcomes', outcome(0, 2))
      const { history } = runOf()
      const cut: RecoveryRun['history'] = {
        ...history,
        rangesOf: async (topic, since) =>
          topic === 'proposals' ? new Map([[0, { from: 9n, to: 9n }]]) : history.rangesOf(topic, since),
      }
      await recoverStore(runOf({ history: cut }))
      expect(steps).toContain(`decided rumor~p~r2 of 0@0, stands, p${Math.floor(NOW / 1000)}`)
    })

    it('forgets it with the subject, and when it was withdrawn long ago', async () => {
      put('verdicts', decided(0, 2))
      put('outcomes', outcome(0, 2))
      put('outcomes', outcome(0, 2, 'deleted'))
      expect(await decidedSteps()).toEqual([])
      topics.set('outcomes', [])
      put('verdicts', {
        ...decided(0, 3),
        decision: undefined,
        decidedBy: 'judge',
        restored: { from: 'rumor~p~r1', by: 'ben', why: '', of: '0@1' },
      })
      put('outcomes', outcome(0, 2))
      put('outcomes', { ...outcome(1, 3, 'withdrawn') })
      expect(await decidedSteps()).toEqual(['decided rumor~p~r3 of 0@1, stands no longer, p3'])
      steps = []
      await recoverStore(runOf({ clock: () => NOW + 8 * 24 * HOUR }))
      expect(steps.filter((step) => step.startsWith('decide'))).toEqual([])
    })

    it('counts a decision as carried out if its verdict is current or withdrawn, and not otherwise', async () => {
      for (const [offset, label] of ['good', 'bad', 'good', 'bad'].entries()) decision(offset, label, offset)
      const ends = [{ outcome: 'noted' }, { outcome: 'late', last: 3 }, { outcome: 'stands', verdict: null }] as const
      let at = 0
      const decide: RecoveryRun['decide'] = async () => ends[at++] ?? { outcome: 'withdrawn', verdict: null }
      expect(await recoverStore(runOf({ decide }))).toMatchObject({ decidedAgain: 2 })
    })

    it('waits for verdicts that are on their way, and takes what comes after them in order', async () => {
      decision(0)
      decision(1, 'bad', 2)
      let isOut = false
      const decide: RecoveryRun['decide'] = async ({ label }) => {
        steps.push(`decide ${label}`)
        return isOut ? { outcome: 'stands', verdict: null } : { outcome: 'waiting' }
      }
      const { hold } = runOf()
      const release = async (progress: Parameters<typeof hold.release>[0]) => {
        isOut = true
        return hold.release(progress)
      }
      expect(await recoverStore(runOf({ decide, hold: { ...hold, release } }))).toMatchObject({ decidedAgain: 2 })
      expect(steps.slice(-4)).toEqual(['decide good', 'release', 'decide good', 'decide bad'])
    })
  })

  it('notes of a subject that is over that it was deleted: its deletion is not read again', async () => {
    put('posts', { id: 'old', text: 'long ago', createdAt: at(T0) })
    put('posts', { id: 'old', deleted: true, createdAt: at(T0) })
    put('posts', { id: 'other', text: 'long ago', createdAt: at(T0) })
    put('verdicts', { ...verdictOn('old', T0 + 2 * HOUR), label: null, decidedBy: 'deleted', degraded: ['deleted'] })
    put('verdicts', verdictOn('other', T0 + 2 * HOUR))
    const monthLater = NOW + 30 * 24 * HOUR
    await recoverStore(runOf({ clock: () => monthLater }))
    expect(steps.filter((step) => step.startsWith('deleted') || step.startsWith('end')).sort()).toEqual([
      'deleted old',
      'end old',
      'end other',
    ])
  })

  it('notes deletions from before its start time, also of subjects without a verdict, and reads nothing else of then', async () => {
    const since = NOW - HOUR
    put('posts', { id: 'ancient', deleted: true, createdAt: at(T0) }, NOW - 8 * 24 * HOUR)
    put('posts', { id: 'before', text: 'words', createdAt: at(NOW - 3 * HOUR) }, NOW - 3 * HOUR)
    put('posts', { id: 'before', deleted: true, createdAt: at(NOW - 3 * HOUR) }, NOW - 3 * HOUR)
    put('posts', { id: 'standing', text: 'words', createdAt: at(NOW - 3 * HOUR) }, NOW - 3 * HOUR)
    put('posts', { id: 'after', deleted: true, createdAt: at(NOW) }, NOW)
    expect(await recoverStore(runOf({ since }))).toMatchObject({ messages: 1, outcomes: { deleted: 1 } })
    expect(steps.filter((step) => step.startsWith('deleted'))).toEqual(['deleted before'])
    expect(await stores.threads.read(thread('standing'))).toBeNull()
    steps = []
    await recoverStore(runOf({ since, dryRun: true }))
    await recoverStore(runOf())
    expect(steps.filter((step) => step.startsWith('deleted'))).toEqual([])
  })

  it('looks at a post that is nothing but an image as intake does', async () => {
    const media = [{ kind: 'image', url: 'https://example.org/a.png' }]
    put('posts', { id: 'old', media, createdAt: at(T0) })
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    expect(await recoverStore(runOf())).toMatchObject({ subjects: 1, over: 1, revisions: 0 })
  })

  it('holds nobody where a topic is not there', async () => {
    topics.delete('counterspeech')
    await expect(recoverStore(runOf())).rejects.toThrow('there is no topic counterspeech')
    expect(steps).toEqual([])
  })

  it('changes nothing in a dry run', async () => {
    put('posts', { id: 'new', text: 'just now', createdAt: at(NOW - 2 * HOUR) }, NOW - 2 * HOUR)
    put('verdicts', verdictOn('new', NOW - HOUR))
    expect(await recoverStore(runOf({ dryRun: true }))).toMatchObject({ revisions: 1, messages: 1, outcomes: {} })
    expect(steps).toEqual([])
    expect(await stores.threads.read(thread('new'))).toBeNull()
    expect((await stores.marks.read()).size).toBe(0)
  })

  it('leaves the services held if it is interrupted, and reports that', async () => {
    put('posts', { id: 'new', text: 'just now', createdAt: at(NOW - 2 * HOUR) })
    const stop = new AbortController()
    const said: string[] = []
    const stopping = { signal: stop.signal, told: () => stop.abort(new Error('stop')) }
    await expect(recoverStore(runOf({ ...stopping, say: (line) => void said.push(line) }))).rejects.toThrow('stop')
    expect(steps).toEqual(['hold', 'complete true'])
    expect(said).toEqual([expect.stringContaining('stay paused')])
  })

  it('says that services stay paused where it fails in the middle, and that nothing was changed where it did not begin', async () => {
    const said: string[] = []
    const run = runOf({ say: (line) => void said.push(line) })
    const gone = { ...run.history, read: () => Promise.reject(new Error('Kafka is gone')) }
    await expect(recoverStore({ ...run, history: gone })).rejects.toThrow('Kafka is gone')
    expect(said.splice(0)).toEqual([expect.stringContaining('stay paused')])
    const stop = new AbortController()
    const stopped = async () => {
      stop.abort()
      throw new Error('stopped')
    }
    await expect(recoverStore({ ...run, signal: stop.signal, progress: stopped })).rejects.toThrow('stopped')
    expect(said.splice(0)).toEqual(['Nothing was changed.'])
    await expect(recoverStore({ ...run, dryRun: true, history: gone })).rejects.toThrow('Kafka is gone')
    expect(said).toEqual([])
  })

  it('shows the progress of each step, and its total', async () => {
    put('posts', { id: 'new', text: 'just now', createdAt: at(NOW - 2 * HOUR) }, NOW - 2 * HOUR)
    put('posts', { id: 'other', text: 'just now', createdAt: at(NOW - 2 * HOUR) }, NOW - 2 * HOUR)
    put('verdicts', verdictOn('new', NOW - HOUR))
    const told: string[] = []
    await recoverStore(runOf({ told: (what, more, of) => void told.push(`${what} ${more}/${of}`) }))
    expect(told).toEqual(['verdicts 1/1', 'revisions restored 1/1', 'posts, read again 2/2', 'threads looked at 2/2'])
  })

  it('says how many records it could not read as verdicts, and knows of no revision for sure', async () => {
    put(TOPICS.verdicts, { schema: 99, id: 'rumor~p~r7' })
    const said: string[] = []
    await recoverStore(runOf({ say: (line) => void said.push(line) }))
    expect(said).toContainEqual(expect.stringMatching(/^1 records of \S+ are no verdicts that this version can read/))
    expect(steps).toContain('complete false')
  })

  it('does not take a verdicts topic for whole from which records are gone in the middle, and says so', async () => {
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    put('verdicts', verdictOn('new', NOW - HOUR))
    const said: string[] = []
    const run = runOf({ say: (line) => void said.push(line) })
    const compacted: RecoveryRun['history'] = {
      ...run.history,
      read: (topic, ranges, take) =>
        run.history.read(topic, ranges, (messages) => take(topic === 'verdicts' ? messages.slice(1) : messages)),
    }
    await recoverStore({ ...run, history: compacted })
    expect(steps).toContain('complete false')
    expect(said).toEqual([expect.stringMatching(/^1 of the offsets of verdicts .*cleanup\.policy/)])
  })
})

describe('a recovery for a group without offsets', () => {
  const unread = { committed: new Map(), alone: true }
  const without = (change: Partial<RecoveryRun> = {}) => runOf({ progress: async () => unread, ...change })
  beforeEach(() => {
    put('posts', { id: 'judged', text: 'just now', createdAt: at(NOW - 3 * HOUR) }, NOW - 3 * HOUR)
    put('posts', { id: 'waiting', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    put('verdicts', { ...verdictOn('judged', NOW - HOUR), usage: { ...aVerdict(at(T0)).usage, costUsd: 0.25 } })
  })

  it('is asked what was accepted, and holds nobody', async () => {
    await expect(recoverStore(without())).rejects.toThrow(/no offsets.*--up-to end.*--new-beginning/s)
    expect(steps).toEqual([])
  })

  it('asks nobody where nothing was ever published', async () => {
    topics.set('verdicts', [])
    expect(await recoverStore(without())).toMatchObject({ messages: 0, unknownOffsets: false })
  })

  it('says in a dry run what each choice would have judged, and for how much', async () => {
    const planned = await recoverStore(without({ dryRun: true }))
    const once = { verdicts: 1, costUsd: 0.25 }
    expect(planned).toMatchObject({ unknownOffsets: true, messages: 0, forecast: { first: once, again: once } })
    const chosen = await recoverStore(without({ dryRun: true, upTo: 'end' }))
    expect(chosen).toMatchObject({ unknownOffsets: false, messages: 2 })
    expect(chosen.forecast).toEqual({ first: once, again: { verdicts: 0, costUsd: 0 } })
    expect(steps).toEqual([])
  })

  it('takes all that the topics hold, and gives the group these offsets before the services go on', async () => {
    expect(await recoverStore(without({ upTo: 'end' }))).toMatchObject({ messages: 2, outcomes: { judged: 2 } })
    expect(steps.slice(-2)).toEqual(['offsets posts/0 2, comments/0 0, counterspeech/0 0', 'release'])
  })

  it('reads nothing for a new beginning, but brings the numbers back', async () => {
    const done = await recoverStore(without({ upTo: 'nothing' }))
    expect(done).toMatchObject({ messages: 0, revisions: 1, forecast: { again: { verdicts: 1 } } })
    expect(steps).toContain('restore judged rumor 1')
  })

  it('changes nothing where the group has members, or has offsets after all', async () => {
    const busy = async () => ({ ...unread, alone: false })
    await expect(recoverStore(runOf({ progress: busy, upTo: 'end' }))).rejects.toThrow('has members')
    await expect(recoverStore(runOf({ upTo: 'end' }))).rejects.toThrow('has offsets')
    expect(steps).toEqual([])
  })
})

describe('a recovery that the store interrupts', () => {
  it('begins again when the store is back, and says once what it waits for', { timeout: 20_000 }, async () => {
    put('posts', { id: 'new', text: 'just now', createdAt: at(NOW - 2 * HOUR) })
    const said: string[] = []
    const run = runOf({ say: (line) => void said.push(line) })
    let away = 2
    const write: RecoveryRun['marks']['write'] = async (all) => {
      if (away-- > 0) throw new Error('away')
      return run.marks.write(all)
    }
    const done = await recoverStore({ ...run, marks: { ...run.marks, write } })
    expect(done).toMatchObject({ messages: 1 })
    expect(said).toEqual(['Redis is away. Waiting, then beginning again …'])
    expect(steps.filter((step) => step === 'hold')).toHaveLength(3)
    expect(steps.at(-1)).toBe('release')
  })

  it('begins again where the store was started anew before the end, and lets nobody go on before', async () => {
    const said: string[] = []
    const run = runOf({ say: (line) => void said.push(line) })
    let restarts = 1
    const release: RecoveryRun['hold']['release'] = async (progress) =>
      restarts-- > 0 ? false : run.hold.release(progress)
    await recoverStore({ ...run, hold: { ...run.hold, release } })
    expect(said).toEqual([expect.stringContaining('started anew')])
    expect(steps.filter((step) => step === 'hold' || step === 'release')).toEqual(['hold', 'hold', 'release'])
  })

  it('ends with every other error', async () => {
    const run = runOf()
    const write = () => Promise.reject(new Error('a bug'))
    await expect(recoverStore({ ...run, marks: { ...run.marks, write } })).rejects.toThrow('a bug')
  })
})

describe('two contents under one id', () => {
  it('are reported, and the next revision is due, because no transcript shows what the last one saw', async () => {
    put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    put('verdicts', verdictOn('p', NOW - HOUR))
    put('verdicts', { ...verdictOn('p', NOW - HOUR), label: 'bad' })
    const given: boolean[] = []
    const run = runOf()
    const restore: RecoveryRun['store']['restore'] = async (ref, published) => {
      given.push(...[...published].map(({ contested }) => contested))
      return run.store.restore(ref, published)
    }
    const done = await recoverStore({ ...run, store: { ...run.store, restore } })
    expect(done.contested).toEqual([verdictOn('p', NOW).id])
    expect(given).toEqual([true])
    expect(steps.filter((step) => step.startsWith('settle'))).toEqual([])
  })

  it('are none where a repeat is byte-identical, or a later revision has settled it', async () => {
    put('verdicts', verdictOn('p', NOW - HOUR))
    put('verdicts', verdictOn('p', NOW - HOUR))
    put('verdicts', verdictOn('q', NOW - HOUR))
    put('verdicts', { ...verdictOn('q', NOW - HOUR), label: 'bad' })
    put('verdicts', { ...verdictOn('q', NOW), id: 'rumor~q~r2', revision: 2 })
    expect((await recoverStore(runOf())).contested).toEqual([])
  })

  it('keep a subject that would be over from being passed over', async () => {
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    put('verdicts', { ...verdictOn('old', T0 + 2 * HOUR), label: 'bad' })
    expect(await recoverStore(runOf())).toMatchObject({ over: 0, contested: ['rumor~old~r1'] })
  })
})

describe('what counts as accepted', () => {
  const post = (id: string, before: number) =>
    put('posts', { id, text: 'just now', createdAt: at(NOW - before) }, NOW - before)
  const withProgress = (posts: bigint | null, alone = true) => {
    const partitions = posts === null ? new Map<number, bigint>() : new Map([[0, posts]])
    return async () => ({ committed: new Map([['posts', partitions]]), alone })
  }
  beforeEach(() => {
    post('early', 3 * HOUR)
    post('late', HOUR)
    put('verdicts', verdictOn('early', NOW - HOUR))
  })

  it('is what was sent before the time that was said, and the group begins there', async () => {
    const run = runOf({ progress: withProgress(null), upTo: NOW - 2 * HOUR })
    expect(await recoverStore(run)).toMatchObject({ messages: 1, outcomes: { judged: 1 } })
    expect(steps.slice(-2)).toEqual(['offsets posts/0 1, comments/0 0, counterspeech/0 0', 'release'])
  })

  it('is unknown where the group has partitions without an offset', async () => {
    await expect(recoverStore(runOf({ progress: withProgress(null) }))).rejects.toThrow('has no offsets')
  })

  it('is nothing of a topic that is shorter than the group’s offset: it was made anew', async () => {
    expect(await recoverStore(runOf({ progress: withProgress(3n) }))).toMatchObject({ messages: 0 })
    expect(await recoverStore(runOf({ progress: withProgress(2n) }))).toMatchObject({ messages: 2 })
  })

  it('may be planned while the group has members', async () => {
    const planned = await recoverStore(runOf({ progress: withProgress(null, false), upTo: 'end', dryRun: true }))
    expect(planned).toMatchObject({ messages: 2, unknownOffsets: false })
  })

  it('is known to be nothing for a new beginning', async () => {
    const begun = await recoverStore(runOf({ progress: withProgress(null), upTo: 'nothing', dryRun: true }))
    expect(begun).toMatchObject({ messages: 0, unknownOffsets: false })
  })

  it('says which option is too much where the group has offsets', async () => {
    await expect(recoverStore(runOf({ upTo: 'end' }))).rejects.toThrow('leave out --up-to.')
    await expect(recoverStore(runOf({ upTo: 'nothing' }))).rejects.toThrow('leave out --new-beginning.')
  })
})

describe('a forecast', () => {
  const begun = (change: Partial<RecoveryRun> = {}) =>
    recoverStore(runOf({ progress: async () => ({ committed: new Map(), alone: true }), upTo: 'nothing', ...change }))

  it('counts a post once, however often it was sent, and none from before the start time', async () => {
    for (const before of [3, 2, 1])
      put('posts', { id: 'p', text: `x${before}`, createdAt: at(NOW) }, NOW - before * HOUR)
    put('verdicts', verdictOn('other', NOW - HOUR))
    expect((await begun({ dryRun: true })).forecast?.first.verdicts).toBe(1)
    put('posts', { id: 'q', text: 'later', createdAt: at(NOW) }, NOW)
    expect((await begun({ dryRun: true, since: NOW - MINUTE })).forecast?.first.verdicts).toBe(1)
  })

  it('does not count a thread that ended long ago: its comments are gone, and its verdict stays', async () => {
    put('posts', { id: 'old', text: 'long ago', createdAt: at(T0) })
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    expect((await begun()).forecast).toMatchObject({ first: { verdicts: 0 }, again: { verdicts: 0 } })
  })
})

describe('a message with a dead letter', () => {
  const letterOf = (topic: string, offset: string, timestamp: number, reason = 'unjudgeable') =>
    put('dead-letters', {
      schema: 1,
      topic,
      partition: 0,
      offset,
      key: 'k',
      headers: {},
      reason,
      detail: 'x',
      raw: '',
      rawBytes: 0,
      truncated: false,
      at: at(timestamp),
    })

  it('is not taken again, nor gets a second one', async () => {
    put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    put('posts', { id: 'bad' }, NOW - HOUR)
    for (const offset of ['0', '1']) letterOf('posts', offset, NOW - HOUR)
    expect(await recoverStore(runOf())).toMatchObject({ messages: 2, outcomes: {} })
    expect(await stores.threads.read(thread('p'))).toBeNull()
  })

  it('is not taken again either where only a later version knows the reason', async () => {
    put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    letterOf('posts', '0', NOW - HOUR, 'word-of-later')
    expect(await recoverStore(runOf())).toMatchObject({ messages: 1, outcomes: {} })
    expect(await stores.threads.read(thread('p'))).toBeNull()
  })

  it('is another than one at the same offset before its topic was made anew', async () => {
    put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    letterOf('posts', '0', T0)
    expect(await recoverStore(runOf())).toMatchObject({ outcomes: { judged: 1 } })
  })
})

describe('a subject that seems to be over', () => {
  it('goes on where a comment came after its last verdict, before it would have been forgotten', async () => {
    put('posts', { id: 'old', text: 'long ago', createdAt: at(T0) })
    put('comments', { id: 'c', postId: 'old', text: 'and so', createdAt: at(T0 + 3 * HOUR) }, T0 + 3 * HOUR)
    put('verdicts', verdictOn('old', T0 + 2 * HOUR))
    expect(await recoverStore(runOf())).toMatchObject({ over: 0, revisions: 1, messages: 2 })
  })
})

describe('comments that are judged by themselves', () => {
  const judging = () => {
    const protocols = [protocolNamed('hate', { subject: 'post' })]
    const routes = router(protocols, { hate: [{ subjects: ['post', 'comment'] }] }, () => 0)
    const checkpoints = { counts: [], ages: [], finalAge: HOUR, reopen: true }
    const input = inputOver(intakeContext(stores, { routes, checkpoints, clock: () => NOW }))
    return runOf({ protocols, routes, input })
  }
  const of = (verdict: Verdict, more: Partial<Verdict> = {}): Verdict => {
    const { subjectId, postId, revision } = { ...verdict, ...more }
    const id =
      postId === undefined ? `hate~${subjectId}~r${revision}` : `hate/comment~${postId}~${subjectId}~r${revision}`
    return { ...verdict, ...more, protocol: 'hate', id }
  }
  const comment = (id: string) => thread(`old~${id}`, 'default', 'comment')

  beforeEach(() => {
    put('posts', { id: 'old', text: 'long ago', createdAt: at(T0) })
    put('comments', { id: 'over', postId: 'old', text: 'and so', createdAt: at(T0) })
    put('comments', { id: 'lately', postId: 'old', text: 'a late one', createdAt: at(T0 + MINUTE) }, T0 + MINUTE)
    put('comments', { id: 'lately2', postId: 'old', text: 'a lost one', createdAt: at(T0 + MINUTE) }, T0 + MINUTE)
    put('verdicts', of(verdictOn('over', T0 + 2 * HOUR), { subjectKind: 'comment', postId: 'old' }))
  })

  it('come back where they outlive their post, and their post does not', async () => {
    put('verdicts', of(verdictOn('old', T0 + 2 * HOUR)))
    put('verdicts', of(verdictOn('lately', NOW - HOUR), { subjectKind: 'comment', postId: 'old' }))
    expect(await recoverStore(judging())).toMatchObject({ subjects: 3, over: 2 })
    expect(steps).toEqual(expect.arrayContaining(['end old', 'end old~over', 'restore old~lately hate 1']))
    const { threads } = stores
    expect((await threads.read(comment('lately')))?.post?.text).toBe('a late one')
    expect((await threads.read(comment('lately2')))?.post?.text).toBe('a lost one')
    expect([await threads.read(comment('over')), await threads.read(thread('old'))]).toEqual([null, null])
    // A deletion of the post reaches also the one of which no more than its revisions is kept.
    const linked = await threads.repliesTo(thread('old'), 9)
    expect(linked.map(({ postId }) => postId).sort()).toEqual(['old~lately', 'old~lately2', 'old~over'])
  })

  it('stay away where their post was deleted, and has been forgotten', async () => {
    const early = T0 - 10 * 24 * HOUR
    put('comments', { id: 'c', postId: 'gone', text: 'never judged', createdAt: at(early) }, early)
    put(
      'verdicts',
      of({ ...verdictOn('gone', early + HOUR), label: null, decidedBy: 'deleted', degraded: ['deleted'] }),
    )
    expect(await recoverStore(judging())).toMatchObject({ over: 2 })
    expect(await stores.threads.read(thread('gone~c', 'default', 'comment'))).toBeNull()
  })
})

describe('what a recovery leaves', () => {
  it('is not known to be whole where one partition of the verdicts topic has lost its first records', async () => {
    put('verdicts', verdictOn('p', NOW - HOUR))
    const run = runOf()
    const rangesOf: RecoveryRun['history']['rangesOf'] = async (topic, since) => {
      const whole = await run.history.rangesOf(topic, since)
      return topic === 'verdicts' ? new Map([...whole, [1, { from: 3n, to: 3n }]]) : whole
    }
    await recoverStore({ ...run, history: { ...run.history, rangesOf } })
    expect(steps).toContain('complete false')
  })

  it('is a stream that has been at its end since then, or since that was known', async () => {
    put('posts', { id: 'p', text: 'just now', createdAt: at(NOW - HOUR) }, NOW - HOUR)
    await recoverStore(runOf())
    expect((await stores.marks.read()).get('posts/0')).toMatchObject({ endSince: NOW, seenAt: NOW })
    await recoverStore(runOf({ clock: () => NOW + MINUTE }))
    expect((await stores.marks.read()).get('comments/0')).toMatchObject({ endSince: NOW, seenAt: NOW + MINUTE })
  })

  it('is every subject, where they are more than are worked at together', async () => {
    const ids = Array.from({ length: 120 }, (_, number) => `p${number}`)
    for (const id of ids) put('verdicts', verdictOn(id, NOW - HOUR))
    expect(await recoverStore(runOf())).toMatchObject({ revisions: 120 })
    expect(steps.filter((step) => step.startsWith('restore'))).toEqual(ids.map((id) => `restore ${id} rumor 1`))
  })

  it('is counted in a dry run without retractions', async () => {
    put('verdicts', { ...verdictOn('p', NOW - HOUR), label: null, decidedBy: 'deleted', degraded: ['deleted'] })
    put('verdicts', verdictOn('q', NOW - HOUR))
    expect(await recoverStore(runOf({ dryRun: true }))).toMatchObject({ revisions: 1 })
  })
})
