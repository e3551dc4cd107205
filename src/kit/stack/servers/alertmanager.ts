import { join } from 'node:path'
import { findOrInstall } from './apt.ts'
import { freePort, type LocalServer, type SayLine, spawnServer, temporaryFolder } from './local-server.ts'

/**
 * A private Alertmanager on 127.0.0.1 with the given configuration. Fails with UnavailableError, which lists the ways to
 * get one, where none can be had.
 */
export async function startAlertmanager(options: { say: SayLine; configFile: string }): Promise<LocalServer> {
  const { say, configFile } = options
  const program = await findOrInstall(ALERTMANAGER, { aptAllowed: true }, say)
  const folder = await temporaryFolder('alertmanager')
  const address = `127.0.0.1:${await freePort()}`
  const server = await spawnServer({
    name: 'alertmanager',
    command: program,
    args: [
      `--config.file=${configFile}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
      '--log.level=warn',
    ],
    temporaryFolder: folder,
    ready: async () => (await fetch(`http://${address}/-/ready`, { signal: AbortSignal.timeout(1000) })).ok,
    readyWithinMs: 30_000,
    say,
  })
  return {
    what: `Alertmanager on http://${address}`,
    settings: { ALERTMANAGER_ADDRESS: address },
    get pid() {
      return server.pid
    },
    close: server.close,
  }
}

const ALERTMANAGER = {
  what: 'Alertmanager',
  names: ['prometheus-alertmanager', 'alertmanager'],
  packageName: 'prometheus-alertmanager',
  service: 'prometheus-alertmanager',
  ways: ['install it, so that it is on the PATH (Debian and Ubuntu: apt-get install prometheus-alertmanager).'],
}
