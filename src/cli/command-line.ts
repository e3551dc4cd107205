import { Command as Commander, CommanderError, Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { Command, Invocation, ListedCommand } from './command.ts'

/** The command that runs, as its last words need it. */
export interface RunningCommand {
  /** With its groups, as in `gavel library import`. */
  readonly name: string
  /** Whether it writes a log to standard error. */
  readonly logs: boolean
}

/** What a command line runs in: a process, or a test. */
export interface CommandLineHost
  extends Required<Pick<Invocation, 'commands' | 'startStandIn'>>,
    Pick<Invocation, 'environment' | 'terminal' | 'signal' | 'stopped' | 'onHangup'> {
  /** That of the package. */
  readonly version: string
  /** Takes help, and what is wrong with the words. */
  readonly writing: { writeOut(text: string): void; writeErr(text: string): void }
  /** Told of the command that begins. */
  begins(command: RunningCommand): void
  /** Takes the reason that the command ends with. */
  lastWords(text: string): void
}

const configOption = () => new Option('--config <file>', 'settings to lay over config/gavel.yaml')

/** Runs `gavel` with these words. Resolves to its exit code; rejects with what nobody expected. */
export async function runCommandLine(words: readonly string[], host: CommandLineHost): Promise<number> {
  const { commands, signal, terminal } = host
  let running = 'gavel'
  const program = new Commander('gavel')
    .description('Judges live social content by structured debate: posts and comments in on Kafka, verdicts out.')
    .version(host.version, '--version', 'the version of this package')
    .addOption(configOption())
    .exitOverride()
    .configureOutput(host.writing)
    .hook('preAction', (_, command) => {
      const names: string[] = []
      for (let each: Commander | null = command; each !== null; each = each.parent) names.unshift(each.name())
      running = names.join(' ')
    })
    .showHelpAfterError('Run with --help to see what it takes.')
  try {
    const said = new Set(words)
    for (const listed of commands) {
      const names = listed.path.split(' ')
      const isMeant = names.every((name, at) => said.has(name) || (at > 0 && said.has(listed.formerly ?? name)))
      const command = isMeant && !isGroup(listed, commands, words) ? (await listed.load?.())?.command : undefined
      declare(program, listed, command, async (declared, loaded) => {
        host.begins({ name: running, logs: listed.logs === true })
        await perform(loaded, declared, host)
      })
    }
    await program.parseAsync(words, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof OperatorError) {
      host.lastWords(`gavel: ${error.message}`)
      return 1
    }
    if (signal.aborted && error instanceof Error && error.name === 'AbortError') {
      terminal.say(`${running}: stopped.`)
      return 1
    }
    throw error
  }
}

/** Whether one of its own commands is what is asked for: its options, which may have the same names, would take the values of theirs. */
function isGroup({ path }: ListedCommand, commands: readonly ListedCommand[], words: readonly string[]): boolean {
  const named = words.filter((word, at) => !word.startsWith('-') && words[at - 1] !== '--config').join(' ')
  return commands.some((one) => one.path.startsWith(`${path} `) && `${named} `.startsWith(`${one.path} `))
}

/** Declares a listed command to commander; one whose file was loaded gets its options and can be run. */
function declare(
  program: Commander,
  listed: ListedCommand,
  command: Command | undefined,
  run: (declared: Commander, command: Command) => Promise<void>,
): void {
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
  declared.action(() => run(declared, command))
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

async function perform(command: Command, declared: Commander, host: CommandLineHost): Promise<void> {
  const { loadSettings } = await import('../../config/load.ts')
  // A group's options apply to its commands, too, and are accepted before or after the command's name.
  const { config, json = false, ...options } = declared.optsWithGlobals<{ config?: string; json?: boolean }>()
  const { commands, environment, terminal, startStandIn, signal, stopped, onHangup } = host
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
    commands,
    environment,
    terminal,
    startStandIn,
    signal,
    stopped,
    ...(onHangup !== undefined && { onHangup }),
    misused: (message) => declared.error(`error: ${message}`),
  }
  command.print(await command.run(invocation), invocation)
}
