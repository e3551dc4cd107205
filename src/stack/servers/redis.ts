import { connect } from 'node:net'
import { findOrInstall } from './apt.ts'
import { freePort, type RestartableServer, type Say, spawnServer, temporaryFolder } from './local-server.ts'

export interface RedisOptions {
  readonly say: Say
  /** Where its data go, and stay. Default: a temporary folder. */
  readonly directory?: string
  /** Default: a free one. */
  readonly port?: number
  /** May redis-server be installed with apt-get where it is missing (as root on Debian or Ubuntu)? Default: yes. */
  readonly aptAllowed?: boolean
}

/**
 * A private Redis (or Valkey) on 127.0.0.1 that keeps its data as Gavel wants it: an append-only file, no eviction.
 * Fails with UnavailableError, which lists the ways to get one, where none can be had.
 */
export async function startRedis({
  say,
  directory,
  port,
  aptAllowed = true,
}: RedisOptions): Promise<RestartableServer> {
  const program = await findOrInstall(REDIS, aptAllowed, say)
  const folder = directory ?? (await temporaryFolder('redis'))
  const address = { host: '127.0.0.1', port: port ?? (await freePort()) }
  const server = await spawnServer({
    name: 'redis-server',
    command: program,
    args: [
      ...['--bind', address.host, '--port', String(address.port), '--dir', folder],
      ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''],
      ...['--maxmemory-policy', 'noeviction'],
    ],
    temporaryFolder: directory ? undefined : folder,
    ready: () => answersPing(address),
    readyWithinMs: 30_000,
    say,
  })
  const url = `redis://${address.host}:${address.port}`
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

/** A Redis that is still loading its data answers an error instead. */
async function answersPing(address: { host: string; port: number }): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const socket = connect(address, () => socket.write('PING\r\n'))
    socket.setTimeout(1000, () => socket.destroy(new Error('no answer to PING')))
    socket.once('error', reject)
    socket.once('data', (answer) => {
      socket.destroy()
      resolve(answer.toString().startsWith('+PONG'))
    })
    socket.once('close', () => resolve(false))
  })
}
