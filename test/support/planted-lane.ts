import { writeFileSync } from 'node:fs'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import { questionIn } from '../../src/lab/commands/lane/asked-decider.ts'
import type { LaneFile } from '../../src/protocols/lane-file.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'

/** Protocols that may have a lane, with their labels, the harmful one first. */
export const LANE_LABELS = { hate: ['hate', 'non-hate'], safety: ['unsafe', 'safe'] } as const
export type LaneProtocol = keyof typeof LANE_LABELS

/** The protocol by the shipped settings but for these, alone, where this model has the role `decider`. */
export function protocolWith(name: string, own: Readonly<Record<string, unknown>> = {}, decider = 'nobody') {
  const settings = askedOf(decider)
  const { protocols } = settings
  const given = Object.fromEntries(
    Object.entries(protocols).map(([one, was]) => [
      one,
      one === name ? { ...was, ...own } : { ...was, enabled: false },
    ]),
  ) as typeof protocols // The settings' own, with switches that are checked as they are read.
  const [made] = makeProtocols(given, fences('tests', settings.fences), samplingRanks('tests'), PROTOCOLS, settings)
  if (made === undefined) throw new Error('nothing was made')
  return made
}

/** The shipped settings, where this model has the role. */
function askedOf(model: string) {
  const settings = loadSettings({})
  return { ...settings, models: { ...settings.models, roles: { decider: [model] } } }
}

/** A lane that holds by the shipped settings: of this model, each label from 0.9 on, of which 98 % are right. */
export function plantedLane(name: LaneProtocol, model: string, lang = 'en'): LaneFile {
  const kind = PROTOCOLS.find((one) => one.name === name)
  if (kind === undefined) throw new Error(name)
  return {
    schema: 1,
    protocol: name,
    decider: { model, wire: 'chat', answers: 'a', prompts: questionIn(askedOf(model), kind).promptsHash },
    policy: protocolWith(name).policyFor?.('default')?.named ?? null,
    data: { sha256: 'd', items: 1_000 },
    promise: { risk: 0.05, delta: 0.05, coverage: 0.1, among: 2 },
    settles: 0.4,
    thresholds: LANE_LABELS[name].map((label) => ({
      label,
      lang,
      from: 0.95,
      map: { method: 'isotonic', steps: [{ from: 0.9, right: 0.98 }] },
      items: 100,
      errors: 0,
      atMost: 0.04,
    })),
  }
}

/** The lane as a file. */
export function writtenLane(path: string, lane: unknown): string {
  writeFileSync(path, typeof lane === 'string' ? lane : JSON.stringify(lane))
  return path
}
