import { failure, lookup } from '../../domain/ask.ts'
import type { Fence } from '../../domain/fence.ts'
import { type Found, problemsOf, withdrawnIn } from '../../domain/library.ts'
import { toldOdd } from '../../domain/odd-fields.ts'
import type { SamplingRank } from '../../domain/sampling-rank.ts'
import type { Post, Snapshot } from '../../domain/thread.ts'
import type { Ruling } from '../../domain/verdict.ts'
import { type Conclusion, round, type Script, type SubScript } from '../../engine/script.ts'
import { inOrder, isTurned } from '../order.ts'
import type { Prompts } from '../prompts.ts'
import { cutIn, unreadParts, withheldUnlessHarmful } from '../unread.ts'
import { ABSTAIN } from './answers.ts'
import { missingForNonHate } from './benign.ts'
import { type Perspective, SIDES, type Side } from './perspectives.ts'
import {
  type Argument,
  type Example,
  isDescribed,
  type Questions,
  questions,
  type References,
  type Turn,
  wordsOf,
} from './questions.ts'
import type { HateSettings } from './settings.ts'
import { pre, type Stance } from './stances.ts'

/** What decided, and how; `wrong` says in words what went wrong. */
type Decision = Pick<Ruling, 'label' | 'rationale' | 'decidedBy' | 'rounds'> & {
  readonly wrong: readonly string[]
  /** Turns of the debate that got no answer. */
  readonly lostTurns?: number
}

/**
 * PREDICT: five perspectives take a stance on the text, each by its criteria and similar contexts (PRE, Algorithm 1); two
 * debaters argue from the reasons of either side, and a judge decides (DICT, Algorithm 2).
 */
export function* predict(
  { post }: Snapshot,
  parts: {
    settings: HateSettings
    perspectives: readonly Perspective[]
    prompts: Prompts
    fence: Fence
    samplingRank: SamplingRank
  },
): Script {
  const { settings, perspectives, fence } = parts
  const text = wordsOf(post)
  if (text === '') return conclusion([], [], [], undecided('no words to judge'))

  const turned = isTurned(parts.samplingRank, text)
  const ask = questions(text, { ...parts, turned: settings.order === 'lot' && turned })
  const unread = unreadParts(post, [{ kind: 'text', text }], fence)
  const degraded = [...toldOdd(post.odd), ...unseen(post), ...unread]
  if (settings.decide === 'zero-shot') {
    const decision = yield* zeroShot(ask, settings)
    const { ruling } = conclusion([], [], degraded, decision)
    const asked = { asked: 1, sided: 1 }
    const missing = missingForNonHate(settings, { post, unread, perspectives: asked, lostTurns: 0 })
    return { ruling: withheldUnlessHarmful(ruling, 'hate', missing) }
  }

  const similar = yield* similarContexts(text, post, perspectives, settings, degraded)
  const stances = yield* pre(ask, perspectives, similar, settings, degraded)
  const agreed = settings.unanimous === 'decided' ? unanimous(stances, perspectives.length) : null
  const decision =
    settings.decide === 'majority'
      ? majority(stances, perspectives.length)
      : (agreed ?? (yield* dict(ask, stances, settings, inOrder(SIDES, settings.opens === 'lot' && turned))))
  const { ruling } = conclusion(stances, [...similar.values()].flat(), degraded, decision)
  const asked = { asked: perspectives.length, sided: stances.length }
  const missing = missingForNonHate(settings, { post, unread, perspectives: asked, lostTurns: decision.lostTurns ?? 0 })
  return { ruling: withheldUnlessHarmful(ruling, 'hate', missing) }
}

/** Algorithm 1, line 5, for all perspectives in one lookup: the nearest examples on each one's shelf. */
function* similarContexts(
  text: string,
  post: Post,
  perspectives: readonly Perspective[],
  settings: HateSettings,
  degraded: string[],
): SubScript<Map<Perspective, Example[]>> {
  const { lang } = post
  const shelves = shelvesOf(perspectives, settings)
  if (shelves.length === 0) return new Map()
  const wanted = { text, shelves, k: settings.examples, ...(lang === undefined ? {} : { lang }), ...cutIn(post) }
  const [found] = yield* round([lookup('retrieve', wanted)])
  if (!found.ok) {
    degraded.push(`retrieve failed: ${failure(found)}; judged without examples`)
    return new Map()
  }
  degraded.push(...troubles(found.answer, shelves))
  const similar = new Map(perspectives.map((one) => [one, examplesFor(one, found.answer, degraded)]))
  const foreign = perspectives.filter((one) => (similar.get(one) ?? []).length > 0 && differs(lang, one.lang))
  if (foreign.length > 0)
    degraded.push(
      `the text is said to be in ${lang}, the examples are not: ${foreign.map((one) => `${one.name} (${one.lang})`).join(', ')}`,
    )
  return similar
}

/** Algorithm 2: round 1 from the references, round 2 to refute or agree, then the judge, however the stances fell. */
function* dict(
  ask: Questions,
  stances: readonly Stance[],
  settings: HateSettings,
  [opener = 'non-hate', other = 'hate']: readonly Side[],
): SubScript<Decision> {
  const wrong: string[] = []
  const turns: Turn[] = []
  const reasonsOf = (side: Side) => stances.filter((stance) => stance.side === side).map(({ reason }) => reason)
  const references: References = { 'non-hate': reasonsOf('non-hate'), hate: reasonsOf('hate') }
  function* says(said: Omit<Turn, 'argument'>, asked: ReturnType<Questions['argue']>): SubScript<Turn> {
    const [reply] = yield* round([asked])
    if (!reply.ok) wrong.push(`debate turn (${said.side}, round ${said.round}) failed: ${failure(reply)}`)
    const turn = { ...said, argument: reply.ok ? reply.answer : null }
    turns.push(turn)
    return turn
  }
  function* argues(side: Side, heard: Argument | undefined): SubScript<Turn> {
    return yield* says({ side, round: 1, heard }, ask.argue(side, heard, references))
  }
  function* responds(own: Turn, heard: Argument): SubScript<Turn> {
    return yield* says({ side: own.side, round: 2, heard }, ask.respond(own, heard, references))
  }

  // Round 1 (lines 7–10).
  const opening = yield* argues(opener, undefined)
  const reply = yield* argues(other, opening.argument)

  // Round 2 (lines 13–16).
  if (settings.rounds === 2) {
    const response = yield* responds(opening, reply.argument)
    yield* responds(reply, response.argument)
  }

  // Judgment (lines 18–20).
  const [judged] = yield* round([ask.judge(turns, references)])
  if (!judged.ok) return { ...undecided(...wrong, `judge failed: ${failure(judged)}`), rounds: settings.rounds }
  const { label, reason } = judged.answer
  const lostTurns = turns.filter(({ argument }) => argument === null).length
  return { label, rationale: reason, decidedBy: 'judge', rounds: settings.rounds, wrong, lostTurns }
}

/** Tables 1 and 2, majority voting (section 4.3): the side that more than half of all those asked voted for. */
function majority(stances: readonly Stance[], asked: number): Decision {
  if (stances.length === 0) return undecided('majority: no perspective took a side')
  const { hate, nonHate } = count(stances)
  if (Math.max(hate, nonHate) * 2 <= asked)
    return undecided(`majority: ${hate} to ${nonHate}, neither more than half of ${asked}`)
  const label: Side = hate > nonHate ? 'hate' : 'non-hate'
  return { label, rationale: reasonsFor(label, stances), decidedBy: 'majority', rounds: 0, wrong: [] }
}

/**
 * The side that every perspective asked took of its own accord, where there are two at least; else null. A perspective that
 * failed, or could not tell, agrees with nobody.
 */
function unanimous(stances: readonly Stance[], asked: number): Decision | null {
  const [first] = stances
  if (first === undefined || stances.length < Math.max(2, asked)) return null
  if (stances.some(({ side, abstained }) => side !== first.side || abstained === true)) return null
  const rationale = reasonsFor(first.side, stances)
  return { label: first.side, rationale, decidedBy: 'consensus', rounds: 0, wrong: [] }
}

function reasonsFor(label: Side, stances: readonly Stance[]): string {
  const theirs = stances.filter(({ side }) => side === label)
  return theirs.map(({ perspective, reason }) => `${perspective.title}: ${reason}`).join('\n')
}

/** Table 1, the base agent: one call, without criteria and similar contexts. */
function* zeroShot(ask: Questions, settings: HateSettings): SubScript<Decision> {
  const [reply] = yield* round([ask.zeroShot()])
  if (!reply.ok) return undecided(`zero-shot failed: ${failure(reply)}`)
  const { label, reason } = reply.answer
  if (label !== ABSTAIN) return { label, rationale: reason, decidedBy: 'judge', rounds: 0, wrong: [] }
  if (settings.abstentions === 'apart') return undecided('zero-shot abstained')
  const wrong = ['zero-shot abstained: filed under non-hate']
  return { label: 'non-hate', rationale: reason, decidedBy: 'judge', rounds: 0, wrong }
}

/** The shelves to search; none if no examples are shown. */
export function shelvesOf(perspectives: readonly Perspective[], { decide, show }: HateSettings): string[] {
  if (decide === 'zero-shot' || show === 'criteria') return []
  return [...new Set(perspectives.flatMap(({ shelf }) => shelf ?? []))]
}

function examplesFor(perspective: Perspective, { shelves }: Found, degraded: string[]): Example[] {
  const neighbours = shelves.find(({ shelf }) => shelf === perspective.shelf)?.neighbours ?? []
  const shown = neighbours.flatMap(({ id, text, label }) => {
    const own = perspective.ownLabel(label)
    return own === undefined ? [] : [{ id, text, label: own }]
  })
  const unknown = neighbours.length - shown.length
  if (unknown > 0)
    degraded.push(`perspective ${perspective.name}: ${unknown} examples left out, their labels are not its own`)
  return shown
}

/** What the library says went wrong, in words. */
function troubles({ shelves, weak }: Found, wanted: readonly string[]): string[] {
  const bare = wanted.flatMap((name) => {
    const shelf = shelves.find((one) => one.shelf === name)
    if (shelf === undefined) return [`shelf ${name}: was not searched`]
    // Said below, once for all that have the same.
    if (shelf.problem !== null) return []
    const withdrawn = withdrawnIn(shelf)
    if (withdrawn !== null) return [`examples left out: ${withdrawn}`]
    return shelf.neighbours.length === 0 ? [`shelf ${name}: no example was found`] : []
  })
  const without = problemsOf(shelves.filter(({ shelf }) => wanted.includes(shelf))).map((why) => `no examples: ${why}`)
  return [...without, ...bare, ...(weak === null ? [] : [`weak examples: ${weak}`])]
}

/** Whether two languages are known to differ, regions and scripts aside. */
function differs(given: string | undefined, other: string | undefined): boolean {
  const primary = (tag: string) => tag.toLowerCase().split(/[-_]/, 1)[0]
  return given !== undefined && other !== undefined && primary(given) !== primary(other)
}

function unseen({ media = [] }: Post): string[] {
  return media.every(isDescribed) ? [] : ['images without a description left out: this protocol reads words only']
}

function undecided(...wrong: string[]): Decision {
  return { label: null, rationale: '', decidedBy: 'none', rounds: 0, wrong }
}

function count(stances: readonly Stance[]): { hate: number; nonHate: number } {
  const hate = stances.filter(({ side }) => side === 'hate').length
  return { hate, nonHate: stances.length - hate }
}

function conclusion(
  stances: readonly Stance[],
  examples: readonly Example[],
  degraded: readonly string[],
  { wrong, lostTurns: _, ...decision }: Decision,
): Conclusion {
  const precedents = [...new Set(examples.map(({ id }) => id))]
  return {
    ruling: {
      ...decision,
      scores: count(stances),
      evidence: { support: [], oppose: [], precedents },
      degraded: [...degraded, ...wrong],
    },
  }
}
