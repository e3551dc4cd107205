import type { Fence } from '../../contracts/facts/fence.ts'
import { describeOddFields } from '../../contracts/facts/odd-fields.ts'
import { spares } from '../../contracts/facts/overload.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { type Comment, isDescribed, type Snapshot } from '../../contracts/facts/thread.ts'
import { isControl } from '../control.ts'
import type { DecisionPrompt } from '../decision-prompt.ts'
import { isTurned } from '../order.ts'
import type { Prompts } from '../prompts.ts'
import { oddInComments, partlyReadComments, unreadParts } from '../truncation.ts'
import type { RumorCarry } from './carry.ts'
import { noParents, type ParentOf, parentsIn } from './parents.ts'
import { claimOf, questions, type RumorQuestions } from './questions.ts'
import type { RumorSettings } from './settings.ts'
import { rankIn, type Tie, tieOf } from './sides.ts'
import { noTimes, type TimeOf, timesIn } from './times.ts'

/** What the protocol is made with, and what is pinned of the case. */
export interface RumorParts {
  readonly settings: RumorSettings
  readonly prompts: Prompts
  /** What a decision model is told of stances, where the role decider is asked for them. */
  readonly decided?: DecisionPrompt | undefined
  readonly fence: Fence
  readonly samplingRank: SamplingRank
  /** Script, prompts and settings, as one name: what a carry was made under. */
  readonly under: string
  /** Of load, 0 for none. */
  readonly step: number
  /** No checkpoint of the thread is left. */
  readonly final: boolean
  readonly tenant: string
  /** Somebody objects to its ruling. */
  readonly appealed?: boolean
}

/** How much is asked for one case. */
interface Depth extends Pick<RumorSettings, 'rounds' | 'k' | 'sampleSize'> {
  /** Most comments scored anew. */
  readonly comments: number
}

/** A thread as the script reads it, with the questions about it. */
export interface RumorContext extends RumorParts {
  readonly thread: Snapshot
  /** What the previous revision left; null where there is none, or other prompts or settings made it. */
  readonly before: RumorCarry | null
  readonly depth: Depth
  readonly ask: RumorQuestions
  readonly parentOf: ParentOf
  readonly timeOf: TimeOf
  /** The order of a draw, and of what is equally strong. */
  readonly rankOf: (comment: Comment) => number
  readonly tie: Tie
  /** Whether what is otherwise second comes first. */
  readonly turned: boolean
  /** It is debated whatever the gate says, to see what that changes. */
  readonly isControl: boolean
  /** What the thread lacks, in words. */
  readonly limitations: readonly string[]
}

export function rumorContext(thread: Snapshot, before: RumorCarry | null, parts: RumorParts): RumorContext {
  const { post, comments } = thread
  const { settings, samplingRank } = parts
  const rankOf = rankIn(samplingRank, parts.tenant, post.id)
  const beside = {
    parentOf: settings.parents ? parentsIn(comments) : noParents,
    timeOf: settings.times ? timesIn(thread) : noTimes,
    turned: settings.order === 'lot' && isTurned(samplingRank, claimOf(post)),
  }
  return {
    ...parts,
    ...beside,
    thread,
    before,
    rankOf,
    depth: depthOf(settings, parts.step),
    ask: questions(post, { ...parts, ...beside }),
    tie: tieOf(settings, rankOf),
    isControl:
      parts.step === 0 && isControl(samplingRank, 'rumor', `${parts.tenant}/${post.id}`, settings.controlShare),
    limitations: lacking(thread, parts.fence),
  }
}

function lacking({ post, comments, leftOut, overAuthor = 0, tookBack = 0 }: Snapshot, fence: Fence): string[] {
  const undescribed = !(post.media ?? []).every(isDescribed)
  return [
    ...describeOddFields(post.odd),
    ...oddInComments(comments),
    ...(undescribed ? ['images without a description left out: this protocol reads words only'] : []),
    ...(leftOut > 0 ? [`${leftOut} comments beyond the cap left out, by a fixed sample`] : []),
    ...(overAuthor > 0 ? [`${overAuthor} comments left out: per-author limit reached`] : []),
    ...(tookBack > 0 ? [`${tookBack} comments left out: their authors took back others of this case`] : []),
    ...unreadParts(post, [{ kind: 'claim', text: claimOf(post) }], fence),
    ...partlyReadComments(comments, fence),
  ]
}

/** The depth of the settings, reduced by the step of load in which the case was opened. */
function depthOf(settings: RumorSettings, step: number): Depth {
  const { rounds, k, sampleSize, overloadedRounds = null, overloadedK = null, overloadedComments = null } = settings
  const atMost = (what: 'single' | 'sample', full: number, limit: number | null) =>
    spares(step, what) && limit !== null ? Math.min(full, limit) : full
  return {
    rounds: atMost('single', rounds, overloadedRounds),
    k: atMost('sample', k, overloadedK),
    sampleSize: atMost('sample', sampleSize, overloadedK === null ? null : 2 * overloadedK),
    comments: atMost('sample', Number.POSITIVE_INFINITY, overloadedComments),
  }
}
