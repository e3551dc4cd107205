import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { shadowVerdict } from '../../src/contracts/facts/shadow-verdict.ts'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { commandHere } from '../support/commands.ts'
import { withHousePolicy } from '../support/house-policy.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { eventually, recordsOf, verdictsOf } from '../support/pipeline.ts'
import { sendPosts } from '../support/sent-posts.ts'

const it = onServers({})
const POSTS = 12
const TOKEN = { old: 'old-token-of-metrics', new: 'new-token-of-metrics' }
const isAbuse = (nth: number) => nth % 2 === 0
const textOf = (nth: number) => (isAbuse(nth) ? `You are an idiot, ${nth}.` : `The ferry ${nth} leaves from the quay.`)

it('a policy is judged in the shadow, through a kill and an emptied Redis, and publishes no verdict', {
  timeout: 300_000,
}, async ({ stack, start }) => {
  const folder = ownFolder('shadow')
  const { model, environment, stricter } = await withHousePolicy(stack, { folder, latencyMs: 50 })
  writeFileSync(join(folder, 'stricter.yaml'), JSON.stringify({ protocols: { hate: stricter } }))
  const shadows = async () =>
    (await recordsOf(environment, 'shadowVerdicts')).map((record) => shadowVerdict.parse(JSON.parse(record)))
  const shadowed = async () => new Set((await shadows()).map(({ id }) => id)).size
  const main = join(PROJECT, 'src', 'main.ts')
  const put = (token: string) => {
    writeFileSync(join(folder, 'token.new'), token)
    renameSync(join(folder, 'token.new'), join(folder, 'token'))
  }
  put(TOKEN.old)
  const port = await freePort()
  const options = [
    '--protocol',
    'hate',
    '--settings',
    'stricter.yaml',
    '--share',
    '100%',
    '--budget',
    '5',
    '--http-port',
    String(port),
  ]
  const shadow = async () => {
    const child = spawn(process.execPath, [main, 'variant', 'shadow', 'stricter', ...options], {
      cwd: folder,
      env: bareEnvironment({ ...environment, GAVEL_HTTP_TOKEN_FILE: join(folder, 'token') }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said: string[] = []
    const ended = once(child, 'exit')
    const begun = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        said.push(line)
        if (line.includes('stricter judges 100 %')) resolve()
      })
      void ended.then(() => reject(new Error(`it ended:\n${said.join('\n')}`)))
    })
    await begun
    const end = async (signal: NodeJS.Signals) => {
      child.kill(signal)
      const [code] = await ended
      return code
    }
    return { said, end, hangUp: () => child.kill('SIGHUP') }
  }
  const service = await start(environment)
  const first = await shadow()
  try {
    const createdAt = new Date(Date.now() - 60_000).toISOString()
    const posts = Array.from({ length: POSTS }, (_, nth) => ({ id: `p${nth}`, text: textOf(nth), createdAt }))
    await sendPosts(
      environment,
      posts.map((post) => ({ key: post.id, value: JSON.stringify(post) })),
    )
    await eventually(async () => (await verdictsOf(environment)).length === POSTS, 60_000)
    await eventually(
      async () => (await shadowed()) >= 3,
      60_000,
      () => first.said.join('\n'),
    )
    // A token is replaced as in the service: the old one holds for another minute.
    const statusFor = async (token: string) =>
      (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status
    expect([await statusFor(TOKEN.old), await statusFor(TOKEN.new)]).toEqual([200, 401])
    put(TOKEN.new)
    first.hangUp()
    await eventually(
      async () => (await statusFor(TOKEN.new)) === 200,
      20_000,
      () => first.said.join('\n'),
    )
    expect(await statusFor(TOKEN.old)).toBe(200)
    expect(first.said).toContain('reloaded: http.token')
    await first.end('SIGKILL')
    const before = await recordsOf(environment, 'verdicts')

    // Neither the service nor anything in Redis is needed to go on.
    await service.kill('SIGKILL')
    const client = new Redis(stack.settings.REDIS_URL ?? '')
    await client.flushall()
    client.disconnect()
    const second = await shadow()
    await eventually(
      async () => (await shadowed()) === POSTS,
      60_000,
      () => second.said.join('\n'),
    )
    expect(await second.end('SIGTERM'), second.said.join('\n')).toBe(0)

    const made = new Map((await shadows()).map((one) => [one.of, one]))
    expect(await recordsOf(environment, 'verdicts'), 'no verdict, and no byte of one').toEqual(before)
    expect([...made.keys()].sort()).toEqual((await verdictsOf(environment)).map(({ id }) => id).sort())
    for (const [nth] of posts.entries())
      expect(made.get(`hate~p${nth}~r1`)).toMatchObject({
        live: { label: 'non-hate' },
        label: isAbuse(nth) ? 'hate' : 'non-hate',
        policy: { name: 'House rules' },
        ...(isAbuse(nth) ? { clauses: ['X1'] } : {}),
      })
    expect(JSON.stringify([...made.values()]), 'no word of a post').not.toMatch(/idiot|ferry/)
    // Three readings each, once live and once in the shadow; what the kill cut off is asked again.
    expect(model.calls()).toBeGreaterThanOrEqual(2 * 3 * POSTS)
    expect(model.calls()).toBeLessThanOrEqual(2 * 3 * POSTS + 3)

    const compare = (...gates: string[]) => commandHere(['variant', 'compare', 'stricter', ...gates], environment)
    const { code, out } = await compare('--json', '--most-flips', '60%')
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { subjects: POSTS, flips: { count: 6, of: POSTS }, directions: [{ from: 'non-hate', to: 'hate', count: 6 }] },
    ])
    const strict = await compare('--most-flips', '5%')
    expect([strict.code, strict.said]).toEqual([1, expect.stringContaining('50.0 % of verdicts flip; at most 5.0 %')])
  } finally {
    await model.close()
  }
})
