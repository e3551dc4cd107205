import { existsSync } from 'node:fs'
import { chown, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findOrInstall } from '../../src/kit/stack/servers/apt.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import {
  freePort,
  type RestartableServer,
  spawnServer,
  temporaryFolder,
} from '../../src/kit/stack/servers/local-server.ts'
import type { DatabaseAddress } from '../../src/record/postgres/connection.ts'
import type { Certificates } from './certificates.ts'
import { tell } from './pipeline.ts'

const VERSIONS = [18, 17, 16, 15, 14]
const PROGRAM = {
  what: 'PostgreSQL',
  names: [...VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin/postgres`), 'postgres'],
  packageName: 'postgresql',
  service: 'postgresql',
  ways: ['install PostgreSQL: apt-get install postgresql', 'run as root on Debian or Ubuntu: it is then installed'],
} as const

interface PostgresServer {
  readonly server: Pick<RestartableServer, 'pid' | 'kill' | 'restart' | 'close'>
  /** Its files. */
  readonly folder: string
  /** The record in a schema of this name. */
  address(schema: string, more?: Partial<DatabaseAddress>): DatabaseAddress
  /** The same as the variables of a process. */
  variables(schema?: string): Record<string, string>
  close(): Promise<void>
}

interface Options {
  /** Where its data go, and stay; else a temporary folder, and nothing is flushed to the disk. */
  readonly directory?: string
  readonly password?: string
  /** Then it speaks TLS as well. */
  readonly tls?: Certificates
  /** More of the server's settings, as name=value. */
  readonly set?: readonly string[]
}

/** A PostgreSQL of its own on 127.0.0.1; null, which is said, where there is none and none can be installed. */
export async function aPostgres(options: Options = {}): Promise<PostgresServer | null> {
  try {
    return await startPostgres(options)
  } catch (error) {
    tell(`SKIPPED, nothing was tried on PostgreSQL: ${String(error)}`)
    return null
  }
}

async function startPostgres({ directory, password = '', tls, set = [] }: Options): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0
  if (isRoot && (await findOnPath(...PROGRAM.names)) === undefined) await withoutCluster()
  const program = await findOrInstall(PROGRAM, { aptAllowed: isRoot }, tell)
  const parent = directory ?? (await temporaryFolder('postgres'))
  const folder = join(parent, 'data')
  const port = await freePort()
  // Neither initdb nor the server runs as root.
  const user = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : []
  const run = (own: string, ...args: readonly string[]) => {
    const [command = own, ...rest] = [...user, own, ...args]
    return { command, args: rest }
  }
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const own = async (path: string) => {
    if (!isRoot) return
    const ids = await runCommand('/bin/sh', ['-c', 'id -u postgres; id -g postgres'], 10_000)
    const [uid, gid] = ids.trim().split('\n')
    await chown(path, Number(uid), Number(gid))
  }
  await own(parent)
  if (!existsSync(join(folder, 'PG_VERSION'))) {
    const pwFile = join(parent, 'password')
    await writeFile(pwFile, password === '' ? 'none' : password, { mode: 0o644 })
    const { command, args } = run(
      join(program, '..', 'initdb'),
      '-D',
      folder,
      '-U',
      'gavel',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '-A',
      password === '' ? 'trust' : 'scram-sha-256',
      `--pwfile=${pwFile}`,
      '--no-sync',
      '-N',
    )
    await runCommand(command, args, 120_000)
  }
  const files: string[] = []
  if (tls !== undefined) {
    files.push('ssl=on')
    for (const which of ['cert', 'key'] as const) {
      const path = join(parent, `server.${which}`)
      await copyFile(tls[which], path)
      await own(path)
      files.push(`ssl_${which}_file=${path}`)
    }
  }
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'lc_messages=C',
    ...(directory === undefined ? ['fsync=off', 'full_page_writes=off'] : []),
    ...files,
    ...set,
  ]
  const host = `127.0.0.1:${port}`
  const url = `postgresql://gavel@${host}/postgres`
  const server = await spawnServer({
    name: 'postgres',
    ...run(program, '-D', folder, ...settings.flatMap((one) => ['-c', one])),
    temporaryFolder: directory === undefined ? parent : undefined,
    ready: (output) => Promise.resolve(output.includes('database system is ready to accept connections')),
    readyWithinMs: 120_000,
    say: tell,
  })
  return {
    server,
    folder,
    address: (schema, more = {}) => ({
      url,
      password,
      schema,
      tls: { enabled: false, ca: '', cert: '', key: '', serverName: '' },
      ...more,
    }),
    variables: (schema = 'gavel_record') => ({
      GAVEL_RECORD_STORE: 'postgres',
      GAVEL_RECORD_POSTGRES_URL: url,
      GAVEL_RECORD_POSTGRES_PASSWORD: password,
      GAVEL_RECORD_POSTGRES_SCHEMA: schema,
    }),
    close: () => server.close(),
  }
}

/** The package makes no cluster of its own, which nobody asked for. */
async function withoutCluster(): Promise<void> {
  const folder = '/etc/postgresql-common/createcluster.d'
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'without-main.conf'), 'create_main_cluster = false\n')
}
