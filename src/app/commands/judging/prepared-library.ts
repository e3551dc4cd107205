import type { Settings } from '../../../../config/schema.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import { samplingRanks } from '../../../contracts/facts/sampling-rank.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import { PROTOCOLS } from '../../../protocols/registry.ts'
import { libraryOf } from '../../../shelves/lancedb/library.ts'
import { makeProtocols } from '../../composition/make-protocols.ts'

/** Nothing is fenced or sampled here: the protocol only tells its shelves. */
const NO_SECRET = 'no secret'

/** The settings' library, which begins to load what the named protocol's first search of its shelves needs. */
export async function preparedLibrary(settings: Settings, protocol: string): Promise<Library> {
  const library = libraryOf(settings, Date.now)
  const kinds = PROTOCOLS.filter(({ name }) => name === protocol)
  const ranks = samplingRanks(NO_SECRET)
  const protocols = makeProtocols(settings.protocols, fences(NO_SECRET, settings.fences), ranks, kinds)
  await library.prepare(protocols.flatMap(({ shelves = [] }) => shelves))
  return library
}
