import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { positive } from '../../../cli/options.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { SearchResult } from '../../../contracts/facts/library.ts'
import { DEFAULT_TENANT } from '../../../shelves/names.ts'
import { withLibrary } from './with-library.ts'

interface SearchOptions {
  readonly shelf: string
  readonly k: number
  readonly lang?: string
  readonly tenant: string
}

/**
 * `gavel library search`: the nearest items to a text, as a protocol would get them: items with the same text are left
 * out. Ends with an `OperatorError` with the reason why a shelf can't be searched.
 */
export const command: Command<SearchOptions, SearchResult> = {
  options: [
    new Option('--shelf <name>', 'shelf to search').makeOptionMandatory(),
    new Option('-k <n>', 'how many').argParser(positive).default(3),
    new Option('--lang <tag>', 'the language of the text (BCP 47)'),
    new Option('--tenant <name>', 'search as this tenant').default(DEFAULT_TENANT),
  ],
  json: true,
  help: 'Example:\n  $ gavel library search "they all should go home" --shelf unsmile -k 5',
  run({ args: [text = ''], options: { shelf, k, lang, tenant }, settings, signal }) {
    const wanted = { text, shelves: [shelf], k, lang }
    return withLibrary(settings(), async (library) => {
      const found = await library.find(wanted, { tenant, id: '', kind: 'post' }, signal)
      const problem = found.shelves[0]?.problem
      const known = problem ? (await library.shelves()).map(({ name }) => name) : []
      if (problem && !known.includes(shelf)) throw new OperatorError(`${problem}.${didYouMean(shelf, known)}`)
      return found
    })
  },
  print({ shelves: [found], weak }, { json, terminal }) {
    if (found?.problem) throw new OperatorError(`${found.problem}.`)
    for (const neighbour of found?.neighbours ?? [])
      terminal.out(
        json
          ? printableJson(JSON.stringify(neighbour))
          : `${neighbour.similarity.toFixed(3)}  ${printable(neighbour.label, 30)}  ${printable(neighbour.text, 120)}`,
      )
    if (weak !== null) terminal.say(weak)
  },
}
