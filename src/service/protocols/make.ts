import { isAbsolute } from 'node:path'
import { loadFiles } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Curation } from '../domain/curation.ts'
import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import type { Fence } from '../domain/fence.ts'
import type { SamplingRank } from '../domain/sampling-rank.ts'
import type { Protocol } from '../engine/script.ts'
import type { ProtocolKind } from './kind.ts'
import { fenceUnder, presetIn } from './preset.ts'
import { PROTOCOLS } from './registry.ts'

/** The protocols that the settings switch on. Throws an `OperatorError` that names every fault in their files. */
export function makeProtocols(
  settings: Settings['protocols'],
  fence: Fence,
  samplingRank: SamplingRank,
  kinds: readonly ProtocolKind[] = PROTOCOLS,
): Protocol[] {
  const faults: string[] = []
  const made = kinds.flatMap((kind) => {
    const { enabled, ...own } = entryOf(settings, kind.name) ?? { enabled: false }
    if (!enabled) return []
    try {
      const parts = { settings: own, fence: fenceUnder(presetIn(own), fence), samplingRank, files: loadFiles }
      return [kind.make({ ...parts, prompts: promptsOf(kind.name) })]
    } catch (error) {
      for (const line of String(error instanceof Error ? error.message : error).split('\n'))
        faults.push(line.startsWith('config/') || isAbsolute(line) ? line : `config/prompts/${kind.name}/${line}`)
      return []
    }
  })
  if (faults.length > 0) throw new OperatorError(`The protocols' files have faults:\n  ${faults.join('\n  ')}`)
  return made
}

/** How each protocol's cases are learnt from, by its name; protocols that do not learn are left out. */
export function makeCurations(
  settings: Settings['protocols'],
  fence: Fence,
  kinds: readonly ProtocolKind[] = PROTOCOLS,
): ReadonlyMap<string, Curation> {
  const prompts = promptsOf('curator')
  return new Map(
    kinds.flatMap((kind) => {
      if (kind.curation === undefined) return []
      const preset = presetIn(entryOf(settings, kind.name))
      return [[kind.name, kind.curation({ preset, prompts, fence: fenceUnder(preset, fence) })]]
    }),
  )
}

/** A protocol's prompt files by name, without their ending. */
export function promptsOf(protocol: string): ReadonlyMap<string, string> {
  const files = [...loadFiles(`prompts/${protocol}`)].filter(([name]) => name.endsWith('.md'))
  return new Map(files.map(([name, text]) => [name.slice(0, -'.md'.length), text]))
}
