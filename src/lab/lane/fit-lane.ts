import { type CalibrationMap, calibrated, calibrationMap } from '../../protocols/calibration-map.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import { CANDIDATES, certified, fewestItems, type SettledCount, tail, upperBound } from './threshold-test.ts'

/** An item that people labelled, and what a decider said of it; null where it said nothing. */
export interface DecidedItem {
  readonly id: string
  /** Its own, and one that it shares with items that say the same, or that were sampled together. */
  readonly keys: readonly string[]
  readonly lang: string
  readonly gold: string
  readonly said: { readonly label: string; readonly confidence: number } | null
}

/** What is promised, and what it takes to promise it. */
export interface LanePromise {
  /** Most answers that may be wrong, of all that are settled for a label in a language. */
  readonly risk: number
  /** The chance that any of the thresholds breaks that. */
  readonly delta: number
  /** The least share of items that must be settled. */
  readonly coverage: number
}

/** A threshold with its promise. */
export interface LaneThreshold {
  readonly label: string
  readonly lang: string
  /** The least calibrated confidence that settles. */
  readonly from: number
  readonly map: CalibrationMap
  /** Of the tested items so many reach it, and so many of them are wrong. */
  readonly items: number
  readonly errors: number
  /** The exact upper bound of the share that is wrong. */
  readonly atMost: number
}

/** A label in a language, and what became of it. */
export interface LaneGroup {
  readonly label: string
  readonly lang: string
  /** Tested items for which the decider said this label. */
  readonly tested: number
  /** Of these so many have another label. */
  readonly wrong: number
  /** Null where nothing is certified; `why` is the reason. */
  readonly threshold: LaneThreshold | null
  readonly why: string | null
}

export interface LaneFit {
  readonly promise: LanePromise
  /** Independent items: those with the same words, or sampled together, are one. */
  readonly independent: number
  readonly calibrating: number
  readonly tested: number
  /** Of the tested ones, without an answer of the decider. */
  readonly unanswered: number
  /** Groups among which `delta` is divided. */
  readonly among: number
  readonly groups: readonly LaneGroup[]
  /** The share of tested items that the thresholds settle. */
  readonly coverage: number
  readonly accepted: boolean
  /** About so many further labelled items would do, if they are as these; null where it is accepted, or no number helps. */
  readonly needed: number | null
}

/** The share of items by which confidences are calibrated; the others test thresholds. */
const CALIBRATING = 1 / 3

/**
 * Thresholds of a decider for each label that it gives in each language, with the promise that of the distinct texts that a threshold
 * settles at most `risk` is wrong: with a chance of at most `delta` does any of them break it (over draws of the data). It holds for items like
 * these, drawn one by one. Which groups are tested is known from the decider's answers alone, and each is tested at an equal share of `delta`.
 */
export function fitLane(items: readonly DecidedItem[], promise: LanePromise, seed: string | number): LaneFit {
  // By their ids, so that the file's order does not matter.
  const ordered = items.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const independent = grouped(seededRandom(seed).shuffled(ordered))
  const cut = Math.round(independent.length * CALIBRATING)
  const [calibrating, tested] = [firstOf(independent.slice(0, cut)), firstOf(independent.slice(cut))]
  const strata = strataOf(calibrating, tested, ordered)
  const { among, groups, settled } = certifiedGroups(strata, promise, 1)
  const coverage = tested.length === 0 ? 0 : settled / tested.length
  const accepted = settled > 0 && coverage >= promise.coverage
  return {
    promise,
    independent: independent.length,
    calibrating: calibrating.length,
    tested: tested.length,
    unanswered: tested.filter(({ said }) => said === null).length,
    among,
    groups,
    coverage,
    accepted,
    needed: accepted ? null : furtherItems(strata, promise, { tested: tested.length, all: independent.length }),
  }
}

/**
 * Items that are connected by keys, each time in the items' order, which is random: labels don't choose which is the first. The order of
 * groups is that of their items with the least ids, so that a text that is repeated comes no sooner than others.
 */
function grouped(items: readonly DecidedItem[]): DecidedItem[][] {
  const parents = new Map<string, string>()
  const rootOf = (key: string): string => {
    let root = key
    for (let above = parents.get(root); above !== undefined; above = parents.get(root)) root = above
    if (root !== key) parents.set(key, root)
    return root
  }
  for (const { keys } of items) {
    const [first = '', ...others] = keys
    // What is new goes under what is known: a unit of many items is no chain.
    for (const other of others) if (rootOf(other) !== rootOf(first)) parents.set(rootOf(first), rootOf(other))
  }
  const groups = [...Map.groupBy(items, ({ keys: [key = ''] }) => rootOf(key)).values()]
  const places = new Map(items.map(({ id }, place) => [id, place]))
  const placeOf = (group: readonly DecidedItem[]) => places.get(group.map(({ id }) => id).sort()[0] ?? '') ?? 0
  const placed = groups.map((group) => ({ group, place: placeOf(group) }))
  return placed.sort((one, other) => one.place - other.place).map(({ group }) => group)
}

function firstOf(groups: readonly DecidedItem[][]): DecidedItem[] {
  return groups.flatMap(([first]) => first ?? [])
}

/** A label in a language: its map, and by candidate what it settles of both parts of the data. */
interface Stratum {
  readonly label: string
  readonly lang: string
  readonly map: CalibrationMap
  readonly tested: number
  /** Items of the tested part to one of the calibrating part. */
  readonly ratio: number
  readonly planned: readonly SettledCount[]
  readonly settled: readonly SettledCount[]
  /** What it settles of all items: what spreads weighs as much as it does in the stream. */
  readonly withCopies: readonly SettledCount[]
}

interface GroupedAnswer {
  readonly label: string
  readonly lang: string
  readonly confidence: number
  readonly right: boolean
}

function strataOf(
  calibrating: readonly DecidedItem[],
  tested: readonly DecidedItem[],
  items: readonly DecidedItem[],
): Stratum[] {
  const answersIn = (items: readonly DecidedItem[]) =>
    Map.groupBy(
      items.flatMap(({ said, lang, gold }): GroupedAnswer[] =>
        said === null ? [] : [{ ...said, lang, right: said.label === gold }],
      ),
      ({ label, lang }) => JSON.stringify([label, lang]),
    )
  const [known, all] = [answersIn(calibrating), answersIn(items)]
  return [...answersIn(tested)]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, answers]) => {
      const [first] = answers
      if (first === undefined) return []
      const learnt = known.get(name) ?? []
      const map = calibrationMap(learnt)
      const settledOf = (of: readonly GroupedAnswer[]) =>
        settledBy(of.map((one) => ({ worth: calibrated(map, one.confidence), right: one.right })))
      const { label, lang } = first
      const ratio = learnt.length === 0 ? 0 : answers.length / learnt.length
      return [
        {
          label,
          lang,
          map,
          tested: answers.length,
          ratio,
          planned: settledOf(learnt),
          settled: settledOf(answers),
          withCopies: settledOf(all.get(name) ?? []),
        },
      ]
    })
}

/** What each candidate settles: all that it holds to be worth as much, or more. */
function settledBy(answers: readonly { readonly worth: number; readonly right: boolean }[]): SettledCount[] {
  const first = Map.groupBy(answers, ({ worth }) => CANDIDATES.findIndex((from) => worth >= from))
  let [items, errors] = [0, 0]
  return CANDIDATES.map((_, at) => {
    const more = first.get(at) ?? []
    items += more.length
    errors += more.filter(({ right }) => !right).length
    return { items, errors }
  })
}

/** The groups as they would be with `times` as many items of each kind. */
function certifiedGroups(strata: readonly Stratum[], { risk, delta }: LanePromise, times: number) {
  const isEnough = ({ tested }: Stratum, among: number) => tested * times >= fewestItems(risk, delta / among)
  const among = Math.max(1, strata.filter((stratum) => isEnough(stratum, Math.max(1, strata.length))).length)
  const each = delta / among
  const scaled = (settled: readonly SettledCount[], by: number) =>
    settled.map(({ items, errors }) => ({ items: Math.round(items * by), errors: Math.ceil(errors * by) }))
  let total = 0
  const groups = strata.map((stratum): LaneGroup => {
    const { label, lang, map, tested, ratio } = stratum
    // The loosest candidate settles all.
    const wrong = stratum.settled.at(-1)?.errors ?? 0
    const none = (why: string) => ({ label, lang, tested, wrong, threshold: null, why })
    if (!isEnough(stratum, Math.max(1, strata.length)))
      return none(
        `${tested} tested answers are too few: it takes ${fewestItems(risk, delta / Math.max(1, strata.length))}, all of them right`,
      )
    const settled = times === 1 ? stratum.settled : scaled(stratum.settled, times)
    const { first, last: at } = certified(settled, scaled(stratum.planned, ratio * times), { risk, delta: each })
    const reached = at === null ? undefined : settled[at]
    if (at === null || reached === undefined) return none(whyNone(settled, { first, risk, each }))
    // The test is of distinct texts; one that everybody repeats is one of these, and most of what is settled.
    const copies = stratum.withCopies[at] ?? { items: 0, errors: 0 }
    if (copies.errors > risk * copies.items)
      return none(
        `its answers can be promised of distinct texts alone: with copies counted ${copies.errors} of ${copies.items} are wrong, and ${100 * risk} % was to be promised`,
      )
    total += reached.items / times
    const threshold = { label, lang, from: CANDIDATES[at] ?? 1, map, ...reached, atMost: upperBound(reached, each) }
    return { label, lang, tested, wrong, threshold, why: null }
  })
  return { among, groups, settled: total }
}

/** The test has failed at its first candidate; what comes after it is not tested, whatever it would have shown. */
function whyNone(
  settled: readonly SettledCount[],
  { first, risk, each }: { first: number; risk: number; each: number },
): string {
  const { items, errors } = settled[first] ?? { items: 0, errors: 0 }
  const bound = (100 * upperBound({ items, errors }, each)).toFixed(1)
  const said =
    items === 0
      ? 'no answer is as sure as where the test begins'
      : `of its surest ${items} answers ${errors} are wrong: that may be up to ${bound} %, and ${100 * risk} % was to be promised`
  const passing = settled.find((one, at) => at > first && tail(one, risk) <= each)
  return passing === undefined
    ? said
    : `${said}; ${passing.errors} of ${passing.items} would do, but a test that has failed goes no further`
}

/** Growth of the number of items from one try to the next, and where nobody would label so many. */
const [GROWTH, MOST_TIMES] = [1.1, 200]

/** About how many further items it takes, if they are as these: null where even very many don't help. */
function furtherItems(
  strata: readonly Stratum[],
  promise: LanePromise,
  { tested, all }: { tested: number; all: number },
): number | null {
  for (let times = GROWTH; times <= MOST_TIMES; times *= GROWTH) {
    const { settled } = certifiedGroups(strata, promise, times)
    if (settled > 0 && settled / tested >= promise.coverage) return Math.ceil(all * (times - 1))
  }
  return null
}
