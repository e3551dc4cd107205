import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findOrInstall } from './apt.ts'
import { freePort, type RestartableServer, type SayLine, spawnServer, temporaryFolder } from './local-server.ts'

export interface PrometheusOptions {
  readonly say: SayLine
  /** What to scrape: `host:port` each, under /metrics. */
  readonly scrape: readonly string[]
  /** Also how often the rules are evaluated. Default: 1. */
  readonly scrapeIntervalSeconds?: number
  /** Files of recording and alerting rules. Default: none. */
  readonly ruleFiles?: readonly string[]
  /** Whom to tell of alerts: `host:port` each. Default: nobody. */
  readonly alertmanagers?: readonly string[]
  /** May prometheus be installed with apt-get where it is missing (as root on Debian or Ubuntu)? Default: yes. */
  readonly aptAllowed?: boolean
}

/**
 * A private Prometheus on 127.0.0.1 that scrapes the given addresses, as the job `gavel`. Fails with UnavailableError,
 * which lists the ways to get one, where none can be had; and with Prometheus's own words when a rule file is faulty.
 */
export async function startPrometheus(options: PrometheusOptions): Promise<RestartableServer> {
  const { say, scrape, scrapeIntervalSeconds = 1, ruleFiles = [], alertmanagers = [], aptAllowed = true } = options
  const program = await findOrInstall(PROMETHEUS, { aptAllowed }, say)
  const folder = await temporaryFolder('prometheus')
  const configFile = join(folder, 'prometheus.yml')
  const every = `${scrapeIntervalSeconds}s`
  const config = {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: ruleFiles.map((file) => resolve(file)),
    alerting: { alertmanagers: [{ static_configs: [{ targets: alertmanagers }] }] },
    scrape_configs: [{ job_name: 'gavel', static_configs: [{ targets: scrape }] }],
  }
  await writeFile(configFile, JSON.stringify(config, undefined, 2)) // JSON is YAML
  const address = `127.0.0.1:${await freePort()}`
  const server = await spawnServer({
    name: 'prometheus',
    command: program,
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ],
    temporaryFolder: folder,
    ready: async () => (await fetch(`http://${address}/-/ready`, { signal: AbortSignal.timeout(1000) })).ok,
    readyWithinMs: 30_000,
    say,
  })
  return {
    what: `Prometheus on http://${address}, scraping ${scrape.join(', ')} every ${every}`,
    settings: { PROMETHEUS_URL: `http://${address}` },
    get pid() {
      return server.pid
    },
    kill: server.kill,
    restart: server.restart,
    close: server.close,
  }
}

const PROMETHEUS = {
  what: 'Prometheus',
  names: ['prometheus'],
  packageName: 'prometheus',
  service: 'prometheus',
  ways: [
    'install prometheus, so that it is on the PATH (Debian and Ubuntu: apt-get install prometheus);',
    'docker compose up -d prometheus (see compose.yaml).',
  ],
}
