import { Option } from 'commander'
import { modelsInUse, modelsWithoutKey } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Command, Invocation } from '../../cli/command.ts'
import { listOf } from '../../cli/options.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { dependenciesAnswer } from '../../operations/dependencies.ts'
import { fileWatch } from '../../operations/file-watch.ts'
import { DEFAULT_ROLES, fingerprint, identityOf, type ProcessRole, ROLES } from '../../operations/identity.ts'
import { logListener } from '../../operations/log.ts'
import { loopTime } from '../../operations/loop-time.ts'
import { type ReloadOutcome, serveReload } from '../../operations/reload-socket.ts'
import { changedSettings } from '../../operations/reloading.ts'
import { isLoopbackAddress } from '../../platform/http.ts'
import { laneFiles } from '../../protocols/registry.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { type App, startApp } from '../composition/service.ts'

/** Time beyond the drain after which a stop is forced, in ms, and the same where this process lags. */
const [FORCE_AFTER_MS, LAGGING_FORCE_AFTER_MS] = [1_000, 5_000]

interface Options {
  readonly roles: readonly ProcessRole[]
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
  async run({ options: { roles, ...options }, ...invocation }) {
    await runService(roles, options, invocation)
  },
  print() {},
}

/** Watched files are looked at this often, in ms. */
const LOOK_MS = 5_000

/** The folders of a user's own with prompts, perspectives and the like, also those of variants. */
export function ownFolders({ protocols }: Pick<Settings, 'protocols'>): string[] {
  const foldersIn = (own: object): string[] =>
    Object.entries(own).flatMap(([name, value]) => (name.endsWith('Path') && typeof value === 'string' ? [value] : []))
  return Object.values(protocols).flatMap((own) => [
    ...foldersIn(own),
    ...Object.values(Object(entryOf(own, 'variants'))).flatMap((variant) => foldersIn(Object(variant))),
  ])
}

/** The files that hold variables' values, and keys of endpoints. */
function secretFiles(environment: Invocation['environment'], { endpoints }: Pick<Settings, 'endpoints'>): string[] {
  const files = [
    ...Object.entries(environment).flatMap(([name, value]) => (name.endsWith('_FILE') ? [value ?? ''] : [])),
    ...Object.values(endpoints).map(({ apiKeyFile }) => apiKeyFile),
  ]
  return files.filter((file) => file !== '')
}

/** The files of vetoes, and of first lanes. */
function listsIn({ vetoes, protocols }: Pick<Settings, 'vetoes' | 'protocols'>): string[] {
  const lists = Object.values(vetoes).flatMap(({ list }) => (list === '' ? [] : [list]))
  return [...lists, ...Object.values(protocols).flatMap((own) => laneFiles.parse(entryOf(own, 'lane') ?? []))]
}

/** The service in these roles, until it is asked to stop; a hangup has it read its settings again. Resolves when everything is closed. */
export async function runService(
  roles: readonly ProcessRole[],
  { waitForDependencies: waits, watch }: { waitForDependencies?: true | undefined; watch?: true | undefined },
  given: Pick<Invocation, 'settings' | 'stopped' | 'terminal' | 'reread' | 'onHangup' | 'settingsFile' | 'environment'>,
): Promise<void> {
  const { stopped, terminal, reread, onHangup, settingsFile: file } = given
  const settings = given.settings()
  mustBeAskable(settings, roles)
  // What was refused, too: what mends it may be in a folder that it names.
  let latest = settings
  const readAnew = () => {
    latest = reread?.() ?? settings
    return latest
  }
  const changes = keptChanges()
  onHangup?.(() => void changes.tell())
  const watched = () => [
    ...(file === undefined ? [] : [file]),
    ...secretFiles(given.environment, latest),
    ...ownFolders(latest),
    ...listsIn(latest),
  ]
  const looking = watch ? setInterval(fileWatch(watched, () => void changes.tell()).poll, LOOK_MS).unref() : undefined
  const socket = await reloadSocket(settings, roles, changes.tell)
  try {
    const answered = waits ? await onceAnswered(settings, roles, { stopped, changes, readAnew }) : settings
    if (answered === null) return
    await untilStopped(answered, roles, { stopped, terminal, readAnew, changes })
  } finally {
    clearInterval(looking)
    await socket?.close()
  }
}

/** Where `gavel reload` reaches this process; null where no socket can be made, which is logged. */
async function reloadSocket(settings: Settings, roles: readonly ProcessRole[], reload: Changes['tell']) {
  try {
    return await serveReload({ name: settings.name, roles, pid: process.pid }, reload)
  } catch (error) {
    const log = logListener(settings.log.level, Date.now, identityOf(settings, roles), settings.log)
    log('reload:closed', { why: error instanceof Error ? error.message : String(error), advice: NO_SOCKET })
    return null
  }
}

const NO_SOCKET =
  '"gavel reload" does not reach this process; a SIGHUP and --watch do. Set TMPDIR to a folder that it can write. docs/reload.md'

async function untilStopped(
  settings: Settings,
  roles: readonly ProcessRole[],
  given: { stopped: Promise<string>; terminal: Terminal; readAnew: () => Settings; changes: Changes },
): Promise<void> {
  const { stopped, terminal, readAnew, changes } = given
  if (roles.includes('console') && settings.console.signIn === 'link')
    throw new OperatorError(
      'The role console needs console.signIn oidc or proxy: a link to sign in would be in the log. On one machine, start "gavel console".',
    )
  const app = await startApp(settings, roles, {}, readAnew)
  changes.goTo(app.reload)
  const pages = roles.includes('console') ? await consoleBeside(app, app.live, roles, terminal) : null
  const by = await stopped
  changes.goTo(async () => ({ outcome: 'stopping' }))
  const ended = new AbortController()
  const force = () => {
    app.cutOff()
    process.exit(1)
  }
  void loopTime(settings.drain + FORCE_AFTER_MS, settings.drain + LAGGING_FORCE_AFTER_MS, ended.signal).then(
    force,
    () => {},
  )
  await pages?.close()
  await app.stop(by)
  ended.abort()
}

/** Reads settings again that may have changed. */
type Reload = () => Promise<ReloadOutcome>

/** Tells that settings may have changed; what nobody has heard yet is kept. */
interface Changes {
  readonly tell: Reload
  /** From now on changes go to this listener, and pending ones at once; null: no listener. */
  goTo(listener: Reload | null): void
}

function keptChanges(): Changes {
  let isKept = false
  let listener: Reload | null = null
  const tell = async (): Promise<ReloadOutcome> => {
    isKept = listener === null
    return listener === null ? { outcome: 'starting' } : listener()
  }
  return {
    tell,
    goTo(next) {
      listener = next
      if (isKept) void tell()
    },
  }
}

/**
 * The settings by which Redis and Kafka answer; null if it is stopped first. What changes meanwhile is read again: it may be
 * their addresses that were wrong.
 */
async function onceAnswered(
  first: Settings,
  roles: readonly ProcessRole[],
  given: { stopped: Promise<unknown>; changes: Changes; readAnew: () => Settings },
): Promise<Settings | null> {
  const { stopped, changes, readAnew } = given
  let isStopped = false
  void stopped.then(() => {
    isStopped = true
  })
  for (let known: Known = { settings: first, prompts: protocolsOf(first, '').prompts }; ; ) {
    let isChanged = false
    const [change, result] = [Promise.withResolvers<void>(), Promise.withResolvers<ReloadOutcome>()]
    changes.goTo(() => {
      isChanged = true
      change.resolve()
      return result.promise
    })
    const { settings, prompts } = known
    const answered = await dependenciesAnswer(settings, roles, Promise.race([stopped, change.promise]), prompts)
    changes.goTo(null)
    if (isStopped) {
      result.resolve({ outcome: 'stopping' })
      return null
    }
    if (answered && !isChanged) return settings
    const read = readWhileWaiting(known, roles, readAnew)
    known = read.known
    result.resolve(read.result)
  }
}

interface Known {
  readonly settings: Settings
  /** The fingerprint of their prompts. */
  readonly prompts: string
}

/** What there is now, if it is good; else what there was. Either is said. */
function readWhileWaiting(
  known: Known,
  roles: readonly ProcessRole[],
  readAnew: () => Settings,
): { readonly known: Known; readonly result: ReloadOutcome } {
  const { settings } = known
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles), settings.log)
  try {
    const next = readAnew()
    mustBeAskable(next, roles)
    const { prompts } = protocolsOf(next, '')
    const changed = changedSettings(settings, next).paths
    log('settings:reloaded', { changed, settings: fingerprint(next), prompts })
    return { known: { settings: next, prompts }, result: { outcome: 'reloaded', changed } }
  } catch (error) {
    const refused = { why: error instanceof Error ? error.message : String(error), advice: WAITS_ON }
    log('settings:refused', refused)
    return { known, result: { outcome: 'refused', ...refused } }
  }
}

const WAITS_ON =
  'It goes on waiting with the settings that it had: mend what is named, and reload again. docs/reload.md'

/** Throws an `OperatorError` if a judge could ask no model. */
function mustBeAskable(settings: Settings, roles: readonly ProcessRole[]): void {
  const unasked = roles.includes('judge') ? modelsWithoutKey(settings) : []
  if (unasked.length > 0 && unasked.length < modelsInUse(settings).length)
    throw new OperatorError(
      `${unasked.join(', ')} (models.roles) belong to the default endpoint, which has no key. Set OPENAI_API_KEY, or name models of another endpoint as ENDPOINT/MODEL.`,
    )
  if (unasked.length > 0)
    throw new OperatorError(
      'No model is set. Set OPENAI_BASE_URL and OPENAI_API_KEY (any text, where the server asks for none), or start the understudy with "gavel stack".',
    )
}

/** The console in the process of a service; if it can't open, the service is stopped. */
async function consoleBeside(app: App, settings: Settings, roles: readonly ProcessRole[], terminal: Terminal) {
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles), settings.log)
  const report: Report = (name, event) => log(name, event)
  try {
    const { host } = settings.http
    const own = `http://${isLoopbackAddress(host) ? host : '127.0.0.1'}:${app.httpPort}`
    const { localConsole } = await import('./local-console.ts')
    return await localConsole(settings, {
      link: null,
      places: { replicas: [own], prometheus: undefined },
      terminal,
      report,
      now: app.settings,
      gate: app.gate,
    })
  } catch (error) {
    await app.stop()
    throw error
  }
}
