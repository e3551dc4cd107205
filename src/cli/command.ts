import type { Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import type { Terminal } from './terminal.ts'

/** A server that answers in place of a model, until it is closed. */
export interface ModelStandIn {
  /** What it is, in words. */
  readonly what: string
  readonly settings: { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string }
  close(): Promise<void>
}

/** What a command is called with. */
export interface Invocation<Options = object> {
  /** The arguments on the command line that are not options, in order. */
  readonly args: readonly string[]
  readonly options: Options
  /** Whether results are printed as JSON. */
  readonly json: boolean
  /** The settings, read and checked when they are asked for. Throws an `OperatorError` that names every fault. */
  settings(): Settings
  /** The settings as they are now, for what runs on while they change. Throws likewise. */
  readonly reread?: () => Settings
  /** The file that is laid over the shipped settings, if one was given. */
  readonly settingsFile?: string | undefined
  /** All commands. */
  readonly commands?: readonly ListedCommand[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly terminal: Terminal
  /** Starts what answers where no model is set. Absent where one always is. */
  readonly startStandIn?: () => Promise<ModelStandIn>
  /** Aborts on the first request to stop. */
  readonly signal: AbortSignal
  /** Resolves on the first request to stop, with the signal's name. */
  readonly stopped: Promise<string>
  /** Has a hangup call the listener instead of being a request to stop. Absent in a terminal, where it always is one. */
  readonly onHangup?: ((listener: () => void) => void) | undefined
  /** Ends the command because of a mistake on its command line that no single option can detect. */
  misused(message: string): never
}

/**
 * A command: a file that exports one as `command`, with its options, what it does, and how its result is printed.
 * `src/commands.ts` lists all commands; `src/main.ts` does what is common to them.
 */
export interface Command<Options = object, Result = unknown> {
  /** Its own options, in the order of `--help`, which shows `--config` before them and `--json` after them. */
  readonly options: readonly Option[]
  /** Whether it takes `--json`. */
  readonly json: boolean
  /** What `--help` ends with: notes and examples. */
  readonly help: string
  /** Does the work. If there may be many results, they are printed as they arrive. */
  run(invocation: Invocation<Options>): Promise<Result>
  /** Prints the result. Throws an `OperatorError` if that result is a failure. */
  print(result: Result, invocation: Invocation<Options>): void
}

/** A command's entry in the list: what `gavel --help` shows of it, and how the rest is loaded. */
export interface ListedCommand {
  /** Its name, behind that of its group: `library import`. */
  readonly path: string
  /** The last word of its name in earlier versions, which is still understood. */
  readonly formerly?: string
  /** Its argument, as commander writes it: `<file>`, `[ids...]`. */
  readonly argument?: string
  /** What its argument is, if the name does not say it. */
  readonly argumentIs?: string
  readonly description: string
  /** For a command that other programs call: `--help` does not list it. */
  readonly hidden?: true
  /** For a command that reads no settings: it takes no `--config`. */
  readonly withoutSettings?: true
  /** Whether what it writes to standard error is a log, in JSON; where that is a terminal, its last words are for people. */
  readonly logs?: true
  /** Imports its file; a group of commands that does nothing by itself has none. */
  readonly load?: () => Promise<{ readonly command: Command<never> }>
}
