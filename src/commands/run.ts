import { Option } from 'commander'
import { modelsInUse, modelsWithoutKey } from '../../config/models.ts'
import type { Settings } from '../../config/schema.ts'
import { isLoopbackAddress } from '../service/adapters/http.ts'
import { logListener } from '../service/adapters/log.ts'
import { protocolsOf } from '../service/composition/protocols.ts'
import { type App, DEFAULT_ROLES, ROLES, type Role, startApp } from '../service/composition/service.ts'
import { OperatorError } from '../service/domain/errors.ts'
import { dependenciesAnswer } from '../service/operations/dependencies.ts'
import { fileWatch } from '../service/operations/file-watch.ts'
import { identityOf } from '../service/operations/identity.ts'
import type { Report } from '../service/ports/report.ts'
import type { Command, Invocation } from './command.ts'
import { consoleParts } from './console-parts.ts'
import { listOf } from './options.ts'
import type { Terminal } from './terminal.ts'

/** Time beyond the drain after which a stop is forced, in ms. */
const FORCE_AFTER_MS = 1_000

interface Options {
  readonly roles: readonly Role[]
  readonly waitForDependencies?: true
  readonly watch?: true
}

/** `gavel run`: the service, until the signal; resolves when everything is closed. */
export const command: Command<Options, void> = {
  options: [
    new Option('--roles <roles>', `comma-separated: ${ROLES.join(', ')}`)
      .argParser(listOf(ROLES, 'roles'))
      .default([...DEFAULT_ROLES]),
    new Option('--wait-for-dependencies', 'wait for Redis and Kafka instead of exiting with an error'),
    new Option('--watch', 'reload settings and prompts when their files change, as at a SIGHUP'),
  ],
  json: false,
  help: 'Example:\n  $ KAFKA_BROKERS=localhost:9092 REDIS_URL=redis://localhost OPENAI_API_KEY=… gavel run',
  async run({ options: { roles, waitForDependencies, watch }, settings: read, terminal, stopped, ...given }) {
    const waits = waitForDependencies === true
    const { reread, onHangup, settingsFile: file } = given
    const settings = read()
    const watched = watch === true ? () => [...(file === undefined ? [] : [file]), ...ownFolders(settings)] : null
    await runService(settings, roles, { waits, stopped, terminal, reread, onHangup, watched })
  },
  print() {},
}

/** Watched files are looked at this often, in ms. */
const LOOK_MS = 5_000

/** The folders of a user's own with prompts, perspectives and the like. */
function ownFolders({ protocols }: Settings): string[] {
  return Object.values(protocols).flatMap((own) =>
    Object.entries(own).flatMap(([name, value]) => (name.endsWith('Path') && typeof value === 'string' ? [value] : [])),
  )
}

/** The service in these roles, until it is told to stop; a hangup has it read its settings again. Resolves when everything is closed. */
export async function runService(
  settings: Settings,
  roles: readonly Role[],
  {
    waits,
    stopped,
    terminal,
    reread,
    onHangup,
    watched = null,
  }: {
    waits: boolean
    stopped: Promise<unknown>
    terminal: Terminal
    reread?: Invocation['reread'] | undefined
    onHangup?: Invocation['onHangup']
    /** The files and folders at whose change the settings are read again; null: none. */
    watched?: (() => string[]) | null
  },
): Promise<void> {
  const unasked = roles.includes('judge') ? modelsWithoutKey(settings) : []
  if (unasked.length > 0 && unasked.length < modelsInUse(settings).length)
    throw new OperatorError(
      `${unasked.join(', ')} (models.roles) belong to the default endpoint, which has no key. Set OPENAI_API_KEY, or name models of another endpoint as ENDPOINT/MODEL.`,
    )
  if (unasked.length > 0)
    throw new OperatorError(
      'No model is set. Set OPENAI_BASE_URL and OPENAI_API_KEY (any text, where the server asks for none), or start the understudy with "gavel stack".',
    )
  // A hangup while the service starts must not stop it: what is new is taken once it has started.
  let isAsked = false
  let reload = () => {
    isAsked = true
  }
  onHangup?.(() => reload())
  if (waits && !(await dependenciesAnswer(settings, roles, stopped, protocolsOf(settings, '').prompts))) return
  if (roles.includes('console') && settings.console.signIn === 'link')
    throw new OperatorError(
      'The role console needs console.signIn oidc or proxy: a link to sign in would stand in the log. On one machine, start "gavel console".',
    )
  const app = await startApp(settings, roles, {}, reread)
  reload = app.reload
  if (isAsked) reload()
  if (watched !== null) setInterval(fileWatch(watched, app.reload).look, LOOK_MS).unref()
  const pages = roles.includes('console') ? await consoleBeside(app, settings, roles, terminal) : null
  await stopped
  const force = setTimeout(() => process.exit(1), settings.drain + FORCE_AFTER_MS)
  await pages?.close()
  await app.stop()
  clearTimeout(force)
}

/** The console in the process of a service; if it can't open, the service is stopped. */
async function consoleBeside(app: App, settings: Settings, roles: readonly Role[], terminal: Terminal) {
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles))
  const report: Report = (name, event) => log(name, event)
  try {
    const { host } = settings.http
    const own = `http://${isLoopbackAddress(host) ? host : '127.0.0.1'}:${app.httpPort}`
    return await consoleParts(settings, {
      link: null,
      places: { replicas: [own], prometheus: undefined },
      ...{ terminal, report },
    })
  } catch (error) {
    await app.stop()
    throw error
  }
}
