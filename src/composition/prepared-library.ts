import type { Settings } from '../../config/schema.ts'
import type { Library } from '../ports/library.ts'
import { libraryOf } from './library.ts'
import { protocolsOf } from './protocols.ts'

/** The settings' library, which begins to load what the named protocol's first search of its shelves needs. */
export async function preparedLibrary(settings: Settings, protocol: string): Promise<Library> {
  const library = libraryOf(settings, Date.now)
  const { protocols } = protocolsOf(settings, 'none is read or written here')
  await library.prepare(protocols.flatMap(({ name, shelves = [] }) => (name === protocol ? shelves : [])))
  return library
}
