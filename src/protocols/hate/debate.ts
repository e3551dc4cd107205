import { failure } from '../../contracts/facts/ask.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import type { HateSide } from './perspectives.ts'
import type { Argument, HateQuestions, HateTurn, References } from './questions.ts'

/** The two debaters of Algorithm 2, each with its own side's reference, and the history H of what they said. */
export class HateDebate {
  readonly #ask: HateQuestions
  readonly #references: References
  /** H: who said what, in order. */
  readonly history: HateTurn[] = []
  /** Turns that got no answer, in words. */
  readonly lost: string[] = []

  constructor(ask: HateQuestions, references: References) {
    this.#ask = ask
    this.#references = references
  }

  /** A debater argues from its own reference, once it has heard the other; the one that opens has heard nothing. */
  *argues(side: HateSide, heard?: HateTurn): SubScript<HateTurn> {
    const asked = this.#ask.argue(side, heard?.argument, this.#references)
    return yield* this.#says({ side, round: 1, heard: heard?.argument }, asked)
  }

  /** A debater refutes what it hears, or agrees with it, after its own argument. */
  *responds(own: HateTurn, heard: HateTurn): SubScript<HateTurn> {
    const asked = this.#ask.respond(own, heard.argument, this.#references)
    return yield* this.#says({ side: own.side, round: 2, heard: heard.argument }, asked)
  }

  *#says(said: Omit<HateTurn, 'argument'>, asked: ReturnType<HateQuestions['argue']>): SubScript<HateTurn> {
    const [reply] = yield* round([asked])
    if (!reply.ok) this.lost.push(`debate turn (${said.side}, round ${said.round}) failed: ${failure(reply)}`)
    const argument: Argument = reply.ok ? reply.answer : null
    const turn = { ...said, argument }
    this.history.push(turn)
    return turn
  }
}
