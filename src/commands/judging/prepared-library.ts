import type { Settings } from '../../../config/schema.ts'
import { libraryOf } from '../../service/adapters/lancedb/library.ts'
import { fences } from '../../service/domain/fence.ts'
import { samplingRanks } from '../../service/domain/sampling-rank.ts'
import type { Library } from '../../service/ports/library.ts'
import { makeProtocols } from '../../service/protocols/make.ts'
import { PROTOCOLS } from '../../service/protocols/registry.ts'

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
