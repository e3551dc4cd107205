import { type AnswerOrFailure, type Ask, failure } from '../../contracts/facts/ask.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import { isEcho } from '../echo.ts'
import type { View } from './answers.ts'
import type { RumorQuestions, RumorSide } from './questions.ts'

/** A debater and its conversation so far: its opening, its own replies, and the other's as it was shown them. */
interface Debater {
  readonly side: RumorSide
  conversation: readonly ChatMessage[]
  /** The last readable one; null before the opinion. */
  view: View | null
  /** The model that spoke last. */
  model: string
}

type Both<Value> = readonly [support: Value, oppose: Value]

/** Two debaters, each over its own side's comments, and what they have said. */
export class RumorDebate {
  /** How many rounds there have been after the opinions. */
  rounds = 0
  /** Turns that failed, in words; and first opinions, without which there is no debate. */
  readonly lost: string[] = []
  readonly unopened: string[] = []
  /** Turns that say word for word what was said before, in words. */
  readonly echoes: string[] = []
  readonly #ask: RumorQuestions
  readonly #debaters: Both<Debater>
  /** The words of the other that each has seen before the turn that is asked for. */
  #told: Both<readonly ChatMessage[]> = [[], []]

  constructor(ask: RumorQuestions, openings: Readonly<Record<RumorSide, ChatMessage[]>>) {
    this.#ask = ask
    const debater = (side: RumorSide): Debater => ({ side, conversation: openings[side], view: null, model: '' })
    this.#debaters = [debater('support'), debater('oppose')]
  }

  /** Equation 3: the first opinions. `last`: no turn follows. */
  opinions(turn: { readonly last: boolean }): [Ask<View>, Ask<View>] {
    const [support, oppose] = this.#debaters
    return [
      this.#ask.opinion('support', support.conversation, turn),
      // Where both read the same, the memo must not answer for the second.
      { ...this.#ask.opinion('oppose', oppose.conversation, turn), ...(this.#readTheSame() && { draw: 'second' }) },
    ]
  }

  /** Equation 4: both answer the other's previous reply. */
  turns(turn: { readonly last: boolean }): [Ask<View>, Ask<View>] {
    const [support, oppose] = this.#debaters
    const [mine, theirs] = this.views
    this.rounds++
    this.#told = [this.#ask.rebuttal(theirs), this.#ask.rebuttal(mine)]
    return [
      this.#ask.turn('support', [...support.conversation, ...this.#told[0]], turn),
      this.#ask.turn('oppose', [...oppose.conversation, ...this.#told[1]], turn),
    ]
  }

  /** Takes the replies in. After a failed one a debater keeps its last readable view. */
  hear(replies: Both<AnswerOrFailure<View>>): void {
    const earlier = this.#debaters.flatMap(({ side, view }) => (view === null ? [] : [{ side, view }]))
    for (const [at, debater] of this.#debaters.entries()) {
      const reply = replies[at as 0 | 1]
      if (!reply.ok) {
        const { side, view } = debater
        if (view === null) this.unopened.push(`opinion (${side}) failed: ${failure(reply)}`)
        else this.lost.push(`a debate turn (${side}) failed: ${failure(reply)}; the last readable view stands`)
        continue
      }
      const said: ChatMessage = { role: 'assistant', content: JSON.stringify(reply.answer) }
      this.#notice(debater.side, reply.answer, earlier)
      debater.conversation = [...debater.conversation, ...this.#told[at as 0 | 1], said]
      debater.view = reply.answer
      debater.model = reply.model
    }
  }

  /** What each holds now. Throws before both have given an opinion. */
  get views(): Both<View> {
    const [support, oppose] = this.#debaters
    if (support.view === null || oppose.view === null)
      throw new Error('a debater without an opinion entered the debate')
    return [support.view, oppose.view]
  }

  get agreed(): boolean {
    const [support, oppose] = this.views
    return support.answer === oppose.answer
  }

  /** The model that spoke last for the opposing side. */
  get model(): string {
    return this.#debaters[1].model
  }

  #notice(side: RumorSide, { reasoning }: View, earlier: readonly { side: RumorSide; view: View }[]): void {
    const [echoed] = earlier.filter(({ view }) => isEcho(reasoning, [view.reasoning]))
    if (echoed === undefined) return
    const whose = echoed.side === side ? 'its own turn before' : "the other side's turn before"
    this.echoes.push(
      `the debate ended at an echo: the turn of the ${side} side (round ${this.rounds}) repeats ${whose}`,
    )
  }

  #readTheSame(): boolean {
    const [support, oppose] = this.#debaters
    return JSON.stringify(support.conversation) === JSON.stringify(oppose.conversation)
  }
}
