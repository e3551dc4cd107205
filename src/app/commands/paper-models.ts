import type { Settings } from '../../../config/schema.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { chainOf } from '../../models/fallback.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'

/**
 * A line for each protocol that runs as in its paper but with other models than its paper's; it names both. A dated
 * snapshot of a model counts as that model.
 */
export function otherModels(
  { protocols, models, library }: Pick<Settings, 'protocols' | 'models' | 'library'>,
  kinds: readonly ProtocolKind[] = PROTOCOLS,
): string[] {
  return kinds.flatMap(({ name, paperModels }) => {
    const own = entryOf(protocols, name)
    if (!own?.enabled || own.preset !== 'paper' || paperModels === undefined) return []
    const { roles, embedder } = paperModels
    const others = [
      ...Object.entries(roles).map(([role, model]) => other(role, chainOf(models.roles, name, role), model)),
      ...(embedder === undefined ? [] : [other('embedder', [library.embedder], embedder)]),
    ].flat()
    return others.length === 0 ? [] : [`${name}, preset paper: ${others.join(', ')}`]
  })
}

function other(role: string, set: readonly string[], paper: string): string[] {
  return set.every((model) => isModel(model, paper)) ? [] : [`${role} ${set.join(', then ')} (its paper: ${paper})`]
}

const SNAPSHOT = /^-(\d{4}|\d{4}-\d{2}-\d{2})$/

function isModel(set: string, paper: string): boolean {
  return set === paper || (set.startsWith(paper) && SNAPSHOT.test(set.slice(paper.length)))
}
