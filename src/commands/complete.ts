import { type Candidates, candidatesFor } from './candidates.ts'
import type { Command } from './command.ts'

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
