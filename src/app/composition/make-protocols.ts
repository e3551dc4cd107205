import { readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { layeredFiles, loadFiles } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import type { Curation } from '../../contracts/facts/curation.ts'
import type { Dialect } from '../../contracts/facts/dialect.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Fence } from '../../contracts/facts/fence.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { isOfVariant } from '../../contracts/facts/variant-draw.ts'
import type { Ruling } from '../../contracts/facts/verdict.ts'
import { UNKNOWN_CONFIDENCE, type VerdictConfidence } from '../../contracts/facts/verdict-fields.ts'
import { otherShape } from '../../judging/engine/generations.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { chainOf } from '../../models/fallback.ts'
import { dialectLookup } from '../../models/openai/models-of-endpoints.ts'
import { deciderQuestion } from '../../protocols/decider-question.ts'
import type { ProtocolKind, ProtocolParts } from '../../protocols/kind.ts'
import { type Lane, readLane } from '../../protocols/lane-file.ts'
import { fenceUnder, presetIn } from '../../protocols/preset.ts'
import { laneFiles, PROTOCOLS, variantsSettings } from '../../protocols/registry.ts'
import { withLanes } from '../../protocols/with-lane.ts'

/** The protocols that the settings switch on; without models their first lanes ask nobody. Throws an `OperatorError` that names every fault in their settings and files. */
export function makeProtocols(
  settings: Settings['protocols'],
  fence: Fence,
  samplingRank: SamplingRank,
  kinds: readonly ProtocolKind[] = PROTOCOLS,
  models?: Pick<Settings, 'openai' | 'endpoints' | 'models'>,
): Protocol[] {
  const faults: string[] = []
  const made = kinds.flatMap((kind) => {
    const given = entryOf(settings, kind.name)
    if (given?.enabled !== true) return []
    try {
      const decider = models === undefined ? undefined : deciderIn(models, kind.name)
      const make = (its: Settings['protocols'][string]) => makeOne(kind, its, { fence, samplingRank, decider })
      const own = make(given)
      return [{ ...own, ...variantsOf({ kind, given, own, make, samplingRank }, faults) }]
    } catch (error) {
      faults.push(...faultsIn(error, kind.name))
      return []
    }
  })
  if (faults.length > 0) throw new OperatorError(`The protocols have faults:\n  ${faults.join('\n  ')}`)
  return made
}

/** Who has the role, by its name in settings, and how it is asked. */
interface DeciderInUse {
  readonly asked: string
  readonly dialect: Dialect
}

function deciderIn(
  settings: Pick<Settings, 'openai' | 'endpoints' | 'models'>,
  protocol: string,
): DeciderInUse | undefined {
  const [asked] = chainOf(settings.models.roles, protocol, 'decider')
  return asked === undefined ? undefined : { asked, dialect: dialectLookup(settings)(asked) }
}

function makeOne(
  kind: ProtocolKind,
  given: Settings['protocols'][string],
  {
    fence,
    samplingRank,
    decider,
  }: { readonly fence: Fence; readonly samplingRank: SamplingRank; readonly decider: DeciderInUse | undefined },
): Protocol {
  const files = filePartsOf(kind, given)
  const preset = presetIn(files.settings)
  const parts = { ...files, fence: fenceUnder(preset, fence), samplingRank }
  const own = kind.make(parts)
  const harmful = kind.labels?.harmful
  const lanes = preset === 'paper' || harmful === undefined ? [] : lanesOf(kind, given)
  const made =
    lanes.length === 0 || harmful === undefined
      ? own
      : withLanes(own, {
          list: lanes,
          asked: decider?.asked,
          over: decider?.dialect.decisions,
          question: deciderQuestion(kind, parts, decider?.dialect),
          harmful,
          fence: parts.fence,
        })
  return {
    ...made,
    ...(harmful === undefined ? {} : { harmful }),
    confidence: (ruling: Ruling) => confidenceOf(kind, ruling),
  }
}

/** The first lanes that a protocol's settings name. Throws one error that names every fault. */
function lanesOf({ name }: Pick<ProtocolKind, 'name'>, given: Settings['protocols'][string]): Lane[] {
  const paths = laneFiles.parse(entryOf(given, 'lane') ?? [])
  const faults: string[] = []
  const tenants = new Map<string | undefined, string>()
  const lanes = paths.flatMap((path) => {
    try {
      const lane = readLane(readFileSync(path, 'utf8'))
      if (lane.protocol !== name) faults.push(`${path} is for ${lane.protocol}`)
      const other = tenants.get(lane.tenant)
      if (other !== undefined) faults.push(`${path} is for the same tenant as ${other}`)
      tenants.set(lane.tenant, path)
      return [lane]
    } catch (error) {
      faults.push(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`)
      return []
    }
  })
  if (faults.length > 0)
    throw new z.ZodError(faults.map((message) => ({ code: 'custom' as const, path: ['lane'], message, input: paths })))
  return lanes
}

/** The protocol's variants, and which subjects they judge; what is wrong with one is added to `faults`. */
function variantsOf(
  {
    kind,
    given,
    own,
    make,
    samplingRank: rank,
  }: {
    readonly kind: ProtocolKind
    readonly given: Settings['protocols'][string]
    readonly own: Protocol
    readonly make: (given: Settings['protocols'][string]) => Protocol
    readonly samplingRank: SamplingRank
  },
  faults: string[],
): Pick<Protocol, 'variants' | 'variantFor'> {
  const ramps = Object.entries(variantsSettings.parse(entryOf(given, 'variants') ?? {})).flatMap(
    ([variant, { ramp, ...switches }]) => {
      const path = `protocols.${kind.name}.variants.${variant}`
      try {
        const made = make({ ...given, ...switches })
        const other = otherShape(own, made)
        if (other === undefined) return [{ share: ramp, protocol: { ...made, variant } }]
        faults.push(`${path}: has other ${other} than the protocol, which a variant can't have`)
      } catch (error) {
        faults.push(...faultsIn(error, kind.name).map((line) => `${path}: ${line}`))
      }
      return []
    },
  )
  if (ramps.length === 0) return {}
  return {
    variants: ramps.map(({ protocol }) => protocol),
    // Who asks apart from the stream has the settings that most subjects have.
    variantFor: (ref) =>
      ref.kind === 'asked'
        ? undefined
        : ramps.find(({ share, protocol: { variant = '' } }) => isOfVariant(variant, own.name, ref, { share, rank }))
            ?.protocol,
  }
}

/** Without variants: of what is judged once, apart from a service. */
export function withoutVariants(protocols: Settings['protocols']): Settings['protocols'] {
  return Object.fromEntries(Object.entries(protocols).map(([name, own]) => [name, { ...own, variants: {} }]))
}

function confidenceOf(kind: ProtocolKind, ruling: Ruling): VerdictConfidence {
  const value = kind.confidence?.({ ...ruling, models: ruling.models ?? {} }) ?? null
  return value === null ? UNKNOWN_CONFIDENCE : { value, how: kind.confidenceFrom ?? null }
}

/** What is wrong, a line each, with the setting or the file that it is in. */
function faultsIn(error: unknown, protocol: string): string[] {
  if (error instanceof z.ZodError)
    return error.issues.map(({ path, message }) => `${['protocols', protocol, ...path].join('.')}: ${message}`)
  return String(error instanceof Error ? error.message : error)
    .split('\n')
    .map((line) => (line.startsWith('config/') || isAbsolute(line) ? line : `config/prompts/${protocol}/${line}`))
}

/**
 * A protocol's own settings, without those that every protocol has, and its files: the shipped ones, and over them those of the
 * user's folders. Throws an `OperatorError` for a folder that can't be read, or a file in it that nothing reads.
 */
export function filePartsOf(
  { name, folders = [] }: Pick<ProtocolKind, 'name' | 'folders'>,
  given: Settings['protocols'][string],
): Pick<ProtocolParts, 'prompts' | 'files'> & { readonly settings: Readonly<Record<string, unknown>> } {
  const { enabled: _, variants: __, lane: ___, ...rest } = given
  const paths = new Map(['prompts', ...folders].map((folder) => [folder, entryOf(rest, `${folder}Path`)]))
  const isPath = (key: string) => key.endsWith('Path') && paths.has(key.slice(0, -'Path'.length))
  const settings = Object.fromEntries(Object.entries(rest).filter(([key]) => !isPath(key)))
  const files = (folder: string) => {
    const path = paths.get(folder === `prompts/${name}` ? 'prompts' : folder)
    if (typeof path !== 'string') return loadFiles(folder)
    const listed = entryOf(settings, folder)
    const ending = folder === 'policies' ? 'md' : 'yaml'
    return layeredFiles(folder, path, Array.isArray(listed) ? listed.map((one) => `${one}.${ending}`) : [])
  }
  return { settings, files, prompts: promptsIn(files(`prompts/${name}`)) }
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
  return promptsIn(loadFiles(`prompts/${protocol}`))
}

function promptsIn(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const prompts = [...files].filter(([name]) => name.endsWith('.md'))
  return new Map(prompts.map(([name, text]) => [name.slice(0, -'.md'.length), text]))
}
