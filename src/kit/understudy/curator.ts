import { affirmedCues, readConduct, wordsOf } from './conduct.ts'
import { property } from './json-schema.ts'
import { because, subjectOf, type UnderstudyRole } from './role.ts'
import { topicsOf } from './terms.ts'

const MOST_CUES = 6

/** The curator of precedents: which kinds of words the case turns on, and a summary that repeats none of them. */
export const curator: UnderstudyRole = ({ stage, sections }, schema) => {
  if (!stage?.includes('curat') || !property(schema, 'keyCues')) return undefined
  const text = subjectOf(sections().fences)
  const { own, quoted } = readConduct(text)
  const cues = [
    ...affirmedCues(own, ['threat', 'hazard', 'method', 'dehumanising', 'coded', 'exclusion', 'evasion', 'insult']),
    ...affirmedCues(own, ['refusal', 'care', 'report', 'reclaiming']),
  ]
  const kinds = [...new Set(cues.map(({ kind }) => `words of ${kind}`))]
  if (quoted.cues.length > 0) kinds.push('words in quotation marks')
  return because(`The case turns on ${wordsOf(cues)}.`, {
    keyCues: kinds.length > 0 ? kinds.slice(0, MOST_CUES) : ['no word on the list'],
    summary: `A text of ${topicsOf(text).size} topics, with ${wordsOf(cues)}.`,
  })
}
