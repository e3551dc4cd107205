import { loadPromptFiles } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { OperatorError } from '../domain/errors.ts'
import type { Fence } from '../domain/fence.ts'
import type { Protocol } from '../engine/script.ts'
import { PROTOCOLS } from './registry.ts'

/** The protocols that the settings switch on. Throws an `OperatorError` that names every fault in their prompt files. */
export function makeProtocols(settings: Settings['protocols'], fence: Fence): Protocol[] {
  const faults: string[] = []
  const made = PROTOCOLS.flatMap((kind) => {
    const { enabled, ...own } = settings[kind.name] ?? { enabled: false }
    if (!enabled) return []
    try {
      return [kind.make({ settings: own, prompts: loadPromptFiles(kind.name), fence })]
    } catch (error) {
      for (const line of String(error instanceof Error ? error.message : error).split('\n'))
        faults.push(`config/prompts/${kind.name}/${line}`)
      return []
    }
  })
  if (faults.length > 0) throw new OperatorError(`The prompts have faults:\n  ${faults.join('\n  ')}`)
  return made
}
