/** An audited verdict of a lane. */
interface AuditedVerdict {
  /** Its label and language. */
  readonly group: string
  /** With which chance it was drawn. */
  readonly chance: number
  /** Whether people gave another label. */
  readonly isWrong: boolean
}

/** How much more often wrong than promised verdicts may have become. */
const TIMES = [1.5, 2, 3, 4, 6] as const
/** No bet is on a share above this. */
const MOST_WRONG = 0.9
/** At least the sum of all `weightOf`, without end. */
const ALL_WEIGHTS = 2.11

/** What is put on "from this one on they are wrong too often": less and less, and a finite sum. */
function weightOf(nth: number): number {
  return 1 / ((nth + 2) * Math.log(nth + 2) ** 2) / ALL_WEIGHTS
}

/** The wealth of somebody who bets against "at most `risk` is wrong", of 1 at first: without a wrong promise nobody gets rich. */
class Wealth {
  readonly #bets: readonly number[]
  readonly #won = TIMES.map(() => 0)
  #kept = 1
  /** What it is by now. */
  value = 1
  #least = 1
  #count = 0

  constructor(risk: number) {
    this.#bets = TIMES.map((times) => Math.max(0, Math.min(MOST_WRONG, times * risk) - risk) / (risk * (1 - risk)))
    this.risk = risk
  }
  readonly risk: number

  take({ chance, isWrong }: AuditedVerdict): void {
    const weight = weightOf(this.#count++)
    this.#kept -= weight
    // What was drawn with a greater chance than others stands for fewer, and less is bet on it.
    this.#least = Math.min(this.#least, chance)
    const gain = (this.#least / chance) * (Number(isWrong) - this.risk)
    let all = 0
    for (const [at, before] of this.#won.entries()) {
      const won = (before + weight) * (1 + (this.#bets[at] ?? 0) * gain)
      this.#won[at] = won
      all += won
    }
    this.value = this.#kept + all / TIMES.length
  }
}

/**
 * The evidence against a lane's promise, that of each label in each language at most `risk` is wrong, in people's labels alone: an
 * e-value, that may be looked at after every verdict. While the promise is kept, the chance that it ever reaches 1/delta is at most
 * delta (Ville 1939). It is what betting on each error wins (Waudby-Smith and Ramdas 2024): half of it is bet on all verdicts, half
 * on each group; and a part on each place from which on they may be wrong too often, so that a good beginning hides no drift.
 * `groups`: how many there are. The verdicts stand in the order in which they were drawn, which nobody chose.
 */
export function laneEvidence(
  audited: readonly AuditedVerdict[],
  { risk, groups }: { readonly risk: number; readonly groups: number },
): number {
  const whole = new Wealth(risk)
  const parts = new Map<string, Wealth>()
  let highest = 1
  for (const one of audited) {
    const part = parts.get(one.group) ?? new Wealth(risk)
    parts.set(one.group, part)
    whole.take(one)
    part.take(one)
    const inParts = [...parts.values()].reduce((sum, { value }) => sum + value, Math.max(0, groups - parts.size))
    highest = Math.max(highest, (whole.value + inParts / Math.max(groups, parts.size)) / 2)
  }
  return highest
}
