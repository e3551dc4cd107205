import { type Cue, type CueReading, readCues } from './cues.ts'

/** How much speaks for a claim and how much against it. */
export type Weight = { readonly for: number; readonly against: number }

/** The side that a weight falls on; a claim that nothing speaks for is not believed. */
export function sideOf(weight: Weight): 'Real' | 'Fake' {
  return weight.for > weight.against ? 'Real' : 'Fake'
}

/** For less against. */
export function balance(weight: Weight): number {
  return weight.for - weight.against
}

export function sum(one: Weight, other: Weight): Weight {
  return { for: one.for + other.for, against: one.against + other.against }
}

/** What a claim's words do before anybody has commented: sourced ones carry it, alarm and hearsay tell against it. */
export function weighClaim(claim: CueReading): Weight {
  const aired = Math.min(1.2, claim.count('opinion') * 0.6 + claim.count('joke') * 0.6)
  const subjective = isSubjective(claim) ? aired : 0
  const sourced = claim.count('authority') * 0.5 + claim.count('attribution') * 0.4
  const seen = claim.count('eyewitness') * 0.5 + claim.count('source') * 0.3
  const alarming = claim.count('alarm') * 0.6 + claim.count('hearsay') * 0.6 + claim.count('distrust') * 0.6
  return { for: 0.5 + subjective + Math.min(1.5, sourced + seen), against: 0.4 + Math.min(2, alarming) }
}

/** Whether a claim only airs a view, a feeling or a joke: more of those words in it than of facts and sources. */
export function isSubjective(claim: CueReading): boolean {
  const aired = claim.count('opinion') + claim.count('joke')
  const stated =
    claim.count('authority') +
    claim.count('attribution') +
    claim.count('eyewitness') +
    claim.count('alarm') +
    claim.count('hearsay') +
    (claim.digits ? 0.5 : 0)
  return aired > stated
}

const MOST_CUES = 100

/** One cue of a comment and what it weighs for or against the claim at hand. */
type Leaning = Weight & { readonly cue: Cue }

/**
 * What one comment's cues weigh under a claim; it depends on the two texts only. What somebody saw or can show counts
 * for the side that the rest of the comment takes, and for the claim where it takes none. A phrase counts once.
 */
export function lean(claim: CueReading, comment: CueReading): Leaning[] {
  if (comment.cues.length === 0) return []
  const denying = isDenial(claim)
  const light = comment.count('joke') > 0 ? 0.4 : 1
  const cues = comment.cues.filter((cue, index) => isFirst(cue, index, comment.cues))
  const assertions = cues.map((cue) => assertion(cue, claim, denying))
  const side = Math.sign(assertions.reduce((one, other) => one + other, 0)) || (denying ? 0 : 1)
  const leanings: Leaning[] = []
  for (const [index, cue] of cues.entries()) {
    const signed = light * ((assertions[index] ?? 0) + side * testimony(cue) + attitude(cue, claim))
    if (signed !== 0) leanings.push({ cue, for: Math.max(0, signed), against: Math.max(0, -signed) })
  }
  return leanings
}

/** A comment's stance to a claim, from -1 (opposes it) to 1 (supports it); 0 when its words take no side. */
export function stance(leanings: readonly Leaning[]): number {
  const total = leanings.reduce((score, leaning) => score + balance(leaning), 0)
  const score = Math.round((total / 1.6) * 100) / 100
  return Math.max(-1, Math.min(1, score)) + 0
}

/** The same phrase from a second mouth counts half, from a third a quarter: many voices outweigh one voice repeated. */
export function weighComments(claim: CueReading, comments: readonly string[]): Weight & { readonly kinds: string[] } {
  const repeats = new Map<string, number>()
  const kinds = new Set<string>()
  let total: Weight = { for: 0, against: 0 }
  for (const comment of comments) {
    for (const leaning of lean(claim, readCues(comment))) {
      const share = repeats.get(leaning.cue.phrase) ?? 1
      repeats.set(leaning.cue.phrase, share / 2)
      kinds.add(leaning.cue.kind)
      total = sum(total, { for: leaning.for * share, against: leaning.against * share })
    }
  }
  return { ...total, kinds: [...kinds] }
}

function isFirst({ kind, phrase }: Cue, index: number, cues: readonly Cue[]): boolean {
  // A comment of very many cues is read to its hundredth, so that the comparison stays cheap.
  return index < MOST_CUES && cues.findIndex((cue) => cue.kind === kind && cue.phrase === phrase) === index
}

/** A claim that itself denies something, such as "reports of a blast are false". */
function isDenial(claim: CueReading): boolean {
  return claim.cues.some(({ kind, negated, asked }) => kind === 'denial' && !negated && !asked)
}

/** A cue that states outright whether the claim holds. */
function assertion(cue: Cue, claim: CueReading, denying: boolean): number {
  const weighty = cue.official ? 2.2 : 1
  switch (cue.kind) {
    case 'confirmation':
      return asked(cue, 0.7 * weighty * (cue.negated ? -0.8 : 1))
    case 'denial':
      // Under a denial, its own words taken up again are assent.
      return asked(cue, -0.7 * weighty * (cue.negated || echoes(claim, cue) ? -0.8 : 1))
    case 'reproach':
      return asked(cue, -0.7)
    case 'contradiction':
      return asked(cue, cue.negated ? 0 : denying ? 1 : -1)
    default:
      return 0
  }
}

/** A cue that gives evidence for its comment. */
function testimony({ kind, asked }: Cue): number {
  if (asked) return 0
  return kind === 'eyewitness' ? 0.8 : kind === 'source' ? 0.6 : 0
}

/** A cue that only shows what its author is inclined to believe. */
function attitude({ kind, asked }: Cue, claim: CueReading): number {
  switch (kind) {
    case 'belief':
      return asked ? 0 : 0.3
    case 'hearsay':
      return asked ? 0 : 0.35
    case 'doubt':
      return -0.25
    case 'distrust':
      return claim.count('authority') > 0 ? -0.4 : 0.4
    default:
      return 0
  }
}

/** To ask whether something holds is a little doubt, whichever way it is asked. */
function asked(cue: Cue, signed: number): number {
  return cue.asked ? -0.2 : signed
}

function echoes(claim: CueReading, { phrase }: Cue): boolean {
  return claim.cues.some((cue) => cue.kind === 'denial' && cue.phrase === phrase && !cue.negated && !cue.asked)
}
