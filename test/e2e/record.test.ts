import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { command as exportRecord } from '../../src/app/commands/record/export.ts'
import { command as rebuildRecord } from '../../src/app/commands/record/rebuild.ts'
import { command as decide } from '../../src/app/commands/review/decide.ts'
import { command as list } from '../../src/app/commands/review/list.ts'
import { command as reserve } from '../../src/app/commands/review/reserve.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import type { Command } from '../../src/cli/command.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import { command as stats } from '../../src/lab/commands/review/stats.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { aTranscript } from '../contracts/record.ts'
import { perform } from '../support/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  type Service,
  settingsOf,
  silent,
  startService,
} from '../support/pipeline.ts'
import { aPostgres } from '../support/postgres-server.ts'
import { type Servers, startServers } from '../support/servers.ts'
import { aVerdict } from '../support/verdicts.ts'

/** Verdicts that are sent before, while and after the role is killed. */
const MANY = 300
const BEGUN = Date.now() - 3_600_000
const at = (seconds: number) => new Date(BEGUN + seconds * 1_000).toISOString()
const SECRET = 'Xylozebraquark'
const postgres = await aPostgres({ password: 'canary4record' })

describe('the record on real topics', () => {
  let stack: Servers
  let environment: Record<string, string>
  let service: Service | null = null
  const path = join(ownFolder('record'), 'record.sqlite')
  const start = async (roles = 'record') => {
    service = await startService(environment, roles)
  }
  /** What a command prints; its error's message, if it ends with one. */
  async function printed(run: (io: { terminal: Terminal; signal: AbortSignal }) => Promise<unknown>): Promise<string> {
    const lines: string[] = []
    const terminal = { ...silent, out: (line: unknown) => void lines.push(String(line)) }
    await run({ terminal, signal: new AbortController().signal }).catch((error: Error) => lines.push(error.message))
    return lines.join('\n')
  }
  const search = (words: string) =>
    printed((io) => perform(verdicts, settingsOf(environment), [], { record: true, search: words }, io))
  const exported = () => printed((io) => perform(exportRecord, settingsOf(environment), [], {}, io))
  const rebuilt = () => printed((io) => perform(rebuildRecord, settingsOf(environment), [], {}, io))
  const send = async (
    topic: 'verdicts' | 'transcripts' | 'posts' | 'comments',
    records: readonly [string, unknown][],
  ) => {
    const producer = clientOf(environment).producer()
    await producer.connect()
    const messages = records.map(([key, value]) => ({ key, value: JSON.stringify(value) }))
    await producer.send({ topic: topicsOf(settingsOf(environment))[topic], messages })
    await producer.disconnect()
  }
  const verdictsFrom = (first: number) =>
    Array.from({ length: MANY / 3 }, (_, n): [string, unknown] => {
      const subjectId = `s${first + n}`
      return [subjectId, aVerdict(at(first + n), { subjectId, rationale: `reason ${first + n}` })]
    })
  const recorded = async () => {
    const options = { record: true, last: 1_000, json: true } as const
    const lines = await printed((io) => perform(verdicts, settingsOf(environment), [], options, io))
    return lines.split('\n').flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { id: string }).id] : []))
  }

  beforeAll(async () => {
    stack = await startServers({})
    environment = environmentOn(stack, { GAVEL_RECORD_PATH: path, GAVEL_REVIEW_BLIND_SHARE: '0' })
    await makeTopics(clientOf(environment), settingsOf(environment))
  })
  afterAll(async () => {
    await service?.kill('SIGTERM')
    await stack?.close()
    await postgres?.close()
  })

  it('loses and repeats nothing through a kill -9, is searched, erased within a second, exported and rebuilt', {
    timeout: 240_000,
  }, async () => {
    await send('verdicts', verdictsFrom(0))
    await start()
    await eventually(async () => (await recorded()).length > 0, 60_000)
    await send('verdicts', verdictsFrom(MANY / 3))
    await service?.kill('SIGKILL')
    await send('verdicts', verdictsFrom((2 * MANY) / 3))
    await start()
    const one = aVerdict(at(MANY), { subjectId: 'p', rationale: `${SECRET} it says` })
    await send('verdicts', [['p', one]])
    await send('transcripts', [['p', aTranscript(one.id, `a ${SECRET} post`, { c1: 'a comment' })]])
    let count = 0
    const isWhole = async () => {
      count = (await recorded()).length
      return count > MANY
    }
    await eventually(isWhole, 90_000, () => `${count} are recorded`)
    const all = await recorded()
    expect(all.length).toBe(MANY + 1)
    expect(new Set(all).size).toBe(MANY + 1)
    await eventually(async () => (await search('zebra')).includes(one.id), 30_000)
    expect(await search('nowhere')).toBe('')

    const written = () =>
      readdirSync(dirname(path))
        .map((name) => readFileSync(join(dirname(path), name), 'latin1'))
        .join('')
    expect(written()).toContain(SECRET)
    await send('posts', [['p', { id: 'p', createdAt: at(0), deleted: true }]])
    await eventually(async () => !/xylozebra/i.test(written()), 30_000)
    expect(await search('zebra')).toBe('')

    const before = await exported()
    expect(before.split('\n')).toHaveLength(MANY)
    expect(await rebuilt()).toContain('Stop it first')
    await service?.kill('SIGTERM')
    expect(await rebuilt()).toContain(`${MANY} verdicts`)
    expect((await exported()).split('\n').toSorted()).toEqual(before.split('\n').toSorted())
    expect(written()).not.toMatch(/xylozebra/i)

    writeFileSync(path, 'no database at all, but words')
    for (const name of ['-wal', '-shm']) rmSync(path + name, { force: true })
    expect(await exported()).toMatch(/is damaged .*gavel record rebuild/)
    expect(await rebuilt()).toContain(`${MANY} verdicts`)
    expect((await exported()).split('\n')).toHaveLength(MANY)
  })

  it('brings an item of the review queue to one person, and the decision back, as a human verdict', {
    timeout: 240_000,
  }, async () => {
    environment = environmentOn(stack, {
      GAVEL_RECORD_PATH: join(ownFolder('record'), 'record.sqlite'),
      GAVEL_REVIEW_AUDIT_SHARE: '1',
      GAVEL_REVIEW_BLIND_SHARE: '0',
      GAVEL_CLOCK_IDLE_AFTER: '1s',
    })
    await makeTopics(clientOf(environment), settingsOf(environment))
    await start('intake,judge,publish,record')
    await send('posts', [['q', { id: 'q', text: 'The bridge has collapsed.', createdAt: at(0) }]])
    const comment = (n: number) => ({ id: `c${n}`, postId: 'q', text: `I saw it, it is ${n} true`, createdAt: at(n) })
    await send(
      'comments',
      [1, 2, 3].map((n) => ['q', comment(n)]),
    )
    const run = <Options>(command: Command<Options>, args: readonly string[], options: Options & { json?: true }) =>
      printed((io) => perform(command, settingsOf(environment), args, options, io))
    const waiting = async () => {
      const lines = await run(list, [], { most: 20, for: 'ann', json: true })
      return lines.startsWith('{')
        ? (JSON.parse(lines.split('\n')[0] ?? '') as { verdict: string; label: string })
        : null
    }
    const isFinal = async (id: string) => {
      const lines = await run(verdicts, [], { record: true, last: 20, json: true })
      return lines.split('\n').some((line) => line.includes(`"${id}"`) && line.includes('"final":true'))
    }
    await eventually(async () => await isFinal((await waiting())?.verdict ?? ''), 120_000)
    const item = await waiting()
    const [of = '', label] = [item?.verdict, item?.label === 'rumor' ? 'non-rumor' : 'rumor']
    expect(await run(reserve, [of], { by: 'ann' })).toMatch(/ann’s until[\s\S]*sampled[\s\S]*bridge[\s\S]*I saw it/)
    const words = { label, by: 'ben', why: 'ticket 88' }
    expect(await run(decide, [of], words)).toMatch(/^ann has it until/)
    expect(await run(decide, [of], { ...words, by: 'ann' })).toMatch(/^rumor~q~r\d+ stands\.$/)
    await eventually(async () => !(await run(list, [], { most: 1_000 })).includes('~q~'), 60_000)
    expect(await run(stats, [], {})).toMatch(/rumor +│ machines +│ audit +│ all +│ 0 +│ 1 /)
    expect(await run(decide, [of], { ...words, by: 'ann' })).toMatch(/^No such item waits/)
  })

  it.skipIf(postgres === null)(
    'does so in PostgreSQL, for two processes, and goes on when the database is back',
    {
      timeout: 300_000,
    },
    async () => {
      await service?.kill('SIGKILL')
      environment = environmentOn(stack, {
        ...postgres?.variables(),
        GAVEL_REVIEW_BLIND_SHARE: '0',
      })
      await makeTopics(clientOf(environment), settingsOf(environment))
      await send('verdicts', verdictsFrom(0))
      await start()
      await eventually(async () => (await recorded()).length > 0, 90_000)
      const other = await startService(environment, 'record')
      await send('verdicts', verdictsFrom(MANY / 3))
      await service?.kill('SIGKILL')
      await postgres?.server.kill()
      await send('verdicts', verdictsFrom((2 * MANY) / 3))
      await postgres?.server.restart()
      await start()
      const one = aVerdict(at(MANY), { subjectId: 'p', rationale: `${SECRET} it says` })
      await send('verdicts', [['p', one]])
      await send('transcripts', [['p', aTranscript(one.id, `a ${SECRET} post`, { c1: 'a comment' })]])
      await eventually(async () => (await recorded()).length > MANY, 120_000)
      expect(other.process.exitCode, other.log.slice(-20).join('\n')).toBeNull()
      const all = await recorded()
      expect(new Set(all).size).toBe(all.length)
      expect(all.length).toBe(MANY + 1)
      await eventually(async () => (await search('zebra')).includes(one.id), 60_000)
      await send('posts', [['p', { id: 'p', createdAt: at(0), deleted: true }]])
      await eventually(async () => (await search('zebra')) === '', 60_000)
      const before = await exported()
      expect(before.split('\n')).toHaveLength(MANY)
      for (const process of [service, other]) await process?.kill('SIGTERM')
      expect(await rebuilt()).toContain(`${MANY} verdicts`)
      expect((await exported()).split('\n').toSorted()).toEqual(before.split('\n').toSorted())
    },
  )
})
