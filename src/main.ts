import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import { Command as Commander, CommanderError, Option } from 'commander'
import type { Settings } from '../config/schema.ts'
import type { Command, Invocation, ListedCommand } from './cli/command.ts'
import { terminal } from './cli/terminal.ts'
import { COMMANDS, startStandIn } from './commands.ts'
import { failedServiceLine, machineFault, unexpected } from './contracts/facts/error-line.ts'
import { OperatorError } from './contracts/facts/errors.ts'
import { version } from './platform/package-folder.js'
import { stopRequests } from './platform/stop-requests.ts'

const io = terminal(process.stdout, process.stderr)
const environment = process.env
// The reader closed the pipe early (`gavel verdicts | head`): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

/** The first request to stop lets the command finish its current work; the second one ends the process at once. */
const { signal, stopped, onHangup } = stopRequests(process, performance.now.bind(performance), () => process.exit(130))

/** Ends the process once standard output and error are flushed: `process.exit` drops what a slow reader has not taken. */
async function leave(code: number): Promise<never> {
  const outputs = [process.stdout, process.stderr]
  await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
  process.exit(failing === undefined ? code : 1)
}

/** Node's own report would print every property of the error, such as a model's prompt or a Redis command. */
function fail(error: unknown): Promise<never> {
  failing ??= endWith(error)
  return failing
}
/** An output that takes nothing, as on a full disk, fails again at every write: the first failure is reported. */
let failing: Promise<never> | undefined

function endWith(error: unknown): Promise<never> {
  const stack = environment.GAVEL_LOG_LEVEL === 'debug'
  const how = stack ? '' : '; GAVEL_LOG_LEVEL=debug shows the stack'
  const fault = stack ? null : machineFault(error)
  lastWords(fault === null ? `${running}: unexpected: ${unexpected(error, { stack })}${how}` : `gavel: ${fault}`)
  // Exits even where the reader of the output hangs.
  setTimeout(() => process.exit(1), BROKEN_ENDS_MS)
  return leave(1)
}
const BROKEN_ENDS_MS = 2_000

/** What a command ends with: a line of its log, where that goes to a collector. */
function lastWords(text: string): void {
  const writer = { process: `@${hostname()}:${process.pid}`, version: version() }
  io.say(isLogged ? failedServiceLine(text.replace(/^gavel: /, ''), writer, new Date()) : text)
}
let isLogged = false
/** The running command with its groups, as in `gavel library import`. */
let running = 'gavel'
process.on('uncaughtException', fail)

const configOption = () => new Option('--config <file>', 'settings to lay over config/gavel.yaml')

const program = new Commander('gavel')
  .description('Judges live social content by structured debate: posts and comments in on Kafka, verdicts out.')
  .version(version(), '--version', 'the version of this package')
  .addOption(configOption())
  .exitOverride()
  .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  .hook('preAction', (_, command) => {
    const names: string[] = []
    for (let each: Commander | null = command; each !== null; each = each.parent) names.unshift(each.name())
    running = names.join(' ')
  })
  .showHelpAfterError('Run with --help to see what it takes.')

/** Declares a listed command to commander; one whose file was loaded gets its options and can be run. */
function declare(listed: ListedCommand, command: Command | undefined): void {
  const { path, formerly, argument, argumentIs, description, withoutSettings, hidden = false } = listed
  const names = path.split(' ')
  const group = names
    .slice(0, -1)
    .reduce((under, name) => under.commands.find((one) => one.name() === name) ?? under, program)
  const declared = group
    .command(names.at(-1) ?? path, { hidden })
    .description(description)
    .exitOverride()
  if (formerly !== undefined) declared.alias(formerly)
  if (argument !== undefined) declared.argument(argument, argumentIs)
  if (withoutSettings !== true) declared.addOption(configOption())
  if (command === undefined) return
  for (const option of command.options) {
    declared.addOption(option)
    refuseTwice(declared, option)
  }
  if (command.json) declared.addOption(new Option('--json', 'results as JSON'))
  if (command.help !== '') declared.addHelpText('after', `\n${command.help}`)
  declared.action(async () => {
    isLogged = listed.logs === true && !process.stderr.isTTY
    await perform(command, declared)
  })
}

/** Of two values of one option the first would be lost, unsaid; options that gather their values take several. */
function refuseTwice(declared: Commander, option: Option): void {
  if (option.isBoolean() || option.variadic || (option.parseArg?.length ?? 0) > 1) return
  let given = false
  declared.on(`option:${option.name()}`, () => {
    if (given) declared.error(`error: option '${option.flags}' was given twice, and takes one value`)
    given = true
  })
}

async function perform(command: Command, declared: Commander): Promise<void> {
  const { loadSettings } = await import('../config/load.ts')
  // A group's options apply to its commands, too, and are accepted before or after the command's name.
  const { config, json = false, ...options } = declared.optsWithGlobals<{ config?: string; json?: boolean }>()
  let settings: Settings | undefined
  const invocation: Invocation = {
    args: declared.args,
    options,
    json,
    settings: () => {
      settings ??= loadSettings(environment, config)
      return settings
    },
    reread: () => loadSettings(environment, config),
    settingsFile: config,
    commands: COMMANDS,
    environment,
    terminal: io,
    startStandIn,
    signal,
    stopped,
    // A terminal that is closed ends what runs in it.
    ...([0, 1, 2].some(isatty) ? {} : { onHangup }),
    misused: (message) => declared.error(`error: ${message}`),
  }
  command.print(await command.run(invocation), invocation)
}

try {
  const words = new Set(process.argv)
  for (const listed of COMMANDS) {
    const names = listed.path.split(' ')
    const isMeant = names.every((name, at) => words.has(name) || (at > 0 && words.has(listed.formerly ?? name)))
    declare(listed, isMeant ? (await listed.load?.())?.command : undefined)
  }
  await program.parseAsync()
  // Clients of Kafka and of models may keep sockets open for a while; all output has been written.
  await leave(0)
} catch (error) {
  if (error instanceof CommanderError) await leave(error.exitCode === 0 ? 0 : 2)
  if (error instanceof OperatorError) {
    lastWords(`gavel: ${error.message}`)
    await leave(1)
  }
  if (signal.aborted && error instanceof Error && error.name === 'AbortError') {
    io.say(`${running}: stopped.`)
    await leave(1)
  }
  await fail(error)
}
