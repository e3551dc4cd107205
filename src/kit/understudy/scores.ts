import { readConduct, saidOf } from './conduct.ts'
import type { Conduct } from './conduct-words.ts'
import { property } from './json-schema.ts'
import { ofKind, type Role } from './role.ts'

/** By what a score is called: the kinds of words that it counts. */
const KINDS: Readonly<Record<string, readonly Conduct[]>> = {
  toxicity: ['insult', 'profanity', 'threat', 'dehumanising', 'exclusion'],
  severeToxicity: ['threat', 'dehumanising'],
  identityAttack: ['dehumanising', 'exclusion', 'stereotype'],
  insult: ['insult', 'dehumanising'],
  profanity: ['profanity'],
  threat: ['threat'],
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

/** Scores of single texts, by counting words: what stands in quotation marks does not count. */
export const scores: Role = ({ fences }, schema) => {
  const asked = Object.entries(KINDS).filter(([name]) => property(schema, name) !== undefined)
  if (property(schema, 'toxicity') === undefined && property(schema, 'harassment') === undefined) return undefined
  const { own } = readConduct(
    ofKind(fences, /^text/)
      .map(({ text }) => text)
      .join('\n'),
  )
  const counted = asked.map(([name, kinds]) => {
    const said = saidOf(own, kinds).length
    return [name, said === 0 ? 2 : Math.min(97, 60 + 15 * said)]
  })
  return { language: 'en', ...Object.fromEntries(counted) }
}
