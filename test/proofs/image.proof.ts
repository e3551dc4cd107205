import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { PROJECT } from '../../config/load.ts'
import { findOrInstall } from '../../src/kit/stack/servers/apt.ts'
import { freePort, type RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { environmentOn, eventually, recordsOf, send, tell, verdictsOf } from '../support/pipeline.ts'

// The image, built from the Containerfile by buildah without a daemon, on roots made of Debian's packages: the base has no shell.
// What it holds is run as a container runs it: the first process of its own process namespace, on a read-only root, as nobody in
// particular, with a folder for its data and one in memory for /tmp.

/** Most that the image may have on top of its base, in bytes. */
const MOST_BYTES = 150_000_000
const USER = 10_001
const DRAIN_SECONDS = 20

const folder = mkdtempSync(join(tmpdir(), 'gavel-image-'))
const storage = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
const image = `gavel-proof-${process.pid}`
const run = (program: string, args: readonly string[], cwd = folder) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 2 ** 20, stdio: ['ignore', 'pipe', 'pipe'] })
const buildah = (...args: string[]) => run('buildah', [...storage, ...args]).trim()
const found = (name: string) =>
  findOrInstall(
    {
      what: name,
      names: [name],
      packageName: name,
      service: name,
      ways: [`Debian and Ubuntu: apt-get install ${name}`],
    },
    { aptAllowed: true },
    tell,
  )

/** An image of these Debian packages, with what `add` puts into its root. */
async function debian(name: string, variant: string, packages: readonly string[], add = (_: string) => {}) {
  const root = join(folder, name)
  mkdirSync(root)
  run(await found('mmdebstrap'), [`--variant=${variant}`, `--include=${packages.join(',')}`, 'bookworm', `${root}.tar`])
  run('tar', ['-xf', `${root}.tar`, '-C', root])
  add(root)
  const container = buildah('from', 'scratch')
  buildah('copy', '--quiet', container, root, '/')
  buildah('commit', '--quiet', container, name)
  return sizeOf(name)
}
/** In bytes, as `buildah images` tells it. */
const sizeOf = (name: string) =>
  z
    .array(z.looseObject({ names: z.array(z.string()).nullable(), size: z.string() }))
    .parse(JSON.parse(buildah('images', '--json')))
    .flatMap(({ names, size }) => (names?.some((one) => one.includes(`/${name}:`)) ? [bytesIn(size)] : []))[0] ??
  Number.NaN
const bytesIn = (size: string) => Number.parseFloat(size) * (size.includes('GB') ? 1e9 : 1e6)

/** This machine's npm with its own settings, and the package's Node: what a public image of Node has. */
function withNode(root: string): void {
  copyFileSync(join(PROJECT, 'node_modules', 'node', 'bin', 'node'), join(root, 'usr', 'bin', 'node'))
  const npm = dirname(dirname(run('readlink', ['-f', run('which', ['npm']).trim()]).trim()))
  mkdirSync(join(root, 'usr', 'lib', 'node_modules'), { recursive: true })
  cpSync(npm, join(root, 'usr', 'lib', 'node_modules', 'npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr', 'bin', 'npm'))
  const settings = { [join(homedir(), '.npmrc')]: 'root/.npmrc', [join(npm, '../../../etc/npmrc')]: 'usr/etc/npmrc' }
  for (const [file, place] of Object.entries(settings)) {
    if (!existsSync(file)) continue
    mkdirSync(dirname(join(root, place)), { recursive: true })
    copyFileSync(file, join(root, place))
  }
  const authorities = '/etc/ssl/certs/ca-certificates.crt'
  if (existsSync(authorities)) copyFileSync(authorities, join(root, authorities))
}

let root = ''
let redis: RestartableServer
let stack: Stack
beforeAll(async () => {
  if (process.getuid?.() !== 0) throw new Error('buildah with chroot isolation, and a root of one’s own, need root')
  await found('buildah')
  const baseBytes = await debian('gavel-proof-base', 'extract', ['libc6', 'libstdc++6', 'libgcc-s1'])
  await debian('gavel-proof-build', 'minbase', ['binutils', 'ca-certificates', 'libstdc++6'], withNode)
  const context = join(folder, 'context')
  mkdirSync(context)
  const files = run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], PROJECT).trim().split('\n')
  for (const file of files.filter((one) => existsSync(join(PROJECT, one))))
    cpSync(join(PROJECT, file), join(context, file), { recursive: true })
  const given = { BUILD: 'gavel-proof-build', BASE: 'gavel-proof-base', VERSION: '0.0.0', COMMIT: 'proof' }
  const args = Object.entries(given).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  const built = buildah('build', '--isolation', 'chroot', '--format', 'docker', ...args, '--tag', image, context)
  tell(built.split('\n').find((line) => line.startsWith('/image:')) ?? '')
  const bytes = sizeOf(image) - baseBytes
  tell(`the image has ${(bytes / 1e6).toFixed(1)} MB on top of its base of ${(baseBytes / 1e6).toFixed(1)} MB`)
  expect(bytes).toBeLessThan(MOST_BYTES)
  root = buildah('mount', buildah('from', image))
  redis = await startRedis({ say: tell })
  const own = { kafka: 'apache', say: tell, understudy: { latencyMs: 300 } } as const
  stack = await startStack({ ...redis.settings }, own)
}, 900_000)
afterAll(async () => {
  await stack?.close()
  await redis?.close()
  buildah('rm', '--all')
  rmSync(folder, { recursive: true, force: true })
})

/** What the container's first process is started by: on its read-only root, with its own view of processes. */
function inside(data: string, environment: Record<string, string>, ...command: string[]): ChildProcess {
  const view = [
    `mount --bind '${root}' '${root}'`,
    `mount -o remount,bind,ro '${root}'`,
    `mount -t tmpfs tmpfs '${root}/tmp'`,
    `mount --bind '${data}' '${root}/var/lib/gavel'`,
    `exec chroot --userspec=${USER}:${USER} '${root}' "$@"`,
  ].join(' && ')
  return spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', view, 'inside', ...command], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
const GAVEL = ['/gavel/bin/node', '/gavel/src/launch.js'] as const

/** A command inside, to its end. */
async function ended(child: ChildProcess) {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said }
}

function dataFolder(): string {
  const data = mkdtempSync(join(tmpdir(), 'gavel-image-data-'))
  run('chown', [`${USER}:${USER}`, data])
  return data
}

test('holds the program alone: no shell, labels, a bill of materials, nothing that anybody may write', async () => {
  for (const shell of ['bin/sh', 'bin/bash', 'usr/bin/sh', 'usr/bin/bash'])
    expect(existsSync(join(root, shell)), shell).toBe(false)
  const { Docker } = z
    .looseObject({
      Docker: z.looseObject({
        config: z.looseObject({
          Labels: z.record(z.string(), z.string()),
          User: z.string(),
          Healthcheck: z.looseObject({}),
        }),
      }),
    })
    .parse(JSON.parse(buildah('inspect', '--type', 'image', image)))
  const { config } = Docker
  expect(config.Labels).toMatchObject({
    'org.opencontainers.image.version': '0.0.0',
    'org.opencontainers.image.revision': 'proof',
  })
  expect(config.User).toBe(`${USER}:${USER}`)
  const bill = JSON.parse(readFileSync(join(root, 'gavel', 'sbom.cdx.json'), 'utf8')) as {
    components: { name: string }[]
  }
  expect(bill.components.map(({ name }) => name)).toEqual(expect.arrayContaining(['kafkajs', 'bullmq', 'node']))
  const writing = await ended(
    inside(
      dataFolder(),
      {},
      GAVEL[0],
      '-e',
      "try { require('fs').writeFileSync('/gavel/x', ''); process.exit(7) } catch (error) { console.log(error.code) }",
    ),
  )
  expect(writing).toEqual({ code: 0, said: 'EROFS\n' })
})

test('judges the demo’s stream on real Kafka and Redis, tells ready from live, and drains in its time', async () => {
  const port = String(await freePort())
  const environment = environmentOn(stack, {
    ...redis.settings,
    GAVEL_HTTP_PORT: port,
    GAVEL_DRAIN: `${DRAIN_SECONDS}s`,
    GAVEL_LIBRARY_PATH: '/var/lib/gavel/library',
  })
  const data = dataFolder()
  const service = inside(data, environment, ...GAVEL, 'run', '--wait-for-dependencies')
  const log: string[] = []
  for (const stream of [service.stdout, service.stderr])
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => void log.push(line))
  await eventually(
    async () => log.some((line) => line.includes('"service:started"')),
    60_000,
    () => log.slice(-5).join('\n'),
  )
  const health = async (...more: string[]) => ended(inside(data, environment, ...GAVEL, 'health', ...more))
  expect((await health()).code).toBe(0)
  expect((await health('--ready')).code).toBe(0)

  await send(environment, join(PROJECT, 'config', 'demo', 'event.jsonl'), 'gavel', { kind: 'flat-out' })
  const posts = (await recordsOf(environment, 'posts')).map((record) => (JSON.parse(record) as { id: string }).id)
  await eventually(
    async () => {
      const finals = new Set((await verdictsOf(environment)).map(({ subjectId }) => subjectId))
      return posts.every((id) => finals.has(id))
    },
    180_000,
    () => log.slice(-5).join('\n'),
  )
  expect(await recordsOf(environment, 'deadLetters')).toEqual([])

  await redis.kill()
  await eventually(async () => (await health('--ready')).code === 1, 60_000)
  expect((await health()).code).toBe(0)
  await redis.restart()
  await eventually(async () => (await health('--ready')).code === 0, 60_000)

  await send(environment, join(PROJECT, 'config', 'demo', 'event.jsonl'), 'gavel', { kind: 'flat-out' })
  const first = run('pgrep', ['-P', String(service.pid)]).trim()
  const began = performance.now()
  const gone = once(service, 'exit') as Promise<[number | null]>
  process.kill(Number(first), 'SIGTERM')
  expect((await gone)[0]).toBe(0)
  const seconds = (performance.now() - began) / 1_000
  tell(`ended ${seconds.toFixed(1)} s after SIGTERM`)
  expect(seconds).toBeLessThan(DRAIN_SECONDS + 1)
  expect(log.some((line) => line.includes('"service:stopped"'))).toBe(true)
})
