import { affirmedCues, readConduct } from './conduct.ts'
import type { Conduct } from './conduct-words.ts'
import { isSchema, type LooseSchema, property } from './json-schema.ts'
import { ofKind, type UnderstudyRole } from './role.ts'

/** By what a score is called: the kinds of words that it counts. */
const KINDS: Readonly<Record<string, readonly Conduct[]>> = {
  toxicity: ['insult', 'profanity', 'threat', 'dehumanising', 'exclusion'],
  severeToxicity: ['threat', 'dehumanising'],
  identityAttack: ['dehumanising', 'exclusion', 'stereotype'],
  insult: ['insult', 'dehumanising'],
  profanity: ['profanity'],
  threat: ['threat'],
  sexuallyExplicit: [],
  flirtation: [],
  attackOnAuthor: ['insult'],
  attackOnCommenter: ['insult'],
  incoherent: [],
  inflammatory: ['insult', 'threat', 'dehumanising', 'exclusion'],
  likelyToReject: ['insult', 'profanity', 'threat', 'dehumanising', 'exclusion'],
  obscene: ['profanity'],
  spam: [],
  unsubstantial: [],
  affinity: ['empathy'],
  compassion: ['empathy'],
  curiosity: [],
  nuance: ['argument'],
  personalStory: [],
  reasoning: ['argument'],
  respect: ['empathy'],
  alienation: ['dehumanising', 'exclusion'],
  fearmongering: [],
  generalization: ['stereotype'],
  moralOutrage: ['insult'],
  powerAppeal: [],
  scapegoating: [],
  harassment: ['insult', 'threat'],
  harassmentThreatening: ['threat'],
  hate: ['dehumanising', 'exclusion', 'stereotype'],
  hateThreatening: [],
  illicit: ['method'],
  illicitViolent: [],
  selfHarm: [],
  selfHarmIntent: [],
  selfHarmInstructions: [],
  sexual: [],
  sexualMinors: [],
  violence: ['threat'],
  violenceGraphic: [],
}

/** A score by which each form is known. */
const SIGNS = ['toxicity', 'likelyToReject', 'affinity', 'harassment']

/** Scores of single texts, or of their sentences, by counting words: what stands in quotation marks does not count. */
export const scores: UnderstudyRole = ({ fences }, schema) => {
  const each = property(schema, 'sentences')?.items
  const isOfScores = (one: LooseSchema) => SIGNS.some((name) => property(one, name, schema) !== undefined)
  if (isSchema(each) && isOfScores(each)) {
    const asked = kindsIn(each, schema)
    const sentences = ofKind(fences, /^sentence$/)
    return {
      sentences: sentences.map(({ number, text }, at) => ({ sentence: number ?? at + 1, ...counted(text, asked) })),
    }
  }
  if (!isOfScores(schema)) return undefined
  const texts = ofKind(fences, /^text/).map(({ text }) => text)
  return { language: 'en', ...counted(texts.join('\n'), kindsIn(schema)) }
}

type Kinds = readonly (readonly [name: string, kinds: readonly Conduct[]])[]

function kindsIn(schema: LooseSchema, root = schema): Kinds {
  return Object.entries(KINDS).filter(([name]) => property(schema, name, root) !== undefined)
}

function counted(text: string, asked: Kinds): Record<string, number> {
  const { own } = readConduct(text)
  const of = (kinds: readonly Conduct[]) => affirmedCues(own, kinds).length
  return Object.fromEntries(
    asked.map(([name, kinds]) => [name, of(kinds) === 0 ? 2 : Math.min(97, 60 + 15 * of(kinds))]),
  )
}
