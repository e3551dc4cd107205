/** A case that may be drawn, and what it costs to ask its new questions. */
export interface PricedCase {
  readonly id: string
  /** In US dollars. */
  readonly usd: number
  readonly newQuestions: number
  /** How likely it is drawn beside others. */
  readonly weight: number
}

/** An entry of the ledger of draws: which chance a case had. */
export interface CaseDraw<Case extends PricedCase> {
  readonly of: Case
  readonly chance: number
  /** Its place in the order in which cases are drawn; 0 of one that is always among them. */
  readonly rank: number
}

/**
 * Draws cases until the money or the number is spent. A case without a new question costs nothing, and is always among them. The others
 * come in the order of a lot divided by their weight; the chance of one is that of coming before the first that was left out
 * (priority sampling, Duffield, Lund and Thorup 2007). So a run with more money draws the same cases and more, whichever they are.
 * `lot`: a number above 0 and below 1 that nobody can choose, the same for the same case each time.
 */
export function drawCases<Case extends PricedCase>(
  cases: readonly Case[],
  most: { readonly usd: number; readonly cases: number },
  lot: (id: string) => number,
): CaseDraw<Case>[] {
  const free = cases.filter(({ newQuestions }) => newQuestions === 0)
  const inOrder = cases
    .filter(({ newQuestions }) => newQuestions > 0)
    .map((of) => ({ of, rank: lot(of.id) / of.weight }))
    .toSorted((one, other) => one.rank - other.rank)
  let [usd, end] = [0, 0]
  for (const { of } of inOrder) {
    if (end >= most.cases || usd + of.usd > most.usd) break
    usd += of.usd
    end++
  }
  const first = inOrder[end]?.rank ?? Number.POSITIVE_INFINITY
  return [...free.map((of) => ({ of, rank: 0 })), ...inOrder.slice(0, end)].map((one) => withChance(one, first))
}

/** The same draw with its chance, where the first case in the order that was left out has this rank. */
export function withChance<Case extends PricedCase>(
  { of, rank }: Omit<CaseDraw<Case>, 'chance'>,
  firstLeftOut: number,
): CaseDraw<Case> {
  return { of, rank, chance: rank === 0 ? 1 : Math.min(1, firstLeftOut * of.weight) }
}
