import type { ReplayableCase } from '../../app/composition/replayable.ts'
import { type Ask, keptAnswer } from '../../contracts/facts/ask.ts'
import { estimateTokens } from '../../contracts/facts/token-estimate.ts'
import { noUsage, type Turn } from '../../contracts/facts/verdict.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { type AskedModelCheck, type NewQuestion, replayCase } from '../../judging/recorded/replay-recorded.ts'
import { type Price, usdFor } from '../../models/cost.ts'
import { withFormat } from '../../models/format.ts'

/** What is known of questions of one stage that were paid for. */
interface StageTotals {
  calls: number
  /** By our own estimate, and by the bill. */
  estimated: number
  prompt: number
  cached: number
  completion: number
  /** In US dollars, and what list prices alone make of these tokens: tiers and writing to caches differ. */
  paid: number
  listed: number
}

/** What an image of a usual size counts as, in tokens. */
const IMAGE_TOKENS = 1_000

/** The price of a case's new questions, in US dollars, and their number. */
export interface ForetoldPrice {
  readonly usd: number
  readonly newQuestions: number
}

/**
 * Foretells what cases cost, by what their like has cost: a new question is as much longer than the one in its place as our estimate
 * says, and its answer as long. The script goes on with the answer of that one, so that later rounds are foretold, too.
 */
export class PriceForecast {
  readonly #stages = new Map<string, StageTotals>()
  readonly #priceOf: (role: string) => Price | undefined
  readonly #priceThen: (asked: string) => Price | undefined

  /** `priceOf`: of the model that is asked in a role. `priceThen`: of one that was asked, as transcripts name it. */
  constructor(priceOf: (role: string) => Price | undefined, priceThen: (asked: string) => Price | undefined) {
    this.#priceOf = priceOf
    this.#priceThen = priceThen
  }

  /** Throws what the script throws. */
  async of(protocol: Protocol, recorded: ReplayableCase, isOurs: AskedModelCheck): Promise<ForetoldPrice> {
    for (const turn of recorded.turns.values()) this.#learn(turn, recorded.sent.get(turn) ?? [])
    const used = new Set<Turn>()
    let usd = 0
    let newQuestions = 0
    try {
      await replayCase(protocol, recorded, isOurs, async (question) => {
        const turn = inItsPlace(recorded, question, used)
        if (turn !== undefined) used.add(turn)
        usd += this.#priceOfQuestion(question, turn, turn === undefined ? [] : (recorded.sent.get(turn) ?? []))
        newQuestions++
        const answer = turn === undefined ? undefined : keptAnswer(question.ask).safeParse(turn.answer)
        if (turn === undefined || answer?.success !== true) throw new CourseUnknown()
        return { answer: answer.data, model: turn.model, usage: noUsage(), ...(turn.failed && { failed: turn.failed }) }
      })
    } catch (error) {
      if (!(error instanceof CourseUnknown)) throw error
      // What follows costs as it did.
      for (const turn of recorded.turns.values())
        if (!used.has(turn) && turn.round > Math.max(0, ...[...used].map(({ round }) => round))) {
          usd += turn.usage.costUsd
          newQuestions++
        }
    }
    return { usd, newQuestions }
  }

  #learn({ stage, usage, asked }: Turn, sent: readonly string[]): void {
    if (asked === undefined || usage.calls === 0) return
    const totals = this.#stages.get(stage) ?? sumOf([])
    this.#stages.set(stage, totals)
    totals.calls += usage.calls
    totals.estimated += usage.calls * tokensOf(sent)
    totals.prompt += usage.promptTokens
    totals.cached += usage.cachedTokens
    totals.completion += usage.completionTokens
    totals.paid += usage.costUsd
    const { promptTokens: prompt, cachedTokens: cached, completionTokens: completion } = usage
    totals.listed += usdFor({ prompt, cached, completion }, this.#priceThen(asked))
  }

  #priceOfQuestion({ ask, whole }: NewQuestion, turn: Turn | undefined, sent: readonly string[]): number {
    const totals = this.#stages.get(ask.stage) ?? sumOf([...this.#stages.values()])
    const messages = withFormat(ask)
    const images = messages.reduce((sum, { images: shown = [] }) => sum + shown.length, 0)
    const estimate = tokensOf(messages.map(({ content }) => content)) + images * IMAGE_TOKENS
    const ratio = totals.estimated === 0 ? 1 : totals.prompt / totals.estimated
    const before = tokensOf(sent)
    const known = turn !== undefined && turn.usage.calls > 0 && before > 0 ? turn.usage : null
    const part = (ask.batch?.count ?? 1) / (whole.batch?.count ?? 1)
    const prompt = known === null ? estimate * ratio : (known.promptTokens * estimate) / before
    const mean = totals.calls === 0 ? ask.maxTokens / 4 : totals.completion / totals.calls
    const completion = (known === null ? mean : known.completionTokens) * part
    const cached = totals.prompt === 0 ? 0 : (prompt * totals.cached) / totals.prompt
    const listed = usdFor(
      { prompt: Math.round(prompt), cached: Math.round(cached), completion: Math.round(completion) },
      this.#priceOf(ask.role),
    )
    return totals.listed === 0 ? listed : (listed * totals.paid) / totals.listed
  }
}

/** Nothing recorded can stand for the answer to a new question. */
class CourseUnknown extends Error {}

/** The turn that was asked in the place of a new question: at the same key, else the next of its stage and role. */
function inItsPlace({ turns }: ReplayableCase, { key, whole }: NewQuestion, used: ReadonlySet<Turn>): Turn | undefined {
  const role = named(whole)
  const isLike = (turn: Turn) => turn.stage === whole.stage && turn.role === role && !used.has(turn)
  const same = turns.get(key)
  return same !== undefined && isLike(same) ? same : [...turns.values()].find(isLike)
}

function named({ role, label }: Ask): string {
  return label === undefined ? role : `${role} (${label})`
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0)
}

function sumOf(all: readonly StageTotals[]): StageTotals {
  const sum = (of: (one: StageTotals) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    calls: sum(({ calls }) => calls),
    estimated: sum(({ estimated }) => estimated),
    prompt: sum(({ prompt }) => prompt),
    cached: sum(({ cached }) => cached),
    completion: sum(({ completion }) => completion),
    paid: sum(({ paid }) => paid),
    listed: sum(({ listed }) => listed),
  }
}
