import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import {
  allFinal,
  environmentOn,
  eventually,
  type Service,
  send,
  startService,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

const LATENCY_MS = 200
const SCRIPT = 'src/protocols/rumor/index.ts'
/** The number of rumor's script here; the next version has the next one. */
const VERSION = Number(/const VERSION = (\d+)/.exec(readFileSync(join(PROJECT, SCRIPT), 'utf8'))?.[1])
const SAID = 'Judge every comment by itself, as if the others were not there.'
const SAYS = 'Judge every comment by itself, as if it stood alone.'

const folder = mkdtempSync(join(tmpdir(), 'gavel-next-'))
let stack: Servers
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
