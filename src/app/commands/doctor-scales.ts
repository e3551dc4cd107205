import type { Settings } from '../../../config/schema.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import type { KeptDialects } from '../../contracts/ports/kept-dialects.ts'
import { dialectLookup, placeNameOf } from '../../models/openai/models-of-endpoints.ts'
import { withTimeout } from './doctor-findings.ts'
import { anotherModelFor, pasted } from './doctor-lines.ts'
import type { ModelCheck } from './model-checks.ts'

/** Keeps which scales each model does not keep to, and forgets those that it was seen to keep to. False if that can't be written. */
export async function keepScales(
  checks: readonly Pick<ModelCheck, 'model' | 'scaleFaults' | 'rightScales'>[],
  settings: Settings,
  kept: KeptDialects,
): Promise<boolean> {
  try {
    const known = await withTimeout(kept.read())
    for (const { model, scaleFaults, rightScales } of checks) {
      const place = placeNameOf(model, settings)
      const before = known.get(place)?.withoutScales ?? []
      const wrong = scaleFaults.flatMap(({ scales }) => scales)
      const now = [...new Set([...before.filter((scale) => !rightScales.includes(scale)), ...wrong])]
      if (now.length > 0) await kept.keep(place, { withoutScales: now })
      else if (before.length > 0) await kept.keep(place, {})
    }
    return true
  } catch {
    // Why Redis can't be written to is a finding of its own.
    return false
  }
}

/** The scores of two plain texts, one of which must be high and one low, were not. */
export function scaleFindings(
  what: string,
  { model, scaleFaults }: ModelCheck,
  settings: Settings,
  isKept: boolean,
): Finding[] {
  if (scaleFaults.length === 0) return []
  const roles = [...new Set(scaleFaults.map(({ role }) => role))]
  const scales = [...new Set(scaleFaults.flatMap((fault) => fault.scales))]
  // The forms of one role often fail for the same reason.
  const of = [...new Set(scaleFaults.map(({ role, why }) => `as ${role} (${why})`))].join(', ')
  const detail = `scores on another scale than is asked for, or in the wrong order: ${of}. A number that both scales have may mean the opposite, and so may the label`
  const set = dialectLookup(settings)(model).withoutScales
  if (scales.every((scale) => set.includes(scale)))
    return [
      {
        what,
        state: 'warning',
        detail: `${detail}. As models.dialects has it, it is not asked where an answer has such scores`,
        todo: `Nothing to do, if another model stands behind it in the chains of these roles; else these questions fail by name. ${anotherModelFor(roles)}`,
      },
    ]
  const effect =
    'its questions with such scores go to the next model of the chain, or fail by name, and no label rests on them'
  const setting = pasted(
    `models.dialects: { "${model}": { withoutScales: [${scales.map((one) => `"${one}"`).join(', ')}] } }`,
  )
  const todo = isKept
    ? `This is kept in Redis, and holds within seconds in all processes of the service: ${effect}. It ends when this check finds the scores right, and does not hold where models.dialects says otherwise. Commands without Redis need the setting:\n${setting}`
    : `With this ${effect}:\n${setting}`
  return [{ what, state: 'broken', detail, todo: `${todo}\n${anotherModelFor(roles)}` }]
}
