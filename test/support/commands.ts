import { Command as Commander, Option } from 'commander'
import type { Settings } from '../../config/schema.ts'
import type { Command, Invocation } from '../../src/cli/command.ts'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { terminal } from '../../src/cli/terminal.ts'
import { COMMANDS, startStandIn } from '../../src/commands.ts'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'
import { version } from '../../src/platform/package-folder.js'

type Io = Pick<Invocation, 'terminal' | 'signal'>

/** How `main.ts` would call a command with these words and options. */
export function invocation<Options>(
  settings: Partial<Settings>,
  args: readonly string[],
  { json = false, ...options }: Options & { readonly json?: boolean },
  io: Io,
): Invocation<Options> {
  return {
    args,
    options: options as Options,
    json,
    settings: () => settings as Settings,
    environment: {},
    startStandIn: startUnderstudy,
    ...io,
    stopped: new Promise(() => {}),
    misused(message) {
      throw new Error(message)
    },
  }
}

/** Runs a command and prints its result, which it resolves to. */
export async function perform<Options, Result>(
  command: Command<Options, Result>,
  settings: Partial<Settings>,
  args: readonly string[],
  options: Options & { readonly json?: boolean },
  io: Io,
): Promise<Result> {
  const given = invocation(settings, args, options, io)
  const result = await command.run(given)
  command.print(result, given)
  return result
}

/** `gavel` with these words in this process, which saves a start: the lines that it prints, and that it says. Throws where it fails. */
export async function performWords(
  words: readonly string[],
  settings: Settings,
  /** Told each line as it is printed: a command may fail after that. */
  printed: (line: string) => void = () => {},
) {
  const isNamed = ({ path }: { path: string }) => path.split(' ').every((name, at) => words[at] === name)
  const named = COMMANDS.findLast((one) => one.load !== undefined && isNamed(one))
  const command = (await named?.load?.())?.command as Command | undefined
  if (command === undefined) throw new Error(`there is no command ${words.join(' ')}`)
  const line = new Commander().exitOverride().argument('[args...]').addOption(new Option('--json'))
  for (const option of command.options) line.addOption(option)
  line.parse(words.slice(named?.path.split(' ').length), { from: 'user' })
  const [out, said]: [string[], string[]] = [[], []]
  const terminal = {
    out(text: unknown) {
      out.push(String(text))
      printed(String(text))
    },
    say: (text: unknown) => void said.push(String(text)),
    progress() {},
  }
  await perform(command, settings, line.args, line.opts(), { terminal, signal: new AbortController().signal })
  return { out, said }
}

/**
 * `gavel` with these words in this process, as `main.ts` runs it: what `commandIn` does, but that it sees this process's folder, and
 * that nothing was compiled for it alone.
 */
export async function commandHere(words: readonly string[], environment: Readonly<Record<string, string>>) {
  let [out, said] = ['', '']
  const writing = {
    writeOut(text: string) {
      out += text
    },
    writeErr(text: string) {
      said += text
    },
  }
  const io = terminal({ write: writing.writeOut }, { write: writing.writeErr })
  const code = await runCommandLine(words, {
    version: version(),
    commands: COMMANDS,
    environment,
    terminal: io,
    startStandIn,
    signal: new AbortController().signal,
    stopped: new Promise(() => {}),
    writing,
    begins() {},
    lastWords: io.say,
  })
  return { code, out, said }
}
