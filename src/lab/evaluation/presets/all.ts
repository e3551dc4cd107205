import { OperatorError } from '../../../contracts/facts/errors.ts'
import { preset } from '../../../protocols/preset.ts'
import { AETHERIA } from './aetheria.ts'
import { CSEVAL_TABLES } from './cseval.ts'
import { PREDICT } from './predict.ts'
import type { PresetTable } from './preset.ts'
import { S2MAD } from './s2mad.ts'

/** The papers' tables and figures that can be judged again, by paper. */
export const PRESETS: readonly PresetTable[] = [...S2MAD, ...PREDICT, ...AETHERIA, ...CSEVAL_TABLES]

/** Throws an `OperatorError` that lists the presets if there is none of this name. */
export function presetNamed(name: string): PresetTable {
  const found = PRESETS.find((table) => table.name === name)
  if (found !== undefined) return found
  const names = PRESETS.map((table) => table.name).join(', ')
  const hint = preset.safeParse(name).success ? ` The protocol under ${name}: --protocol NAME --with ${name}.` : ''
  throw new OperatorError(`There is no preset "${name}". There are ${names}.${hint}`)
}
