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
import { changedSettings } from '../../operations/reloading.ts'
import { isLoopbackAddress } from '../../platform/http.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { type App, startApp } from '../composition/service.ts'
import { localConsole } from './local-console.ts'

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

/** The files of vetoes. */
function listsIn({ vetoes }: Pick<Settings, 'vetoes'>): string[] {
  return Object.values(vetoes).flatMap(({ list }) => (list === '' ? [] : [list]))
}

/** The service in these roles, until it is asked to stop; a hangup has it read its settings again. Resolves when everything is closed. */
export async function runService(
  roles: readonly ProcessRole[],
  { waitForDependencies: waits, watch }: { waitForDependencies?: true | undefined; watch?: true | undefined },
  given: Pick<Invocation, 'settings' | 'stopped' | 'terminal' | 'reread' | 'onHangup' | 'settingsFile'>,
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
  onHangup?.(() => changes.tell())
  const watched = () => [...(file === undefined ? [] : [file]), ...ownFolders(latest), ...listsIn(latest)]
  const looking = watch ? setInterval(fileWatch(watched, changes.tell).poll, LOOK_MS).unref() : undefined
  try {
    const answered = waits ? await onceAnswered(settings, roles, { stopped, changes, readAnew }) : settings
    if (answered === null) return
    await untilStopped(answered, roles, { stopped, terminal, readAnew, changes })
  } finally {
    clearInterval(looking)
  }
}

async function untilStopped(
  settings: Settings,
  roles: readonly ProcessRole[],
  given: { stopped: Promise<unknown>; terminal: Terminal; readAnew: () => Settings; changes: Changes },
): Promise<void> {
  const { stopped, terminal, readAnew, changes } = given
  if (roles.includes('console') && settings.console.signIn === 'link')
    throw new OperatorError(
      'The role console needs console.signIn oidc or proxy: a link to sign in would be in the log. On one machine, start "gavel console".',
    )
  const app = await startApp(settings, roles, {}, readAnew)
  changes.goTo(app.reload)
  const pages = roles.includes('console') ? await consoleBeside(app, settings, roles, terminal) : null
  await stopped
  changes.goTo(() => {})
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
  await app.stop()
  ended.abort()
}

/** Tells that settings may have changed; what nobody has heard yet is kept. */
interface Changes {
  tell(): void
  /** From now on changes go to this listener, and pending ones at once; null: no listener. */
  goTo(listener: (() => void) | null): void
}

function keptChanges(): Changes {
  let isKept = false
  let listener: (() => void) | null = null
  const tell = () => {
    isKept = listener === null
    listener?.()
  }
  return {
    tell,
    goTo(next) {
      listener = next
      if (isKept) tell()
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
    const change = Promise.withResolvers<void>()
    changes.goTo(() => {
      isChanged = true
      change.resolve()
    })
    const { settings, prompts } = known
    const answered = await dependenciesAnswer(settings, roles, Promise.race([stopped, change.promise]), prompts)
    changes.goTo(null)
    if (isStopped) return null
    if (answered && !isChanged) return settings
    known = readWhileWaiting(known, roles, readAnew)
  }
}

interface Known {
  readonly settings: Settings
  /** The fingerprint of their prompts. */
  readonly prompts: string
}

/** What there is now, if it is good; else what there was. Either is said. */
function readWhileWaiting(known: Known, roles: readonly ProcessRole[], readAnew: () => Settings): Known {
  const { settings } = known
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles))
  try {
    const next = readAnew()
    mustBeAskable(next, roles)
    const { prompts } = protocolsOf(next, '')
    log('settings:reloaded', { changed: changedSettings(settings, next).paths, settings: fingerprint(next), prompts })
    return { settings: next, prompts }
  } catch (error) {
    log('settings:refused', { why: error instanceof Error ? error.message : String(error), advice: WAITS_ON })
    return known
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
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles))
  const report: Report = (name, event) => log(name, event)
  try {
    const { host } = settings.http
    const own = `http://${isLoopbackAddress(host) ? host : '127.0.0.1'}:${app.httpPort}`
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
