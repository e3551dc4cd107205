import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError, PermanentError } from '../../../contracts/facts/errors.ts'
import type { PictureHashes, VetoHit } from '../../../contracts/ports/vetoes.ts'
import { mustBeReadable } from '../../../data-files/lines.ts'
import { imageLoader } from '../../../models/images/images.ts'
import { hashesOfPicture } from '../../../models/vetoes/picture-hashes.ts'
import { openVetoLists, type SilentList } from '../../../models/vetoes/veto-lists.ts'
import { pictureDecoder } from '../../composition/vetoes.ts'

interface ComparedFile {
  readonly file: string
  readonly kind: 'picture' | 'text'
  /** Of a picture. */
  readonly hashes?: PictureHashes
  readonly match: VetoHit | null
  readonly silent: readonly SilentList[]
}

/** `gavel veto check`: compares pictures and texts with the lists, as a service does. */
export const command: Command<object, readonly ComparedFile[]> = {
  options: [],
  json: true,
  help: 'A file that is no PNG, JPEG, GIF or WebP image is read as a text. Ends with exit code 1 if a list did not answer. See docs/vetoes.md.\n\nExample:\n  $ gavel veto check picture.jpg',
  async run({ args, settings: read, signal }) {
    const settings = read()
    for (const file of args) await mustBeReadable(file)
    const lists = await openVetoLists(settings.vetoes)
    const load = imageLoader(settings.images)
    const decode = pictureDecoder()
    const compare = async (file: string): Promise<ComparedFile> => {
      const bytes = readFileSync(file)
      try {
        const data = await load(`data:;base64,${bytes.toString('base64')}`, signal)
        const how = { decode, wants: new Set(['pdq'] as const), whose: { name: '', part: '' }, signal }
        const hashes = await hashesOfPicture(data, how)
        const search = await lists.findPicture(hashes)
        const found = 'list' in search ? { match: search, silent: [] } : { match: null, silent: search.silent }
        return { file, kind: 'picture', hashes, ...found }
      } catch (error) {
        if (!(error instanceof PermanentError)) throw error
        if (!isUtf8(bytes)) throw new OperatorError(`${file}: ${error.message}`)
        return { file, kind: 'text', match: await lists.findWords([bytes.toString('utf8')]), silent: [] }
      }
    }
    try {
      const found: ComparedFile[] = []
      for (const file of args) found.push(await compare(file))
      return found
    } finally {
      await lists.close()
    }
  },
  print(found, { json, terminal }) {
    for (const one of found) {
      if (json) terminal.out(JSON.stringify(one))
      else terminal.out(inWords(one))
    }
    const silent = found.flatMap((one) => one.silent)
    if (silent.length > 0) throw new OperatorError(silent.map(({ list, why }) => `${list}: ${why}`).join('\n'))
  },
}

function inWords({ file, kind, hashes, match }: ComparedFile): string {
  const is =
    hashes === undefined
      ? kind
      : `${kind}, sha256 ${hashes.sha256}, pdq ${hashes.pdq ?? 'none: too little to tell it by'}`
  const on = match === null ? 'on no list' : `on the list ${match.list} (${match.entry})`
  return printable(`${file}: ${is}: ${on}`, 1_000)
}
