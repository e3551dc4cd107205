import { citations, forbiddenWords } from './clauses.ts'
import { affirmedCues, type ConductReading, readConduct, weightOf, wordsOf } from './conduct.ts'
import type { Conduct } from './conduct-words.ts'
import type { Cue } from './cues.ts'
import type { Sections } from './fences.ts'
import { hash } from './hash.ts'
import { type LooseSchema, properties, property } from './json-schema.ts'
import type { ReceivedQuestion } from './question.ts'
import { because, choices, ofKind, subjectOf, type UnderstudyRole } from './role.ts'
import { shared } from './terms.ts'

/** Hate's annotators, debaters and judge: by what the answer looks like rather than by the stage's name. */
export const hate: UnderstudyRole = (question, schema) => {
  const labels = labelsOf(schema)
  if (labels)
    return labels.unsure === undefined ? judgement(question, schema, labels) : annotation(question, schema, labels)
  if (property(schema, 'argument')) return turn(question, property(schema, 'holds') !== undefined)
  const each = properties(schema).flatMap(([name, inner]) => {
    const own = labelsOf(inner)
    return own === undefined ? [] : [[name, annotation(question, inner, own, name)] as const]
  })
  return each.length === 0 ? undefined : Object.fromEntries(each)
}

type Labels = { readonly hate: string; readonly other: string; readonly unsure: string | undefined }

const HATE = /hate|offensive|toxic/i
const NOT = /^(?:not|non|no)\b|clean|normal/i
const UNSURE = /know|unsure|abstain/i

function labelsOf(schema: LooseSchema): Labels | undefined {
  const options = choices(schema, 'label')
  const other = options.find((option) => NOT.test(option))
  const hateful = options.find((option) => HATE.test(option) && option !== other)
  if (other === undefined || hateful === undefined) return undefined
  return { hate: hateful, other, unsure: options.find((option) => UNSURE.test(option)) }
}

type Weights = Readonly<Partial<Record<Conduct, number>>>

/** What each kind weighs where only hate counts; above a half a text is hateful. */
const ONLY_HATE = {
  threat: 1,
  dehumanising: 0.9,
  coded: 0.9,
  exclusion: 0.5,
  stereotype: 0.5,
  insult: 0.3,
  profanity: 0.2,
} as const satisfies Weights
/** And where every offence does. */
const ANY_OFFENCE = { ...ONLY_HATE, insult: 0.6, profanity: 0.6 } as const satisfies Weights
const BETWEEN = { ...ONLY_HATE, insult: 0.45, profanity: 0.3 } as const satisfies Weights

const HATEFUL_ABOVE = 0.5
const HOSTILE: readonly Conduct[] = [
  'threat',
  'dehumanising',
  'coded',
  'exclusion',
  'stereotype',
  'insult',
  'profanity',
]
const AIMED: readonly Conduct[] = ['dehumanising', 'exclusion', 'stereotype', 'insult', 'threat']

type Hostility = {
  readonly weight: number
  readonly cues: readonly Cue<Conduct>[]
  /** Why hostile words weigh less here: they are somebody else's, or the author's own name. */
  readonly excuse: 'quoted' | 'reclaimed' | null
}

/** What a text's hostile words weigh. Words that are quoted count little, those that their targets take up not at all. */
function hostility({ own, quoted }: ConductReading, weights: Weights, literal = false): Hostility {
  const said = affirmedCues(own, HOSTILE)
  const passedOn = affirmedCues(quoted, HOSTILE)
  const reports = !literal && affirmedCues(own, ['report']).length > 0
  const reclaimed =
    !literal && said.some(({ kind }) => kind === 'coded') && affirmedCues(own, ['reclaiming']).length > 0
  const counted = reclaimed ? said.filter(({ kind }) => kind !== 'coded') : said
  const aimed = counted.some(({ kind }) => AIMED.includes(kind)) && affirmedCues(own, ['group']).length > 0 ? 0.4 : 0
  const voiced = weightOf(counted, weights) + aimed
  return {
    weight: hundredths(
      (reports ? voiced * 0.4 : voiced) + weightOf(passedOn, weights) * (literal ? 1 : reports ? 0 : 0.3),
    ),
    cues: [...said, ...passedOn],
    excuse: reclaimed ? 'reclaimed' : !literal && (reports || passedOn.length > 0) ? 'quoted' : null,
  }
}

/**
 * How perspectives of the sets for platforms differ: by where hate begins for them, and the strictest takes words at the letter, whoever's
 * they are. Those of the paper differ by their labels.
 */
const TEMPERS = [
  { above: 0.3, literal: true },
  { above: 0.5, literal: false },
  { above: 0.7, literal: false },
] as const
const PLATFORMS = /^hateful$/i

/**
 * One perspective's label. Those that ask for offence rather than hate count insults and swearing for more. Each has a temper, by what
 * it is asked, so that perspectives differ on texts that are a near thing.
 */
function annotation({ sections }: ReceivedQuestion, schema: LooseSchema, labels: Labels, name = '') {
  const asked = sections()
  const text = subjectOf(asked.fences)
  const reading = readConduct(text)
  if (reading.empty) return because('It has no word that could be counted.', { label: labels.unsure })
  const quoted = byPolicy(schema, { outside: asked.outside, text }, labels)
  if (quoted !== null) return quoted
  const drawn = hash(`${asked.outside.join('\n')}${name}`) % TEMPERS.length
  const temper = PLATFORMS.test(labels.hate) ? TEMPERS[drawn] : undefined
  const found = hostility(reading, /offen/i.test(labels.hate) ? ANY_OFFENCE : ONLY_HATE, temper?.literal)
  const likeness = pull(text, asked, labels)
  const beside = likeness === 0 ? '' : `, and a like example is ${likeness > 0 ? labels.hate : labels.other}`
  const isHate = found.weight + likeness > (temper?.above ?? HATEFUL_ABOVE)
  return because(`${capital(grounds(found))}${beside}.`, {
    label: isHate ? labels.hate : labels.other,
    ...(isHate && citations(schema, { outside: asked.outside, text, cues: found.cues })),
  })
}

/** Hateful by the policy's own quotations, whatever else is thought of it; null where it quotes nothing that stands in the text. */
function byPolicy(schema: LooseSchema, of: Parameters<typeof forbiddenWords>[1], labels: Labels) {
  const clause = forbiddenWords(schema, of)
  if (clause === null) return null
  return because(`It has words that ${clause.id} quotes.`, { label: labels.hate, clauses: [clause] })
}

const LABEL = /^\d+ \((.*)\): $|Label: ([^\n]*)\n$/im
const ALIKE = 0.4

/** Labelled examples that share many words with the text draw it a little to their side. */
function pull(text: string, { fences, outside }: Sections, labels: Labels): number {
  const drawn = fences.map((example, at): number => {
    const [, listed, label = listed] = (example.kind === 'example' && outside[at]?.match(LABEL)) || []
    if (label === undefined || shared(text, example.text) < ALIKE) return 0
    return label === labels.hate ? 0.2 : label === labels.other ? -0.2 : 0
  })
  return drawn.reduce((sum, one) => sum + one, 0)
}

const SIDE =
  /(?:your side holds|in your view|you (?:argue|hold|speak|claim|think|stand))\b[^.?!]*?\b(not hateful|non-hate(?:ful)?|hate(?:ful)?)\b/i
const AGREES = /^I agree with the (hate|non-hate) side/

/** A debater's sentence: its side's view first, later a rebuttal, or agreement where the words say otherwise too plainly. */
function turn({ sections, replies }: ReceivedQuestion, mayGiveUp: boolean) {
  const { fences, outside } = sections()
  const found = hostility(readConduct(subjectOf(fences)), BETWEEN)
  const side = outside.join('\n').match(SIDE)?.[1]?.toLowerCase()
  const forHate = side === undefined ? found.weight > HATEFUL_ABOVE : side.startsWith('hate')
  const isHopeless = forHate ? found.weight < 0.15 : found.weight >= 1
  if (mayGiveUp && isHopeless) return argued(`Nothing can honestly be said for my side: ${grounds(found)}`, 'no')
  if (replies.length > 0 && !forHate && found.weight >= 1)
    return argued(`I agree with the hate side: ${grounds(found)}`)
  if (replies.length > 0 && forHate && found.weight < 0.3)
    return argued(`I agree with the non-hate side: ${grounds(found)}`)
  const opening = replies.length > 0 ? 'I rebut the other side: the' : 'The'
  const view = forHate ? 'hateful' : 'not hateful'
  const speaksFor = forHate === (found.cues.length > 0 && found.excuse === null)
  return argued(`${opening} text is ${view}, ${speaksFor ? 'for it has' : 'though it has'} ${grounds(found)}`)
}

function argued(sentence: string, holds: 'yes' | 'no' = 'yes') {
  return because(`${sentence}.`, { argument: `${sentence}.`, holds })
}

/** The judge: the text's own words, and who of the debaters came over in the end. */
function judgement({ sections }: ReceivedQuestion, schema: LooseSchema, labels: Labels) {
  const { fences, outside } = sections()
  const text = subjectOf(fences)
  const quoted = byPolicy(schema, { outside, text }, labels)
  if (quoted !== null) return { ...quoted, probability: 0.99 }
  const reading = readConduct(text)
  const found = hostility(reading, BETWEEN)
  const history = ofKind(fences, /argument|debat|turn|history/)
  const joined = history.reduce((sum, { text }) => {
    const [, side] = text.match(AGREES) ?? []
    return sum + (side === 'hate' ? 0.1 : side === 'non-hate' ? -0.1 : 0)
  }, 0)
  const hateful = found.weight + joined > HATEFUL_ABOVE
  return because(`${capital(grounds(found))}, after ${history.length} arguments.`, {
    label: hateful ? labels.hate : labels.other,
    ...(hateful && citations(schema, { outside, text, cues: found.cues })),
    probability: hundredths(Math.min(0.99, 0.5 + Math.abs(found.weight + joined - HATEFUL_ABOVE))),
  })
}

function grounds({ cues, excuse }: Hostility): string {
  const words = wordsOf(cues)
  if (excuse === 'quoted') return `${words}, reported or quoted`
  return excuse === 'reclaimed' ? `${words}, taken up by those they name` : words
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
