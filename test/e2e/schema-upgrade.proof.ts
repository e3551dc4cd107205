import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { recover } from '../../src/app/commands/recover.ts'
import { command as verdicts } from '../../src/app/commands/verdicts.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { perform } from '../support/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  EVERY_DEBATE_HELD,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  settingsOf,
  silent,
  startService,
  tell,
  transcriptsOf,
  UNBOUNDED,
  verdictsOf,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

// This version and the last one that writes schema 1, on the same topics and the same Redis.

/** The last commit that writes and reads schema 1 alone. */
const EARLIER = 'f57c605c'
const PROTOCOLS = 2
/** With the verdicts of both versions, 2,000. */
const POSTS = 500
const ROLES = 'intake,judge,publish'

const folder = ownFolder('upgrade')
const earlier = join(folder, 'earlier')
mkdirSync(earlier)
const archived = spawnSync('sh', ['-c', `git archive ${EARLIER} | tar x -C '${earlier}'`], { cwd: PROJECT })
const isThere = archived.status === 0 && archived.stderr.length === 0
if (isThere) symlinkSync(join(PROJECT, 'node_modules'), join(earlier, 'node_modules'))
else tell(`SKIPPED: the version ${EARLIER} is not in the history of this clone: ${archived.stderr.toString()}`)

let stack: Servers
const services: Service[] = []
beforeAll(async () => {
  if (isThere) stack = await startServers({ latencyMs: 20 })
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.kill('SIGKILL')
})
afterAll(async () => stack?.close())

const environmentOf = () =>
  environmentOn(stack, {
    ...protocolsOn('rumor', 'hate'),
    GAVEL_CLOCK_IDLE_AFTER: '1s',
    GAVEL_RECORD_PATH: join(ownFolder('upgrade-record'), 'record.sqlite'),
  })
/** A process of the earlier version, or of this one, that writes this schema: by default the setting’s. */
async function start(environment: Record<string, string>, which: 'earlier' | 1 | 2, roles = ROLES): Promise<Service> {
  const own =
    which === 1
      ? { ...environment, GAVEL_VERDICTS_SCHEMA: '1' }
      : which === 'earlier'
        ? knownThen(environment)
        : environment
  const service = await startService(own, roles, which === 'earlier' ? earlier : PROJECT)
  services.push(service)
  return service
}

/** Without the settings that the earlier version does not know: it holds every debate, and has no bound of a day. */
function knownThen(environment: Record<string, string>): Record<string, string> {
  const unknown = { ...EVERY_DEBATE_HELD, ...UNBOUNDED }
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !(name in unknown)))
}

/** Ids that hold what ids of verdicts are made of. */
const ODD_IDS = ['~r2', '~p1', '~', '%7E', '% \n', 'ü'.repeat(200)]
const oddId = (n: number) => `${ODD_IDS[n % ODD_IDS.length]}${n}${ODD_IDS[(n * 5) % ODD_IDS.length]}`
/** What only this version keeps of a post. */
const VIDEO = { kind: 'video', transcript: 'They are all gone', frames: [{ kind: 'image', alt: 'a mast' }] }

async function sendPosts(
  environment: Record<string, string>,
  name: string,
  count: number,
  idOf = (n: number) => `${name}-${n}`,
): Promise<string[]> {
  const file = join(folder, `${name}.jsonl`)
  const posts = Array.from({ length: count }, (_, n) => idOf(n))
  const createdAt = '2025-03-01T10:00:00Z'
  const lines = posts.flatMap((id, n) => [
    {
      type: 'post',
      id,
      text: `The mast ${n} of ${name} has fallen.`,
      lang: 'en',
      createdAt,
      ...(idOf === oddId ? { media: [VIDEO], reach: n } : {}),
    },
    { type: 'comment', id: `${id}-c`, postId: id, text: `It is true of ${n}.`, createdAt: '2025-03-01T10:01:00Z' },
  ])
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  return posts
}

const finalsOf = (all: readonly Verdict[]) => all.filter(({ final }) => final).map(({ id }) => id.replace(/~r\d+$/, ''))
const untilFinal = (environment: Record<string, string>, posts: number, withinMs = 300_000) => {
  let finals = 0
  return eventually(
    async () => {
      finals = new Set(finalsOf(await verdictsOf(environment))).size
      return finals >= posts * PROTOCOLS
    },
    withinMs,
    () => `${finals} finals; ${services.map(({ log }) => log.slice(-3).join('\n')).join('\n')}`,
  )
}

/** Nothing is lost, nothing said twice, and nothing refused. */
async function expectWhole(environment: Record<string, string>, posts: readonly string[]): Promise<Verdict[]> {
  const all = await verdictsOf(environment)
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  expect(finalsOf(all).sort()).toEqual(posts.flatMap((id) => [`hate~${id}`, `rumor~${id}`]).sort())
  for (const chain of Map.groupBy(all, ({ id }) => id.replace(/~r\d+$/, '')).values())
    expect(chain.map(({ revision }) => revision)).toEqual(chain.map((_, n) => n + 1))
  expect((await transcriptsOf(environment)).map(({ verdictId }) => verdictId).sort()).toEqual(
    all.map(({ id }) => id).sort(),
  )
  expect(await recordsOf(environment, 'deadLetters')).toEqual([])
  return all
}

describe.skipIf(!isThere)('the version before schema 2', () => {
  it.each<['earlier' | 1, 'earlier' | 1]>([
    ['earlier', 1],
    [1, 'earlier'],
  ])('and this one, which writes schema 1, work side by side: %s first, then %s', async (first, second) => {
    const environment = environmentOf()
    const one = await start(environment, first)
    const posts = await sendPosts(environment, 'before', 20)
    await eventually(async () => (await verdictsOf(environment)).length > 0, 60_000)
    const other = await start(environment, second)
    posts.push(...(await sendPosts(environment, 'beside', 60)), ...(await sendPosts(environment, 'odd', 24, oddId)))
    await untilFinal(environment, posts.length)
    await one.kill('SIGTERM')
    posts.push(...(await sendPosts(environment, 'after', 20)))
    await untilFinal(environment, posts.length)
    await other.kill('SIGTERM')
    const all = await expectWhole(environment, posts)
    expect(new Set(all.map(({ schema }) => schema))).toEqual(new Set([1]))
  })

  it('is not joined by a process that would write schema 2, and does not join one', async () => {
    const environment = environmentOf()
    const one = await start(environment, 'earlier')
    await expect(start(environment, 2)).rejects.toThrow(/verdicts\.schema: 1 beside them/)
    const posts = await sendPosts(environment, 'refused', 5)
    await untilFinal(environment, posts.length)
    const beside = await start(environment, 1)
    await expect(start(environment, 2)).rejects.toThrow(/verdicts\.schema: 1 beside them/)
    await one.kill('SIGTERM')
    await start(environment, 2)
    await beside.kill('SIGTERM')
    await expect(start(environment, 'earlier')).rejects.toThrow(/holds data in the form 2/)
    posts.push(...(await sendPosts(environment, 'newer', 5)))
    await untilFinal(environment, posts.length)
    const all = await expectWhole(environment, posts)
    const schemas = (name: string) => new Set(all.flatMap((v) => (v.subjectId.startsWith(name) ? [v.schema] : [])))
    expect([schemas('refused'), schemas('newer')]).toEqual([new Set([1]), new Set([2])])
  })

  it('left a thousand verdicts, and this one a thousand more: record, search and recovery take them all', async () => {
    const environment = environmentOf()
    const one = await start(environment, 'earlier')
    const posts = await sendPosts(environment, 'older', POSTS)
    await untilFinal(environment, POSTS)
    await one.kill('SIGTERM')
    const service = await start(environment, 2, `${ROLES},record`)
    posts.push(...(await sendPosts(environment, 'newer', POSTS)))
    await untilFinal(environment, posts.length)
    const all = await expectWhole(environment, posts)
    tell(`${all.length} verdicts: ${all.filter(({ schema }) => schema === 1).length} of schema 1`)
    for (const { schema, subjectId } of all) expect(schema).toBe(subjectId.startsWith('older') ? 1 : 2)
    for (const { schema, lang, subjectKind, debated, confidence } of all)
      expect(schema === 1 ? lang : [lang, subjectKind, debated?.held, confidence?.value !== undefined]).toEqual(
        schema === 1 ? undefined : ['en', 'post', expect.any(Boolean), true],
      )

    const record = await recordReaderOf(settingsOf(environment))
    try {
      await eventually(async () => (await record.size()).rows.transcripts === all.length, 120_000)
      expect((await record.size()).rows).toMatchObject({ verdicts: all.length, unread: 0 })
      const found = await record.find({}, all.length)
      expect(found.map(({ verdict: { id, schema } }) => `${id} ${schema}`).sort()).toEqual(
        all.map(({ id, schema }) => `${id} ${schema}`).sort(),
      )
      for (const name of ['older', 'newer'])
        expect((await record.search(`mast 7 of ${name}`, {}, 10)).found.map(({ subject }) => subject.postId)).toContain(
          `${name}-7`,
        )
    } finally {
      await record.close()
    }
    const io = { terminal: silent, signal: new AbortController().signal }
    const checked = await perform(verdicts, settingsOf(environment), [], { check: true as const }, io)
    expect(checked).toMatchObject({ records: all.length, unreadable: 0, ids: all.length, contested: [] })

    // After Redis was emptied each subject goes on behind its last revision, of either schema.
    const { url, prefix } = settingsOf(environment).redis
    const client = new Redis(url)
    const keys = await client.keys(`*${prefix}*`)
    await client.del(...keys)
    client.disconnect()
    const done = await recover(settingsOf(environment), { since: null, dryRun: false }, io)
    tell(`recovered: ${JSON.stringify(done)}`)
    expect(done.revisions).toBe(all.length)
    const edits = ['older-3', 'newer-3'].map((id) => ({
      type: 'post',
      id,
      text: `The mast of ${id} stands again.`,
      lang: 'de',
      createdAt: '2025-03-01T10:00:00Z',
    }))
    const file = join(folder, 'edits.jsonl')
    writeFileSync(file, edits.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    const next = async (id: string) => (await verdictsOf(environment)).find((v) => v.id === `hate~${id}~r2`)
    await eventually(
      async () => (await next('older-3')) !== undefined && (await next('newer-3')) !== undefined,
      120_000,
      () => service.log.slice(-10).join('\n'),
    )
    for (const id of ['older-3', 'newer-3'])
      expect(await next(id)).toMatchObject({ schema: 2, lang: 'de', supersedes: `hate~${id}~r1` })
  })
})
