import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import type { ShadowVerdict } from '../../../contracts/facts/shadow-verdict.ts'
import { type ComparedVerdict, comparedSides, variantComparison } from '../../../contracts/facts/variant-comparison.ts'
import { whatIfReport } from '../../../contracts/facts/what-if-report.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import type { TopicHistory } from '../../../contracts/ports/topic.ts'
import type { KeptWhatIf, RampTrial, ShadowTrial, TrialDesk, TrialFilter } from '../../../contracts/ports/trials.ts'
import { type RecordedCase, recordedCases } from '../../../record/recorded-cases.ts'
import { newestRanges } from '../../../stream/bounded-reader.ts'
import type { JudgedRamp } from './set-ramp.ts'
import { shadowVerdictsIn } from './shadow-verdicts.ts'

/** Most verdicts of a protocol that are counted, each of which is read whole, and most shadow verdicts: the newest. */
const [MOST_CASES, MOST_COUNTED] = [5_000, 10_000]
/** Longest reading of the topic, in ms. */
const WITHIN_MS = 30_000
/** Subjects whose labels by people are looked up at once. */
const AT_ONCE = 200
/** Most reports that are shown, and the longest, in bytes. */
const [MOST_REPORTS, MOST_BYTES] = [20, 64 * 1024 ** 2]

/** Trials as the record, the topic of shadow verdicts and the folder of reports have them. */
export function trialDesk(
  settings: Settings,
  of: {
    readonly reader: Pick<RecordReader, 'find'>
    readonly ramps: () => readonly JudgedRamp[]
    /** Null: there is no Kafka here. */
    readonly historyUntil: ((signal: AbortSignal) => Promise<TopicHistory>) | null
  },
): TrialDesk {
  const { reader, ramps, historyUntil } = of
  return {
    async ramps(filter) {
      const byProtocol = Map.groupBy(ramps(), ({ protocol }) => protocol)
      const found = await Promise.all(
        [...byProtocol].map(([protocol, own]) => rampTrials(reader, protocol, own, filter)),
      )
      return { trials: found.flatMap(({ trials }) => trials), isCut: found.some(({ isCut }) => isCut) }
    },
    shadows:
      historyUntil === null
        ? null
        : async (filter, signal) => {
            const history = await historyUntil(AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]))
            return shadowTrials(reader, history, topicsOf(settings).shadowVerdicts, filter)
          },
    whatIfs: (tenants) => reportsIn(settings.console.whatIfPath, tenants),
  }
}

async function rampTrials(
  reader: Pick<RecordReader, 'find'>,
  protocol: string,
  ramps: readonly JudgedRamp[],
  filter: TrialFilter,
): Promise<{ trials: readonly RampTrial[]; isCut: boolean }> {
  const cases: RecordedCase[] = []
  for await (const one of recordedCases(reader, { protocol, ...filter })) {
    cases.push(one)
    if (cases.length >= MOST_CASES) break
  }
  const at = ({ verdict }: RecordedCase) => Date.parse(verdict.timing.decidedAt)
  const trials = ramps.map(({ variant, judges }) => {
    const own = cases.filter(({ verdict }) => verdict.variant === variant)
    const begun = own.length === 0 ? null : Math.min(...own.map(at))
    const others = cases.filter((one) => one.verdict.variant !== variant && (begun === null || at(one) >= begun))
    return { protocol, variant, ramp: judges, begun, sides: comparedSides(others.map(sideOf), own.map(sideOf)) }
  })
  return { trials, isCut: cases.length >= MOST_CASES }
}

function sideOf({ verdict, person }: RecordedCase): ComparedVerdict {
  const { label, degraded, usage } = verdict
  return { label, isDegraded: degraded.length > 0, costUsd: usage.costUsd, person }
}

async function shadowTrials(
  reader: Pick<RecordReader, 'find'>,
  history: TopicHistory,
  topic: string,
  { since, tenants }: TrialFilter,
): Promise<{ trials: readonly ShadowTrial[]; isCut: boolean }> {
  const { ranges, isCut } = newestRanges(await history.rangesOf(topic, since), MOST_COUNTED)
  const all = await shadowVerdictsIn(history, topic, ranges)
  const seen = all.filter(({ tenant }) => tenants?.includes(tenant) ?? true)
  const trials: ShadowTrial[] = []
  for (const own of Map.groupBy(seen, ({ protocol, variant }) => JSON.stringify([protocol, variant])).values()) {
    const [{ protocol, variant } = { protocol: '', variant: '' }] = own
    const people = await labelsOfPeople(reader, protocol, own)
    const comparison = variantComparison(variant, own, (one) => people.get(subjectOf(one.tenant, one)) ?? null)
    trials.push({ protocol, comparison })
  }
  return { trials, isCut }
}

/** By subject, the label of the verdict that people gave it and that stands. */
async function labelsOfPeople(
  reader: Pick<RecordReader, 'find'>,
  protocol: string,
  of: readonly ShadowVerdict[],
): Promise<ReadonlyMap<string, string>> {
  const labels = new Map<string, string>()
  const ids = [...new Set(of.map(({ subjectId }) => subjectId))]
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const subject = ids.slice(from, from + AT_ONCE)
    for (const { verdict, subject: ref } of await reader.find({ protocol, subject, standing: true }, 5 * AT_ONCE))
      if (verdict.decidedBy === 'human' && verdict.label !== null)
        labels.set(subjectOf(ref.tenant, { subjectKind: ref.kind, subjectId: ref.postId }), verdict.label)
  }
  return labels
}

function subjectOf(
  tenant: string,
  { subjectKind = 'post', subjectId }: { readonly subjectKind?: string | undefined; readonly subjectId: string },
): string {
  return JSON.stringify([tenant, subjectKind, subjectId])
}

/** What can't be read is no report of this version, or is being written. */
async function reportsIn(folder: string, tenants: readonly string[] | undefined): Promise<KeptWhatIf[]> {
  const names = await readdir(folder).catch(() => [])
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name, 'report.json')
      const found = await stat(path).catch(() => null)
      return found?.isFile() === true && found.size <= MOST_BYTES ? [{ name, path, at: found.mtimeMs }] : []
    }),
  )
  const kept: KeptWhatIf[] = []
  for (const { name, path, at } of files.flat().toSorted((one, other) => other.at - one.at)) {
    const read = whatIfReport.safeParse(jsonOf({ value: await readFile(path, 'utf8').catch(() => '') }))
    if (read.success && isOf(read.data.flips.tenants, tenants)) kept.push({ name, at, report: read.data })
    if (kept.length >= MOST_REPORTS) break
  }
  return kept
}

/** Whether a report is about these tenants alone. */
function isOf(all: readonly { readonly value: string | null }[], tenants: readonly string[] | undefined): boolean {
  return (
    tenants === undefined || (all.length > 0 && all.every(({ value }) => value !== null && tenants.includes(value)))
  )
}
