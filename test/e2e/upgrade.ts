import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { connect } from '../../src/adapters/redis/connect.ts'
import { keysUnder } from '../../src/adapters/redis/keys.ts'
import { ledgerOf } from '../../src/tools/bench/ledger.ts'
import type { Stack } from '../../src/tools/stack/stack.ts'
import {
  allFinal,
  environmentOn,
  eventually,
  protocolsOn,
  type Service,
  send,
  settingsOf,
  startServers,
  startService,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'

const LATENCY_MS = 200
const SCRIPT = 'src/protocols/rumor/index.ts'
/** The number of rumor's script here; the next version has the next one. */
const VERSION = Number(/const VERSION = (\d+)/.exec(readFileSync(join(PROJECT, SCRIPT), 'utf8'))?.[1])
const SAID = 'Judge every comment by itself, as if the others were not there.'
const SAYS = 'Judge every comment by itself, as if it stood alone.'

const folder = mkdtempSync(join(tmpdir(), 'gavel-upgrade-'))
let stack: Stack
const services: Service[] = []
beforeAll(async () => {
  stack = await startServers({ latencyMs: LATENCY_MS })
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.kill('SIGKILL')
})
afterAll(async () => {
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

async function start(environment: Record<string, string>, project?: string): Promise<Service> {
  const service = await startService(environment, 'intake,judge,publish', project)
  services.push(service)
  return service
}

/** The project as its next version: one prompt says it differently, and the script that asks it has a higher number. */
function nextVersion(): string {
  const project = join(folder, 'next')
  for (const part of ['src', 'config', 'consumers', 'producers', 'package.json'])
    cpSync(join(PROJECT, part), join(project, part), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(project, 'node_modules'))
  const change = (path: string, from: string, to: string) => {
    const file = join(project, ...path.split('/'))
    const text = readFileSync(file, 'utf8')
    if (!text.includes(from)) throw new Error(`${path} does not say "${from}"`)
    writeFileSync(file, text.replace(from, to))
  }
  change('config/prompts/rumor/stance-batch.md', SAID, SAYS)
  change(SCRIPT, `const VERSION = ${VERSION}`, `const VERSION = ${VERSION + 1}`)
  return project
}

const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `mast-${from + at}`)

async function sendPosts(environment: Record<string, string>, posts: readonly string[]): Promise<void> {
  const file = join(folder, `${posts[0]}.jsonl`)
  const lines = posts.flatMap((id) => [
    { type: 'post', id, text: `The mast of ${id} has fallen, they say.`, createdAt: '2025-03-01T10:00:00Z' },
    ...['It is true, I saw it.', 'Fake, this is an old picture.', 'Really?'].map((text, at) => ({
      type: 'comment',
      id: `${id}-c${at}`,
      postId: id,
      text: `${text} ${id}`,
      createdAt: `2025-03-01T10:0${at + 1}:00Z`,
    })),
  ])
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
}

const callsGoOn = async (beyond = stack.understudy?.calls().length ?? 0) =>
  eventually(async () => (stack.understudy?.calls().length ?? 0) > beyond, 20_000)

/** Workers of two versions on the same cases. */
export function worksSideBySide(): void {
  it('a newer and an older version work side by side: each subject has one verdict, and it says truly who judged it', {
    timeout: 90_000,
  }, async () => {
    // A hand-back that cost an attempt would fail its ask, one that counted as a take-over would end its case.
    const environment = environmentOn(stack, {
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_STAGES_DEFAULT_ATTEMPTS: '1',
      GAVEL_CASES_MAX_TAKEOVERS: '20',
    })
    const [before, during] = [ids(0, 6), ids(6, 12)]
    const older = await start(environment)
    await sendPosts(environment, before)
    await callsGoOn()
    await start(environment, nextVersion())
    await sendPosts(environment, during)
    await allFinal(environment, before.length + during.length, 45_000)
    await older.kill('SIGTERM')

    const verdicts = await verdictsOf(environment)
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
    const finals = verdicts.filter(({ final }) => final).map(({ subjectId }) => subjectId)
    expect(finals.sort()).toEqual([...before, ...during].sort())
    for (const { id, label, degraded } of verdicts) expect({ id, label, degraded }).toMatchObject({ degraded: [] })

    const byVersion = Object.groupBy(verdicts, ({ versions }) => versions.script)
    tell(
      `judged by the older version ${byVersion[VERSION]?.length ?? 0}, by the newer ${byVersion[VERSION + 1]?.length ?? 0}`,
    )
    expect(Object.keys(byVersion).every((version) => [VERSION, VERSION + 1].includes(Number(version)))).toBe(true)
    expect(byVersion[VERSION + 1]?.length).toBeGreaterThan(0)
    const prompts = (version: number) => new Set(byVersion[version]?.map(({ versions }) => versions.prompts))
    expect(prompts(VERSION + 1).size).toBe(1)
    expect([...prompts(VERSION)].filter((hash) => prompts(VERSION + 1).has(hash))).toEqual([])
    const transcripts = new Map(
      (await transcriptsOf(environment)).map((one) => [one.verdictId, JSON.stringify(one.turns)]),
    )
    for (const { id, versions } of verdicts) {
      const turns = transcripts.get(id)
      expect([id, versions.script, turns?.includes(SAYS), turns?.includes(SAID)]).toEqual([
        id,
        versions.script,
        versions.script === VERSION + 1,
        versions.script === VERSION,
      ])
    }
  })
}

/** Takes from what Redis holds all that the version before did not write. */
async function asTheVersionBefore(redis: Redis, prefix: string) {
  const keys = keysUnder(prefix)
  const found = { cases: 0, answers: 0, threads: 0 }
  const all = await redis.keys(`{${prefix}}:*`)
  const under = (start: string) => all.filter((key) => key.startsWith(start))
  const without = (json: string, ...fields: string[]) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json)).filter(([field]) => !fields.includes(field))))
  for (const key of under(keys.case(''))) {
    const record = await redis.hget(key, 'record')
    if (record === null) continue
    await redis.hset(key, 'record', without(record, 'kind', 'pressed'))
    found.cases++
  }
  for (const key of under(keys.journal('')))
    for (const [ask, json] of Object.entries(await redis.hgetall(key))) {
      const { calls, ...entry } = JSON.parse(json) as { calls: { id: string; outcome: string }[] }
      const bare = { ...entry, calls: calls.map(({ id, outcome }) => ({ id, outcome })) }
      await redis.hset(key, ask, without(JSON.stringify(bare), 'sent'))
      found.answers++
    }
  for (const key of under(keys.thread(''))) {
    const fields = (await redis.hkeys(key)).filter((field) => /^(pv|next|last:.*|solo)$/.test(field))
    if (fields.length > 0) await redis.hdel(key, ...fields)
    found.threads++
  }
  await redis.del(`${keys.open}/tenants`)
  return found
}

/** Ids of the calls that the journals hold. */
async function journaledCalls(redis: Redis, prefix: string): Promise<Set<string>> {
  const journaled = new Set<string>()
  for (const key of await redis.keys(`${keysUnder(prefix).journal('')}*`))
    for (const json of await redis.hvals(key))
      for (const { id } of (JSON.parse(json) as { calls: { id: string }[] }).calls) journaled.add(id)
  return journaled
}

/**
 * A service is killed in mid-debate; what it left is finished by this version, and nothing that its journals hold is asked
 * again.
 */
async function finishesWhatIsLeft(
  older: { readonly project?: string; readonly left?: (redis: Redis, prefix: string) => Promise<object> },
  posts: readonly string[],
  changes: Record<string, string> = {},
): Promise<void> {
  const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s', ...changes })
  const asked = stack.understudy?.calls().length ?? 0
  const before = await start(environment, older.project)
  await sendPosts(environment, posts)
  const redis = connect(settingsOf(environment).redis, () => {}, 'fail-fast')
  try {
    const prefix = environment.GAVEL_REDIS_PREFIX ?? ''
    // In mid-debate: some rounds are answered, and others asked.
    await eventually(async () => (await journaledCalls(redis, prefix)).size >= 8, 20_000)
    await before.kill('SIGKILL')
    const journaled = await journaledCalls(redis, prefix)
    const open = await redis.zcard(keysUnder(prefix).open)
    tell(`left in mid-debate: ${open} open cases, ${journaled.size} journaled calls`)
    expect(Math.min(open, journaled.size)).toBeGreaterThan(0)
    if (older.left !== undefined) {
      const found = await older.left(redis, prefix)
      tell(`left by the version before: ${JSON.stringify(found)}`)
      expect(Math.min(...Object.values(found))).toBeGreaterThan(0)
    }

    await start(environment)
    const protocols = Object.keys(environment).filter(
      (name) => /^GAVEL_PROTOCOLS_[A-Z]+_ENABLED$/.test(name) && environment[name] === 'true',
    )
    await allFinal(environment, posts.length, 60_000)
    // A post is judged by each protocol by itself.
    const finals = async () => (await verdictsOf(environment)).filter(({ final }) => final).length
    await eventually(async () => (await finals()) >= posts.length * protocols.length, 60_000)
    const transcripts = await transcriptsOf(environment)
    const verdicts = await verdictsOf(environment)
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
    const claimed = new Set(transcripts.flatMap(({ turns }) => turns.flatMap(({ calls }) => calls.map(({ id }) => id))))
    expect([...journaled].filter((id) => !claimed.has(id))).toEqual([])
    const ledger = ledgerOf((stack.understudy?.calls() ?? []).slice(asked), transcripts)
    expect(ledger.invented).toEqual([])
    expect(ledger.logged).toBe(ledger.journaled + ledger.failed + ledger.orphans.length)
    tell(`${verdicts.length} verdicts; ${JSON.stringify({ ...ledger, orphans: ledger.orphans.length })}`)
  } finally {
    redis.disconnect()
  }
}

/** What the version before has left in Redis is read. */
export function readsTheVersionBefore(): void {
  it('goes on with cases, journals, jobs and threads that the version before has left, and asks nothing again that they hold', {
    timeout: 60_000,
  }, async () => {
    await finishesWhatIsLeft({ left: asTheVersionBefore }, ids(100, 106))
  })
}

/** The files of an earlier commit, with today's packages; null where this clone does not have it. */
function projectAt(commit: string): string | null {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: PROJECT, maxBuffer: 2 ** 28 })
  const archive = git('archive', commit)
  if (archive.status !== 0) return null
  const project = join(folder, commit)
  mkdirSync(project)
  if (spawnSync('tar', ['x', '-C', project], { input: archive.stdout }).status !== 0) return null
  symlinkSync(join(PROJECT, 'node_modules'), join(project, 'node_modules'))
  return project
}

/** What a service of an earlier commit has left is finished by this one, and the two work side by side. */
export function takesOverFrom(commit: string, what: string): void {
  const older = projectAt(commit)
  if (older === null) tell(`SKIPPED: this clone lacks commit ${commit}: "git fetch --unshallow" brings it`)

  it.skipIf(older === null)(
    `finishes what a service of ${what} has left in mid-debate, by three protocols`,
    {
      timeout: 120_000,
    },
    async () => {
      if (older === null) return
      await finishesWhatIsLeft({ project: older }, ids(200, 208), protocolsOn('rumor', 'hate', 'safety'))
    },
  )

  it.skipIf(older === null)(
    `works beside a service of ${what}: one verdict a subject, whoever is stopped`,
    {
      timeout: 120_000,
    },
    async () => {
      if (older === null) return
      const environment = environmentOn(stack, { GAVEL_CLOCK_IDLE_AFTER: '1s' })
      const [before, during, after] = [ids(300, 306), ids(306, 312), ids(312, 318)]
      const first = await start(environment, older)
      await sendPosts(environment, before)
      await callsGoOn()
      await start(environment)
      await sendPosts(environment, during)
      await callsGoOn()
      await first.kill('SIGTERM')
      await sendPosts(environment, after)
      const all = [...before, ...during, ...after]
      await allFinal(environment, all.length, 60_000)
      const verdicts = await verdictsOf(environment)
      expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
      const finals = verdicts.filter(({ final }) => final).map(({ subjectId }) => subjectId)
      expect(finals.sort()).toEqual(all.sort())
      for (const { id, degraded } of verdicts) expect({ id, degraded }).toEqual({ id, degraded: [] })
    },
  )
}
