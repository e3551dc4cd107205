import type { Settings } from '../../../config/schema.ts'
import { makeEmbedder } from '../adapters/embedders/make.ts'
import { lanceLibrary } from '../adapters/lancedb/library.ts'
import { entryOf } from '../domain/entry-of.ts'
import { placeOf } from '../domain/model-name.ts'
import { EMBEDDER_ROLE, type Lookups, lookups } from '../gateway/lookups.ts'
import type { GatewaySettings } from '../gateway/parts.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeletedOwners } from '../ports/erasures.ts'
import type { Embedder, Library } from '../ports/library.ts'
import type { Report } from '../ports/report.ts'

/** The embedder that the settings name, at its own endpoint if they say so. */
export function embedderOf({
  library,
  openai,
  endpoints,
}: Pick<Settings, 'library' | 'openai' | 'endpoints'>): Embedder {
  const { endpoint, model } = placeOf(library.embedder, endpoints)
  const at = entryOf(endpoints, endpoint) ?? openai
  return makeEmbedder(library.embedder, { ...at, prefixes: library.embedderPrefixes }, model)
}

/** The embedder's chain, as a role beside those of `models.roles`; none where it is part of the process. */
export function embedderRoles({ library }: Pick<Settings, 'library'>): GatewaySettings['roles'] {
  return library.embedder === 'local' ? {} : { [EMBEDDER_ROLE]: [library.embedder] }
}

/** What holds lookups while the embedder does not answer; null where it is part of the process. */
export function lookupsOf(
  settings: Settings,
  parts: { readonly clock: Clock; readonly report: Report },
): Lookups | null {
  const [embedder] = embedderRoles(settings)[EMBEDDER_ROLE] ?? []
  if (embedder === undefined) return null
  const { endpoint } = placeOf(embedder, settings.endpoints)
  return lookups({ ...parts, embedder, endpoint, settings: settings.breaker })
}

/**
 * The library that the settings name; loaded only when it is first used. With `deleted` nothing of deleted subjects is shown or
 * proposed, even before it is erased.
 */
export function libraryOf(
  settings: Pick<Settings, 'library' | 'openai' | 'endpoints'>,
  clock: Clock,
  deleted?: DeletedOwners,
): Library {
  const { path, proposalsPerAuthor, newProposals, shared } = settings.library
  return lanceLibrary({
    path,
    embedder: embedderOf(settings),
    now: clock,
    proposalsPerAuthor,
    newProposals,
    shared: new Set(shared),
    ...(deleted === undefined ? {} : { deletedAmong: deleted.deletedAmong }),
  })
}
