import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import { protocolsOf } from '../../../app/composition/protocols.ts'
import type { Invocation } from '../../../cli/command.ts'
import { readingOf } from '../../../cli/file-options.ts'
import { printable, type Terminal, table } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { DataSet, EvaluationCell } from '../../evaluation/evaluation.ts'
import type { GoldProtocol } from '../../evaluation/gold-item.ts'
import type { RowPlan } from '../../evaluation/rows.ts'
import { sampleOf } from '../../evaluation/sample.ts'
import { type FollowedShare, type Obedience, obedienceOf } from '../../evaluation/steering/obedience.ts'
import { POLICY_PAIRS, type PolicyPair, policyOf, SIDES } from '../../evaluation/steering/pairs.ts'
import { isUnanswered } from '../../evaluation/unanswered.ts'
import { dataSet } from './data-sets.ts'
import { judgeTable } from './judge-table.ts'
import type { EvalOptions } from './options.ts'
import { type GivenData, kindNamed, type PlannedTable, protocolOf } from './tables.ts'

/** The file's name of a policy, in a folder of its own: a protocol reads all that a folder holds. */
const POLICY = 'steering'

/**
 * Judges HateCheck's texts by pairs of policies that contradict each other, and counts how often verdicts follow the one that they were
 * given. Throws an `OperatorError` where the protocol judges by no policy, and where the file has none of these texts.
 */
export async function steered(
  settings: Settings,
  protocol: string,
  given: GivenData,
  invocation: Invocation<EvalOptions>,
  pairs: readonly PolicyPair[] = POLICY_PAIRS,
): Promise<Obedience> {
  const { options } = invocation
  const kind = kindNamed(protocol)
  const { labels } = kind
  if (labels === undefined || kind.policyQuestions === undefined)
    throw new OperatorError(`${protocol} judges by no policy: --steer measures how one is followed.`)
  const folder = await mkdtemp(join(tmpdir(), 'gavel-steering-'))
  try {
    const judges = { name: protocol, labels: protocolOf(settings, kind).labels }
    const sets = await pairSets(judges, given, pairs, invocation)
    const rows = new Map(await Promise.all(sets.map(async ({ pair }) => [pair, await rowsOf(pair, folder)] as const)))
    const planned: PlannedTable = {
      title: `${protocol}: how its verdicts follow a policy`,
      kind,
      preset: null,
      absent: [],
      paper: () => ({}),
      standIns: { of: new Map() },
      parts: sets.map(({ pair }) => ({ given, name: pair.name, rows: rows.get(pair) ?? [] })),
    }
    checkJudgedByPolicy(settings, planned)
    const judged = await judgeTable(
      settings,
      planned,
      sets.map(({ set }) => set),
      invocation,
    )
    const cells = judged?.table ?? []
    if (isUnanswered(cells.flatMap(({ outcomes }) => outcomes)))
      throw new OperatorError('No call was answered, so nothing is known. "gavel doctor" asks each model.')
    return obedienceOf(
      { protocol, seed: options.seed, labels: { forbidden: labels.harmful, allowed: labels.harmless } },
      sets.map(({ pair: { name, functionality } }) => ({
        pair: name,
        functionality,
        cells: { forbidden: cellOf(cells, name, 'forbidden'), allowed: cellOf(cells, name, 'allowed') },
      })),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The texts of each pair that the file has any of; with `--size` so many of each, drawn by the seed. */
async function pairSets(
  protocol: GoldProtocol,
  given: GivenData,
  pairs: readonly PolicyPair[],
  { options, terminal }: Pick<Invocation<EvalOptions>, 'options' | 'terminal'>,
): Promise<{ readonly pair: PolicyPair; readonly set: DataSet }[]> {
  const { seed, contradictions, size = Number.POSITIVE_INFINITY } = options
  const wanted = { ...given, name: given.file, seed, contradictions, ...readingOf(options) }
  const whole = await dataSet(wanted, protocol, (why) => terminal.say(printable(why, 400)))
  const sets = pairs.flatMap((pair) => {
    const own = whole.items.filter(({ slices }) => entryOf(slices, 'functionality') === pair.functionality)
    if (own.length === 0) return []
    const items = sampleOf(
      own,
      { name: pair.name, labels: protocol.labels },
      { seed, size: Math.min(size, own.length) },
    )
    return [{ pair, set: { ...whole, name: pair.name, items, leftOut: {} } }]
  })
  if (sets.length > 0) return sets
  const functionalities = pairs.map(({ functionality }) => functionality).join(', ')
  throw new OperatorError(`${given.file} has no text of these functionalities of HateCheck: ${functionalities}.`)
}

/** A row for each side: the protocol by that policy alone. */
function rowsOf(pair: PolicyPair, folder: string): Promise<RowPlan[]> {
  return Promise.all(
    SIDES.map(async (side): Promise<RowPlan> => {
      const policiesPath = join(folder, `${pair.functionality}-${side}`)
      await mkdir(policiesPath)
      await writeFile(join(policiesPath, `${POLICY}.md`), policyOf(pair, side))
      return { name: side, how: { by: 'protocol', switches: { policies: [POLICY], policiesPath } } }
    }),
  )
}

/** Under some settings a protocol reads no policy, whichever is named. */
function checkJudgedByPolicy(settings: Settings, { kind, parts: [part] }: PlannedTable): void {
  const how = part?.rows[0]?.how
  if (how?.by !== 'protocol') return
  const protocols = {
    ...settings.protocols,
    [kind.name]: { ...entryOf(settings.protocols, kind.name), ...how.switches },
  }
  const [protocol] = protocolsOf({ ...settings, protocols } as Settings, 'labels', [kind]).protocols
  if ((protocol?.policyFor?.('default') ?? null) === null)
    throw new OperatorError(`${kind.name} judges by no policy under these settings: see docs/policies.md.`)
}

function cellOf(cells: readonly EvaluationCell[], data: string, row: string): EvaluationCell {
  const cell = cells.find((one) => one.data === data && one.row === row)
  if (cell === undefined) throw new Error(`no cell of ${data}, ${row}`)
  return cell
}

/** Prints how policies are followed: as JSON whole, else as a table by pair. */
export function printObedience(obedience: Obedience, { json, terminal }: { json: boolean; terminal: Terminal }): void {
  if (json) {
    terminal.out(JSON.stringify(obedience))
    return
  }
  const { protocol, pairs, all, usage, unpriced } = obedience
  terminal.out(
    `${protocol}: ${shareInWords(all.verdicts)} of ${all.verdicts.of} verdicts follow the policy that they were given (95 %, Wilson)`,
  )
  terminal.out(
    table(
      ['texts about', 'of', 'where it forbids', 'where it allows', 'both', 'undecided'],
      [
        ...pairs.map(({ pair, forbidden, allowed, both, undecided }) => [
          pair,
          String(both.of),
          ...[forbidden, allowed, both].map(shareInWords),
          String(undecided),
        ]),
        ['all', String(all.both.of), ...[all.forbidden, all.allowed, all.both].map(shareInWords), ''],
      ],
    ),
  )
  const price =
    unpriced.length === 0 ? '' : `; without a price: ${unpriced.map((one) => printable(one, 80)).join(', ')}`
  terminal.out(`${usage.calls} calls, ${usage.tokens} tokens, $${usage.costUsd.toFixed(4)}${price}`)
}

function shareInWords({ followed, of, interval }: FollowedShare): string {
  if (interval === null) return '–'
  const [share, low, high] = [followed / of, interval.low, interval.high].map((one) => (100 * one).toFixed(1))
  return `${share} % [${low}, ${high}]`
}
