import type { Option } from 'commander'
import type { Command, ListedCommand } from '../../cli/command.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'

/** `gavel complete -- WORDS`: what may follow, for the scripts of `gavel completion`. */
export const command: Command<object, Candidates> = {
  options: [],
  json: false,
  help: '',
  run: ({ args, commands = [] }) => candidatesFor(args, commands),
  print({ words, files }, { terminal }) {
    for (const [word, what] of words) terminal.out(`${word}\t${what}`)
    if (files) terminal.out(':files')
  },
}

/** What may stand where somebody asks for it on a command line, with what it does; `files`: or a file. */
export interface Candidates {
  readonly words: readonly (readonly [word: string, what: string])[]
  readonly files: boolean
}

/** Every command's, beside its own. */
const COMMON = [['--help', 'what it takes']] as const
const CONFIG = ['--config', 'settings to lay over config/gavel.yaml'] as const

/** What may follow these words of a command line, behind `gavel`; the last of them is begun, and may be empty. */
export async function candidatesFor(words: readonly string[], commands: readonly ListedCommand[]): Promise<Candidates> {
  const begun = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const listed = commandIn(before, commands)
  const command = (await listed?.load?.())?.command
  const options: readonly Option[] = command?.options ?? []
  const previous = before.at(-1)
  const asking = options.find(({ long, short }) => previous !== undefined && (previous === long || previous === short))
  if (previous === '--config') return { words: [], files: true }
  if (asking !== undefined && (asking.required || asking.optional)) return valuesOf(asking, begun)
  if (begun.startsWith('-')) {
    const own = options.flatMap(({ long, description }) => (long == null ? [] : [[long, description] as const]))
    const config = listed?.withoutSettings === true ? [] : [CONFIG]
    const json = command?.json === true ? [['--json', 'results as JSON'] as const] : []
    return { words: starting([...own, ...config, ...json, ...COMMON], begun), files: false }
  }
  if (listed === undefined && before.some((word) => !word.startsWith('-'))) return { words: [], files: false }
  const inner = commands
    .filter(({ path, hidden }) => hidden !== true && path.split(' ').slice(0, -1).join(' ') === (listed?.path ?? ''))
    .map(({ path, description }) => [path.split(' ').at(-1) ?? path, description] as const)
  if (listed?.argument === '<protocol>') return { words: starting(protocols(), begun), files: false }
  return { words: starting(inner, begun), files: listed !== undefined && /^[<[]file/.test(listed.argument ?? '') }
}

/** The command that these words name, with its group's name before its own; undefined where they name none. */
function commandIn(words: readonly string[], commands: readonly ListedCommand[]): ListedCommand | undefined {
  const names = words.filter((word) => !word.startsWith('-'))
  return (
    commands.find(({ path }) => path === names.slice(0, 2).join(' ')) ?? commands.find(({ path }) => path === names[0])
  )
}

function valuesOf({ long, argChoices, flags }: Option, begun: string): Candidates {
  if (argChoices !== undefined)
    return {
      words: starting(
        argChoices.map((one) => [one, ''] as const),
        begun,
      ),
      files: false,
    }
  if (long === '--protocol') return { words: starting(protocols(), begun), files: false }
  return { words: [], files: /<(file|folder|path)/.test(flags) }
}

function protocols() {
  return PROTOCOLS.map(({ name }) => [name, 'a protocol'] as const)
}

function starting(words: Candidates['words'], begun: string): Candidates['words'] {
  return words.filter(([word]) => word.startsWith(begun))
}
