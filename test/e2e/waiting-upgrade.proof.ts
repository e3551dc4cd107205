import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  startService,
  tell,
  verdictsOf,
} from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'

// This version and the last one that knows of no classes of service, on the same Redis: jobs with priorities and without, requests
// whose names tell that somebody waits and those whose names don't.

/** The last commit before the classes of service. */
const EARLIER = '95145a2a'
const ROLES = 'door,intake,judge,publish'
const LATENCY_MS = 100
const CREATED = '2026-01-01T10:00:00Z'

const folder = ownFolder('waiting-upgrade')
const earlier = join(folder, 'earlier')
mkdirSync(earlier)
const archived = spawnSync('sh', ['-c', `git archive ${EARLIER} | tar x -C '${earlier}'`], { cwd: PROJECT })
const isThere = archived.status === 0 && archived.stderr.length === 0
if (isThere) symlinkSync(join(PROJECT, 'node_modules'), join(earlier, 'node_modules'))
else tell(`SKIPPED: the version ${EARLIER} is not in the history of this clone: ${archived.stderr.toString()}`)

const keys = join(folder, 'keys.json')
const { key, kept } = newApiKey({ tenant: 'acme', scopes: ['judge'], by: 'ann', createdAt: CREATED, expiresAt: null })
let stack: Servers
const services: Service[] = []
beforeAll(async () => {
  if (!isThere) return
  await changeKeys(keys, () => ({ keys: [kept], result: null }))
  stack = await startServers({ latencyMs: LATENCY_MS })
})
afterEach(async () => {
  for (const service of services.splice(0)) await service.kill('SIGKILL')
})
afterAll(async () => stack?.close())

type Version = 'earlier' | 'this'
async function start(environment: Record<string, string>, which: Version): Promise<Service> {
  const { GAVEL_BUDGETS_FRESH: _, ...knownThen } = environment
  const service = await (which === 'earlier'
    ? startService(knownThen, ROLES, earlier)
    : startService(environment, ROLES, PROJECT))
  services.push(service)
  return service
}

let sent = 0
async function sendPosts(environment: Record<string, string>, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `p${sent++}`)
  const file = join(folder, `${ids[0]}.jsonl`)
  const lines = ids.map((id) => ({
    type: 'post',
    id,
    tenant: 'acme',
    text: `Group ${id} should leave.`,
    createdAt: CREATED,
  }))
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await send(environment, file, 'gavel', { kind: 'flat-out' })
  return ids
}

const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const doorOf = ({ log }: Service) => {
  const line = log.find((one) => one.includes('"door:opened"'))
  return `http://127.0.0.1:${(JSON.parse(line ?? '{}') as { doorPort: number }).doorPort}`
}
/**
 * Asks so many questions at once; resolves to the ids of those whose address stands. At a door of this version half of them wait for
 * their answers. The earlier one drops a question whose answer is late, although it tells its address.
 */
async function ask(door: string, which: Version, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, async (_, nth) => {
    const post = { text: `Should group ${sent++} leave?` }
    const body = JSON.stringify({ post, protocols: ['hate'], wait: which === 'earlier' || nth % 2 === 0 ? 60 : 0 })
    const answer = await fetch(`${door}/v1/judge`, { method: 'POST', headers, body })
    expect([200, 202]).toContain(answer.status)
    const { id } = (await answer.json()) as { id: string }
    return which === 'earlier' && answer.status === 202 ? [] : [id]
  })
  return (await Promise.all(ids)).flat()
}

describe.skipIf(!isThere)('the version before the classes of service, beside this one', () => {
  it.each<[Version, Version]>([
    ['earlier', 'this'],
    ['this', 'earlier'],
  ])('%s first, then %s: nothing is lost, nothing is said twice, whichever is killed', async (first, second) => {
    const environment = environmentOn(stack, {
      ...protocolsOn('hate'),
      GAVEL_DOOR_KEYS: keys,
      GAVEL_DOOR_PORT: '0',
      GAVEL_MODELS_SLOTS: '4',
      GAVEL_MEMO_ENABLED: 'false',
    })
    const one = await start(environment, first)
    const posts = await sendPosts(environment, 40)
    const asked = await ask(doorOf(one), first, 6)
    const other = await start(environment, second)
    const [beside, atOne, atOther] = await Promise.all([
      sendPosts(environment, 60),
      ask(doorOf(one), first, 10),
      ask(doorOf(other), second, 10),
    ])
    posts.push(...beside, ...(await sendPosts(environment, 40)))
    asked.push(...atOne, ...atOther)
    // In the middle of what both have begun.
    const last = ask(doorOf(other), second, 8)
    await one.kill('SIGKILL')
    asked.push(...(await last))
    // What a newer script has begun, only a process that has this script ends.
    if (first === 'this') await start(environment, 'this')

    await eventually(
      async () => (await verdictsOf(environment)).length >= posts.length,
      180_000,
      () => other.log.slice(-5).join('\n'),
    )
    const door = doorOf(other)
    for (const id of asked) {
      let said = ''
      await eventually(
        async () => {
          const answer = await fetch(`${door}/v1/judgements/${id}`, { headers })
          said = `${answer.status} ${await answer.text()}`
          return (JSON.parse(said.slice(4)) as { done?: boolean }).done === true
        },
        60_000,
        () => `${asked.indexOf(id)} of ${asked.length}: ${said}; ${other.log.slice(-5).join('\n')}`,
      )
      const { verdicts } = JSON.parse(said.slice(4)) as { verdicts: { label: string | null }[] }
      expect(verdicts.map(({ label }) => typeof label)).toEqual(['string'])
    }
    expect(new Set(asked).size).toBe(asked.length)
    const all = await verdictsOf(environment)
    expect(all.map(({ subjectId, revision, final }) => `${subjectId} ${revision} ${final}`).sort()).toEqual(
      posts.map((id) => `${id} 1 true`).sort(),
    )
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    await other.kill('SIGTERM')
    tell(`${first}, then ${second}: ${posts.length} posts and ${asked.length} questions`)
  })
})
