import type { Policy } from '../../../protocols/policy.ts'
import { POLICY_PAIRS, type PolicyPair } from './pairs.ts'

/** What a policy says elsewhere than in its clauses. */
const GENERAL = 'the general part'

/** What differs between two policies: by the id of a clause, all that is said of it in either. */
export function changedClauses(before: Policy | null, after: Policy): ReadonlyMap<string, string> {
  const [was, is] = [clausesOf(before), clausesOf(after)]
  const ids = [...new Set([...was.keys(), ...is.keys()])]
  return new Map(ids.flatMap((id) => (was.get(id) === is.get(id) ? [] : [[id, `${was.get(id)} ${is.get(id)}`]])))
}

function clausesOf(policy: Policy | null): ReadonlyMap<string, string> {
  if (policy === null) return new Map()
  const clauses = policy.clauses.map(({ id, line: _, ...says }) => [id, JSON.stringify(says)] as const)
  return new Map([...clauses, [GENERAL, policy.general.join('\n')]])
}

/** The pairs that are about what changed. Which these are is told by English words: of a policy in another language all are. */
export function touchedPairs(changed: ReadonlyMap<string, string>, { language = 'en' }: Policy): readonly PolicyPair[] {
  if (changed.size === 0) return []
  if (!/^en\b/i.test(language)) return POLICY_PAIRS
  const said = [...changed.values()].join('\n')
  return POLICY_PAIRS.filter(({ words }) => words.test(said))
}
