import type { Command } from '../../../cli/command.ts'
import { printable, table } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { Shelf } from '../../../contracts/ports/library.ts'
import { DEFAULT_TENANT } from '../../../shelves/names.ts'
import { withLibrary } from './with-library.ts'

/** `gavel library list`: the shelves, who is shown each part, its size and its embedder. */
export const command: Command<object, readonly Shelf[]> = {
  options: [],
  json: true,
  help: 'Example:\n  $ gavel library list',
  run: ({ settings }) => withLibrary(settings(), (library) => library.shelves()),
  print(shelves, { json, settings, terminal }) {
    const { path, shared } = settings().library
    if (json) for (const shelf of shelves) terminal.out(JSON.stringify(shelf))
    else if (shelves.length > 0)
      terminal.out(
        table(
          ['shelf', 'shown to', 'items', 'embedder', 'dimensions'],
          shelves.map(({ name, tenant, items, embedder, dimension, damaged }) => [
            name,
            tenant ?? (shared.includes(name) ? 'all' : DEFAULT_TENANT),
            damaged === undefined ? `${items}` : 'damaged',
            embedder,
            `${dimension}`,
          ]),
        ),
      )
    const damaged = shelves.flatMap(({ damaged: what }) => what ?? [])
    if (damaged.length > 0) throw new OperatorError(`${damaged.map((what) => printable(what, 400)).join('.\n')}.`)
    if (shelves.length === 0) terminal.say(`There are no shelves in ${path}.`)
  },
}
