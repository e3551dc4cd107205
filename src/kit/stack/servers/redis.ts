import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { findOrInstall } from './apt.ts'
import { freePort, type RestartableServer, type SayLine, spawnServer, temporaryFolder } from './local-server.ts'

export interface RedisOptions {
  readonly say: SayLine
  /** Where its data go, and stay. Default: a temporary folder. */
  readonly directory?: string
  /** Default: a free one. */
  readonly port?: number
  /** Default: everysec. Under `always` what was acknowledged outlives a kill also where the disk lags behind. */
  readonly fsync?: 'always' | 'everysec'
  /** May redis-server be installed with apt-get where it is missing (as root on Debian or Ubuntu)? Default: yes. */
  readonly aptAllowed?: boolean
  /** Paths of PEM files: then it speaks TLS alone. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string }
  /** More of redis-server's arguments, which stand above its usual ones here. */
  readonly args?: readonly string[]
}

/**
 * A private Redis (or Valkey) on 127.0.0.1 that keeps its data as Gavel wants it: an append-only file, no eviction.
 * Fails with UnavailableError, which lists the ways to get one, where none can be had.
 */
export async function startRedis({
  say,
  directory,
  port,
  fsync = 'everysec',
  aptAllowed = true,
  tls,
  args = [],
}: RedisOptions): Promise<RestartableServer> {
  const program = await findOrInstall(REDIS, { aptAllowed }, say)
  const folder = directory ?? (await temporaryFolder('redis'))
  const address = { host: '127.0.0.1', port: port ?? (await freePort()) }
  const server = await spawnServer({
    name: 'redis-server',
    command: program,
    args: [
      '--bind',
      address.host,
      tls ? '--tls-port' : '--port',
      String(address.port),
      '--dir',
      folder,
      ...(tls ? ['--port', '0', '--tls-auth-clients', 'no', '--tls-replication', 'yes'] : []),
      ...(tls ? ['--tls-ca-cert-file', tls.ca, '--tls-cert-file', tls.cert, '--tls-key-file', tls.key] : []),
      '--appendonly',
      'yes',
      '--appendfsync',
      fsync,
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      ...args,
    ],
    temporaryFolder: directory ? undefined : folder,
    ready: () => answersPing(address, tls),
    readyWithinMs: 30_000,
    say,
  })
  const url = `${tls ? 'rediss' : 'redis'}://${address.host}:${address.port}`
  return {
    what: `Redis (${program}) on ${address.host}:${address.port}, data in ${folder}`,
    settings: { REDIS_URL: url },
    get pid() {
      return server.pid
    },
    kill: server.kill,
    restart: server.restart,
    close: server.close,
  }
}

const REDIS = {
  what: 'Redis',
  names: ['redis-server', 'valkey-server'],
  packageName: 'redis-server',
  service: 'redis-server',
  ways: [
    'set REDIS_URL to a Redis that is running;',
    'install redis-server or valkey-server, so that it is on the PATH;',
    'docker compose up -d redis (see compose.yaml), then set REDIS_URL.',
  ],
}

/** A Redis that is still loading its data answers an error instead; that it wants a password first is as good as a yes. */
async function answersPing(address: { host: string; port: number }, files?: RedisOptions['tls']): Promise<boolean> {
  const [ca, cert, key] = await Promise.all(
    files ? [files.ca, files.cert, files.key].map((file) => readFile(file)) : [],
  )
  return await new Promise((resolve, reject) => {
    const ask = () => socket.write('PING\r\n')
    const socket = ca && cert && key ? connectTls({ ...address, ca, cert, key }, ask) : connect(address, ask)
    socket.setTimeout(1000, () => socket.destroy(new Error('no answer to PING')))
    socket.once('error', reject)
    socket.once('data', (answer) => {
      socket.destroy()
      resolve(/^(\+PONG|-NOAUTH)/.test(answer.toString()))
    })
    socket.once('close', () => resolve(false))
  })
}
