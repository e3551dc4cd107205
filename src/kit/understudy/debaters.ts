import { readCues } from './cues.ts'
import type { FencedText } from './fences.ts'
import type { ReceivedQuestion } from './question.ts'
import { balance, sideOf, sum, type Weight, weighClaim, weighComments } from './weigh.ts'

/** A debater's or judge's answer. */
type Opinion = {
  readonly reasoning: string
  readonly answer: 'Real' | 'Fake' | 'Unverified'
  readonly probability?: number
}

/** How much heavier the other side must be for a debater to yield, by the debate round; later rounds as the last. */
const YIELDS_AT = [1.8, 0.6]

/** What the understudy weighs of rumor's `Fake` or `Real`, by what the question holds rather than by its stage's name. */
export function verdict(question: ReceivedQuestion, mayAbstain: boolean): Opinion {
  const given = argumentsOf(question.fences).length
  if (question.replies.length > 0 && given > 0) return turn(question)
  return given > 0 ? judgement(question, mayAbstain) : opinion(question)
}

/** A first opinion: the claim's own words, and those of the comments that this debater was shown. */
function opinion({ fences }: ReceivedQuestion): Opinion {
  const comments = fences.filter(({ kind }) => kind === 'comment').map(({ text }) => text)
  const claim = readCues(claimOf(fences))
  const said = weighComments(claim, comments)
  const shown = comments.length === 0 ? 'No comments were shown' : `In ${comments.length} comments`
  const kinds = said.kinds.length === 0 ? 'no word on the list' : `words of ${said.kinds.join(', ')}`
  return stated(sum(weighClaim(claim), said), `${shown}: ${kinds}.`)
}

/** A debate turn: the lighter side yields when it is outweighed by enough for this round, and else holds. */
function turn({ fences, replies }: ReceivedQuestion): Opinion {
  const own = weightIn(replies.at(-1) ?? '')
  const other = weightIn(argumentsOf(fences).at(-1) ?? '')
  if (sideOf(own) === sideOf(other)) return stated(own, 'The other side holds the same.')
  const gap = tenths(Math.abs(balance(other)) - Math.abs(balance(own)))
  const enough = YIELDS_AT[Math.min(replies.length, YIELDS_AT.length) - 1] ?? Number.POSITIVE_INFINITY
  const still = replies.length > 1 ? 'still ' : ''
  if (gap < enough) return stated(own, `The other side ${still}does not outweigh mine by enough.`)
  return stated(sum(own, other), `The other side outweighs mine by ${gap.toFixed(1)}: I yield.`)
}

/** Where both sides weigh nearly the same, a judge that may finds neither shown. */
const TORN_BELOW = 0.5

/** The judge: both last replies laid on one scale, and its lean the surer, the more of the weight is on one side. */
function judgement({ fences }: ReceivedQuestion, mayAbstain: boolean): Opinion {
  const both = argumentsOf(fences).map(weightIn)
  const weight = both.reduce(sum, { for: 0, against: 0 })
  const lean = Math.abs(balance(weight))
  const reached = stated(weight, `${both.length} arguments on one scale.`)
  const probability = tenths(0.5 + lean / (2 * Math.max(1, weight.for + weight.against)))
  return { ...reached, probability, ...(mayAbstain && lean < TORN_BELOW && { answer: 'Unverified' as const }) }
}

const WEIGHT = /weight (\d{1,4}\.\d) for, (\d{1,4}\.\d) against/g

function stated(exact: Weight, why: string): Opinion {
  const weight = { for: tenths(exact.for), against: tenths(exact.against) }
  const answer = sideOf(weight)
  return {
    reasoning: `${why} ${answer}: weight ${weight.for.toFixed(1)} for, ${weight.against.toFixed(1)} against.`,
    answer,
  }
}

/** The weight that a reply names last; of a reply by somebody else only its answer is known, and weighs 1. */
function weightIn(reply: string): Weight {
  const named = [...reply.matchAll(WEIGHT)].at(-1)
  if (named) return { for: Number(named[1]), against: Number(named[2]) }
  const answer = reply.match(/\b(?:Fake|Real)\b/g)?.at(-1)
  return { for: answer === 'Real' ? 1 : 0, against: answer === 'Fake' ? 1 : 0 }
}

function claimOf(fences: readonly FencedText[]): string {
  return fences.find(({ kind }) => kind === 'claim')?.text ?? ''
}

function argumentsOf(fences: readonly FencedText[]): string[] {
  return fences.filter(({ kind }) => kind === 'argument').map(({ text }) => text)
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}
