import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { decisionOutcome, proposal, review } from '../../src/contracts/facts/decision-messages.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { decided } from '../chaos/decisions-found.ts'
import { readAll, type TopicRecord } from '../chaos/reader.ts'
import { heldIn, recordBreaches } from '../chaos/recorded.ts'
import { ownWords } from '../chaos/stream.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  type Service,
  send,
  settingsOf,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

const ROLES = ['intake', 'judge', 'publish', 'record'] as const
type Role = (typeof ROLES)[number]
const ALL = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7']
/** Those that people decide on. */
const DECIDED = ALL.slice(0, 6)
const WITHIN_MS = 180_000

describe('what people decide, through kill -9 of every role', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gavel-decide-kills-'))
  const fleet = new Map<Role, Service>()
  let stack: Servers
  let environment: Record<string, string>
  let client: Redis
  let kills = 0

  const path = join(folder, 'record', 'record.sqlite')
  const start = async (role: Role) => void fleet.set(role, await startService(environment, role))
  async function killed(role: Role): Promise<void> {
    await fleet.get(role)?.kill('SIGKILL')
    kills++
    await start(role)
  }
  /** Each role is killed once, one after the other, while the others work. */
  async function eachKilled(): Promise<void> {
    for (const role of ROLES) await killed(role)
  }

  beforeAll(async () => {
    stack = await startServers({ latencyMs: 100 })
    client = new Redis(stack.settings.REDIS_URL ?? '')
    const own = { GAVEL_RECORD_PATH: path, GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_DRAIN: '3s' }
    environment = environmentOn(stack, { ...own, GAVEL_LIBRARY_PATH: join(folder, 'library') })
    await makeTopics(clientOf(environment), settingsOf(environment))
    for (const role of ROLES) await start(role)
  }, 900_000)
  afterAll(async () => {
    tell(`${kills} processes were killed`)
    for (const service of fleet.values()) await service.kill('SIGKILL')
    client?.disconnect()
    await stack?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function gavel(...args: string[]): Promise<string> {
    const program = [join(PROJECT, 'src', 'main.ts'), ...args]
    return new Promise((resolve) => {
      execFile(process.execPath, program, { env: bareEnvironment(environment) }, (_, out, error) =>
        resolve(out + error),
      )
    })
  }

  let files = 0
  async function sendLines(lines: readonly object[]): Promise<void> {
    const file = join(folder, `${++files}.jsonl`)
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await send(environment, file, 'gavel', { kind: 'flat-out' })
  }
  const post = (id: string, more: object = {}) => ({
    type: 'post',
    id,
    text: `The dam above ${id} has burst, they say.`,
    createdAt: '2025-03-01T10:00:00Z',
    ...more,
  })
  const comment = (postId: string, at: string, more: object = {}) => {
    const id = `${postId}-${at.replace(':', '')}`
    const text = `It is true, I saw it at ${at}. ${ownWords(id)}`
    return { type: 'comment', id, postId, text, createdAt: `2025-03-01T${at}:00Z`, ...more }
  }

  const on = async (topic: keyof ReturnType<typeof topicsOf>): Promise<TopicRecord[]> => {
    const name = topicsOf(settingsOf(environment))[topic]
    return (await readAll(clientOf(environment), [name])).get(name) ?? []
  }
  const read = async <One>(topic: Parameters<typeof on>[0], schema: { parse(json: unknown): One }): Promise<One[]> =>
    (await on(topic)).map(({ value }) => schema.parse(JSON.parse(value)))
  /** The last verdict of each subject. */
  async function last(): Promise<ReadonlyMap<string, Verdict>> {
    const newest = new Map<string, Verdict>()
    for (const one of await verdictsOf(environment))
      if ((newest.get(one.subjectId)?.revision ?? 0) < one.revision) newest.set(one.subjectId, one)
    return newest
  }
  /** Waits until it is so of the last verdict of each of these subjects. */
  async function allAre(subjects: readonly string[], is: (one: Verdict) => boolean): Promise<void> {
    let left: readonly string[] = []
    await eventually(
      async () => {
        const newest = await last()
        left = subjects.filter((id) => {
          const one = newest.get(id)
          return one === undefined || !is(one)
        })
        return left.length === 0
      },
      WITHIN_MS,
      () => `${left.join(', ')} are not`,
    )
  }
  const isHuman = ({ decidedBy }: Verdict) => decidedBy === 'human'
  const outcomesOf = async (subjects: readonly string[]) =>
    (await read('decisionOutcomes', decisionOutcome)).filter(({ subjectId }) => subjects.includes(subjectId))

  async function decide(decisions: readonly { readonly subjectId: string; [field: string]: unknown }[]): Promise<void> {
    const producer = clientOf(environment).producer()
    await producer.connect()
    const said = { protocol: 'rumor', by: 'ann', why: 'Confirmed by the city, ticket 88.' }
    const at = new Date().toISOString()
    const messages = decisions.map((one) => ({ key: one.subjectId, value: JSON.stringify({ ...said, at, ...one }) }))
    await producer.send({ topic: topicsOf(settingsOf(environment)).decisions, messages })
    await producer.disconnect()
  }
  const other = ({ label }: Verdict) => (label === 'rumor' ? 'non-rumor' : 'rumor')

  it('judged and overruled: each decision becomes one verdict', { timeout: 600_000 }, async () => {
    await sendLines(ALL.flatMap((id) => [post(id), comment(id, '10:01')]))
    await eachKilled()
    await allAre(ALL, ({ final }) => final)
    const machines = await last()
    const all = DECIDED.flatMap((subjectId) => {
      const one = machines.get(subjectId)
      return one === undefined ? [] : [{ subjectId, label: other(one), against: one.revision }]
    })
    expect(all).toHaveLength(DECIDED.length)
    // The last one comes twice, as where an acknowledgement was lost.
    const sent = decide([...all, ...all.slice(-1)])
    for (const role of ['intake', 'publish', 'record'] as const) await killed(role)
    await sent
    await allAre(DECIDED, isHuman)
    const human = await last()
    for (const { subjectId, label, against } of all)
      expect(human.get(subjectId)).toMatchObject({ label, revision: against + 1, decision: { by: 'ann' } })
    await eventually(async () => (await outcomesOf(DECIDED)).length >= DECIDED.length, WITHIN_MS)
    expect((await outcomesOf(DECIDED)).map(({ outcome }) => outcome)).toEqual(DECIDED.map(() => 'stands'))
  })

  it('late comments become proposals, and edits ask for a second look', { timeout: 600_000 }, async () => {
    const before = await last()
    await sendLines([
      ...DECIDED.map((id) => comment(id, '10:02')),
      ...['p0', 'p1'].map((id) => post(id, { text: `The dam above ${id} has burst. (edited)` })),
    ])
    await eachKilled()
    const beneath = async () => new Set((await read('proposals', proposal)).map((one) => one.subjectId))
    await eventually(async () => (await beneath()).size >= DECIDED.length, WITHIN_MS)
    const asked = async () => (await read('reviews', review)).map(({ why, verdict: id }) => `${why} ${id}`)
    const wanted = [
      ...['p0', 'p1'].map((id) => `edited ${before.get(id)?.id}`),
      ...(await read('proposals', proposal)).flatMap((one) => (one.differs ? [`differs ${one.beneath}`] : [])),
    ]
    expect(wanted.length).toBeGreaterThan(2)
    await eventually(
      async () => wanted.every(Set.prototype.has, new Set(await asked())),
      WITHIN_MS,
      () => `wanted ${wanted.join(', ')}`,
    )
    for (const id of DECIDED) expect((await last()).get(id)).toEqual(before.get(id))
  })

  it('withdrawn, and decided by two at once', { timeout: 600_000 }, async () => {
    const before = await last()
    const against = (id: string) => before.get(id)?.revision ?? 0
    const sent = decide([
      ...['p0', 'p1'].map((subjectId) => ({ subjectId, withdraw: true, against: against(subjectId) })),
      { subjectId: 'p3', label: 'rumor', against: against('p3'), by: 'ben' },
      { subjectId: 'p3', label: 'non-rumor', against: against('p3'), by: 'eve' },
    ])
    await eachKilled()
    await sent
    await allAre(['p0', 'p1'], ({ restored }) => restored !== undefined)
    await allAre(['p3'], ({ decision }) => decision?.by === 'ben')
    const refused = async () => (await read('reviews', review)).filter(({ why }) => why === 'refused')
    await eventually(async () => (await refused()).length > 0, WITHIN_MS)
    expect((await refused()).map(({ subjectId, by }) => `${subjectId} ${by}`)).toEqual(['p3 eve'])
  })

  it('recovered after Redis was emptied: what stood stands', { timeout: 600_000 }, async () => {
    for (const service of fleet.values()) await service.kill('SIGKILL')
    kills += fleet.size
    const before = await last()
    await client.flushall()
    expect(await gavel('recover')).toContain('4 human verdicts made current again')
    for (const role of ROLES) await start(role)
    const humans = ['p2', 'p3', 'p4', 'p5']
    const known = new Set((await read('proposals', proposal)).map(({ id }) => id))
    await sendLines(humans.map((id) => comment(id, '10:03')))
    await eachKilled()
    const fresh = async () => (await read('proposals', proposal)).filter(({ id }) => !known.has(id))
    await eventually(async () => new Set((await fresh()).map((one) => one.subjectId)).size >= 4, WITHIN_MS)
    for (const one of await fresh()) expect(one.beneath).toBe(before.get(one.subjectId)?.id)
    for (const id of humans) expect((await last()).get(id)).toEqual(before.get(id))
  })

  it('deleted; and the record is what the topics say, each decision once, no machine’s verdict after a human one', {
    timeout: 900_000,
  }, async () => {
    const gone = ['p4', 'p5', 'p6']
    const at = { createdAt: '2025-03-01T10:09:00Z', deleted: true }
    await sendLines([
      ...gone.map((id) => ({ type: 'post', id, ...at })),
      { type: 'comment', id: 'p2-1001', postId: 'p2', ...at },
    ])
    await eachKilled()
    await allAre(gone, ({ decidedBy }) => decidedBy === 'deleted')
    await decide([{ subjectId: 'p4', label: 'rumor', against: 99 }])
    await eventually(
      async () => (await outcomesOf(gone)).filter(({ outcome }) => outcome === 'deleted').length >= 2,
      WITHIN_MS,
    )

    const evidenceNow = async () => ({
      posts: await on('posts'),
      comments: await on('comments'),
      counterspeech: await on('counterspeech'),
      verdicts: await on('verdicts'),
      transcripts: await on('transcripts'),
      proposals: await on('proposals'),
      decisions: await on('decisions'),
      outcomes: await on('decisionOutcomes'),
      reviews: await on('reviews'),
    })
    let breaches: string[] = []
    await eventually(
      async () => {
        const evidence = await evidenceNow()
        breaches = recordBreaches(evidence, await heldIn(path, evidence))
        return breaches.length === 0
      },
      WITHIN_MS,
      () => breaches.join('\n'),
    )
    for (const service of fleet.values()) await service.kill('SIGTERM')
    const evidence = await evidenceNow()
    expect(recordBreaches(evidence, await heldIn(path, evidence))).toEqual([])
    const found: string[] = []
    const many = (what: string, all: readonly string[]) => void found.push(...all.map((one) => `${what}: ${one}`))
    const letters = new Map(
      (await read('deadLetters', deadLetter)).map((one) => [
        `${one.topic.split('.').at(-1)}/${one.partition}@${one.offset}`,
        one.reason,
      ]),
    )
    expect([...letters.values()].filter((reason) => reason !== 'unjudgeable')).toEqual([])
    const verdicts = new Map(
      evidence.verdicts.map((standing) => {
        const one = verdict.parse(JSON.parse(standing.value))
        return [one.id, { one, standing }]
      }),
    )
    const chains = [...verdicts.values()].sort((a, b) => a.one.revision - b.one.revision)
    const proposals = evidence.proposals.map(({ value }) => proposal.parse(JSON.parse(value)))
    const isGone = (subject: string) => gone.includes(subject.split(':').at(-1) ?? '')
    decided({ ...evidence, hasLost: false }, chains, proposals, letters, isGone, many)
    expect(found).toEqual([])
    tell(`${evidence.verdicts.length} verdicts, ${proposals.length} proposals, ${evidence.decisions.length} decisions`)

    expect(await gavel('record', 'rebuild')).toMatch(/\d+ verdicts/)
    expect(recordBreaches(evidence, await heldIn(path, evidence))).toEqual([])
  })
})
