import { failure } from '../../contracts/facts/ask.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import { isEcho } from '../echo.ts'
import type { HateSide } from './perspectives.ts'
import type { Argument, HateQuestions, HateTurn, References } from './questions.ts'
import type { HateSettings } from './settings.ts'

/** The two debaters of Algorithm 2, each with its own side's reference, and the history H of what they said. */
export class HateDebate {
  readonly #ask: HateQuestions
  readonly #references: References
  readonly #endsAtEcho: boolean
  /** H: who said what, in order. */
  readonly history: HateTurn[] = []
  /** Turns that got no answer, in words. */
  readonly lost: string[] = []
  /** Turns that repeat an earlier one, in words. */
  readonly echoes: string[] = []

  constructor(ask: HateQuestions, references: References, { endsAtEcho }: Pick<HateSettings, 'endsAtEcho'>) {
    this.#ask = ask
    this.#references = references
    this.#endsAtEcho = endsAtEcho
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

  /** Whether there is nothing more to hear: a side has given up, or somebody repeats what was said. */
  get isOver(): boolean {
    return this.echoes.length > 0 || this.history.some(({ argument }) => argument?.holds === 'no')
  }

  *#says(said: Omit<HateTurn, 'argument'>, asked: ReturnType<HateQuestions['argue']>): SubScript<HateTurn> {
    const [reply] = yield* round([asked])
    if (!reply.ok) this.lost.push(`debate turn (${said.side}, round ${said.round}) failed: ${failure(reply)}`)
    const argument: Argument = reply.ok ? reply.answer : null
    const turn: HateTurn = { ...said, argument, ...(this.#repeats(said, argument) && { echo: true }) }
    this.history.push(turn)
    return turn
  }

  #repeats({ side, round }: Omit<HateTurn, 'argument'>, argument: Argument): boolean {
    // Who gives up may say so in the other's words.
    if (!this.#endsAtEcho || argument === null || argument.holds === 'no') return false
    const echoed = this.history.find((turn) => isEcho(argument.argument, [turn.argument?.argument ?? '']))
    if (echoed === undefined) return false
    const whose = echoed.side === side ? 'its own' : "the other side's"
    this.echoes.push(`the debate ended at an echo: the turn of the ${side} side (round ${round}) repeats ${whose} turn`)
    return true
  }
}
