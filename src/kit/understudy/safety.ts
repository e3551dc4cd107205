import { citations } from './clauses.ts'
import { affirmedCues, readConduct, weightOf, wordsOf } from './conduct.ts'
import type { Conduct } from './conduct-words.ts'
import type { Cue } from './cues.ts'
import { colourOf } from './eyes.ts'
import type { FencedText } from './fences.ts'
import { isSchema, type LooseSchema, property } from './json-schema.ts'
import type { ReceivedQuestion } from './question.ts'
import { because, choices, ofKind, type PlayedAnswer, subjectOf, type UnderstudyRole } from './role.ts'
import { shared } from './terms.ts'

/** Safety's describer, supporter, debaters and arbiter. */
export const safety: UnderstudyRole = (question, schema) => {
  const stage = question.stage ?? ''
  if (choices(schema, 'label').includes('unsafe')) return ruling(question, schema)
  if (stage.includes('describe') && property(schema, 'description')) return description(question, schema)
  if (stage.includes('brief') && property(schema, 'summary')) return brief(question, schema)
  if (stage.includes('strict') && property(schema, 'score')) return assessment(question, 'strict')
  if (stage.includes('loose') && property(schema, 'score')) return assessment(question, 'loose')
  return undefined
}

type Risk = {
  readonly strict: number
  readonly loose: number
  readonly harmful: readonly Cue<Conduct>[]
  readonly benign: readonly Cue<Conduct>[]
}

/** What a word adds to the risk. How-to words add only where something in the text could hurt. */
const HARM = {
  threat: 0.5,
  hazard: 0.22,
  dehumanising: 0.3,
  coded: 0.4,
  evasion: 0.25,
  exclusion: 0.2,
  stereotype: 0.15,
  insult: 0.1,
} as const
const METHOD = 0.18
/** What a word takes from it, for those who look for a harmless reading. */
const BENIGN = { refusal: 0.8, care: 0.3, report: 0.2, reclaiming: 0.2 } as const

const HARMFUL: readonly Conduct[] = [
  'threat',
  'hazard',
  'dehumanising',
  'coded',
  'evasion',
  'exclusion',
  'stereotype',
  'insult',
]
const HARMLESS: readonly Conduct[] = ['refusal', 'care', 'report', 'reclaiming']

function riskOf(text: string): Risk {
  const { own, quoted } = readConduct(text)
  const harmful = [...affirmedCues(own, HARMFUL), ...affirmedCues(quoted, HARMFUL)]
  const benign = affirmedCues(own, HARMLESS)
  const taught = harmful.length > 0 ? Math.min(2, affirmedCues(own, ['method']).length) * METHOD : 0
  const harm = Math.min(1, weightOf(harmful, HARM) + taught)
  const excuse = weightOf(benign, BENIGN)
  return { strict: clamp(0.1 + harm - excuse * 0.2), loose: clamp(harm * 0.8 - excuse), harmful, benign }
}

/** An image's description. The understudy has no eyes: it repeats the author's words about the image, and marks them as such. */
function description({ sections, images }: ReceivedQuestion, schema: LooseSchema): PlayedAnswer {
  const captions = ofKind(sections().fences, /alt|caption|image/)
    .map(({ text }) => text.trim())
    .filter((text) => text !== '')
  const [colour] = images.map(colourOf).filter((one) => one !== null)
  const count = images.length === 1 ? 'An image' : `${images.length} images`
  const seen =
    colour === undefined
      ? `${count} that the understudy, having no eyes, has not looked at`
      : `A plain ${colour} image, which is all that the understudy can see of any`
  const looked = property(schema, 'seen') === undefined ? {} : { seen: colour === undefined ? 'no' : 'yes' }
  return {
    ...looked,
    description: captions.length === 0 ? `${seen}.` : `${seen}. Its author says: ${captions.join(' ')}`,
  }
}

/** The supporter's brief: the kinds of words in the input, and of each precedent that was shown. */
function brief({ sections }: ReceivedQuestion, schema: LooseSchema): PlayedAnswer {
  const { fences } = sections()
  const text = subjectOf(fences)
  const { harmful, benign } = riskOf(text)
  const numbered = [...new Map(ofKind(fences, /precedent/).map((one, at) => [one.number ?? at + 1, one]))]
  const most = property(schema, 'precedents')?.maxItems
  const shown = numbered.slice(0, typeof most === 'number' ? most : numbered.length)
  return because('The words were counted; nothing is judged.', {
    summary: `The input has ${wordsOf([...harmful, ...benign])}.`,
    precedents: shown.length === 0 && most !== 0 ? undefined : shown.map((one) => comparison(text, one)),
    patterns: shown.length === 0 ? 'No precedents were given.' : 'What recurs are the kinds of words named above.',
  })
}

function comparison(text: string, [precedent, { text: precedentText }]: readonly [number, FencedText]) {
  const { harmful, benign } = riskOf(precedentText)
  const kinds = [...new Set([...harmful, ...benign].map(({ kind }) => kind))]
  return {
    precedent,
    keyCues: kinds.map((kind) => `words of ${kind}`),
    differences: `It shares ${Math.round(shared(text, precedentText) * 100)} % of its words with the input.`,
  }
}

/** One debater's turn. From the second on strict grants an excuse, and loose a danger that nothing excuses. */
function assessment({ sections, replies }: ReceivedQuestion, side: 'strict' | 'loose'): PlayedAnswer {
  const { fences } = sections()
  const { strict, loose, harmful, benign } = riskOf(subjectOf(fences))
  const again = replies.length > 0 || ofKind(fences, /own|previous/).length > 0
  const [first, other] = side === 'strict' ? [strict, loose] : [loose, strict]
  const moved = again && (side === 'strict') === benign.length > 0 ? first + (other - first) * 0.25 : first
  const reason = side === 'strict' ? `At its worst: ${wordsOf(harmful)}.` : `At its best: ${wordsOf(benign)}.`
  return because(reason, { score: clamp(moved) })
}

const CATEGORY: Readonly<Partial<Record<Conduct, string>>> = {
  threat: 'violence',
  hazard: 'dangerous acts',
  dehumanising: 'hate',
  coded: 'hate',
  exclusion: 'hate',
  stereotype: 'hate',
  insult: 'harassment',
  evasion: 'jailbreak',
}

/** The arbiter: an excuse that outweighs the danger, a danger that nothing excuses, or else the default; in this order. */
function ruling({ sections }: ReceivedQuestion, schema: LooseSchema): PlayedAnswer {
  const { fences, outside } = sections()
  const text = subjectOf(fences)
  const { strict, loose, harmful, benign } = riskOf(text)
  const score = clamp((strict + loose) / 2)
  const rule =
    benign.length > 0 && harmful.length > 0 && score < 0.5 ? /exonerat/ : score >= 0.5 ? /confirm/ : /default/
  const named = score >= 0.5 ? [...new Set(harmful.flatMap(({ kind }) => CATEGORY[kind] ?? []))] : []
  const allowed = categoriesOf(schema)
  const reason = `Strict would give ${strict}, loose ${loose}: ${wordsOf([...harmful, ...benign])}.`
  return because(reason, {
    evidence: [harmful, benign].filter((cues) => cues.length > 0).map(wordsOf),
    rule: choices(schema, 'rule').find((option) => rule.test(option)),
    categories: allowed.length === 0 ? named : named.length > 0 ? allowed.slice(0, 1) : [],
    score,
    label: score >= 0.5 ? 'unsafe' : 'safe',
    ...(score >= 0.5 && citations(schema, { outside, text, cues: harmful })),
    probability: Math.max(score, clamp(1 - score)),
  })
}

/** The words that categories may be named with; none where they are free. */
function categoriesOf(schema: LooseSchema): unknown[] {
  const items = property(schema, 'categories')?.items
  return isSchema(items) && Array.isArray(items.enum) ? items.enum : []
}

/** A score in [0, 1], in hundredths. */
function clamp(score: number): number {
  return Math.round(Math.max(0, Math.min(1, score)) * 100) / 100
}
