import { affirmedCues, type ConductReading, readConduct } from './conduct.ts'
import type { FencedText } from './fences.ts'
import { type LooseSchema, properties, property } from './json-schema.ts'
import type { ReceivedQuestion } from './question.ts'
import { because, ofKind, type PlayedAnswer, type UnderstudyRole } from './role.ts'
import { inCommon, termsOf, topicsOf } from './terms.ts'

/** Counterspeech's scorer, and the writer of its steps. */
export const counterspeech: UnderstudyRole = (question, schema) => {
  const aspect = aspectOf(question)
  if (aspect === undefined) return undefined
  if (property(schema, 'steps')) return { steps: STEPS.map((step) => step.replace('ASPECT', aspect)) }
  if (property(schema, 'score')) return scored(question, schema, aspect)
  const each = properties(schema).flatMap(([name, inner]) => {
    const own = ASPECTS.find((one) => one === name)
    return own === undefined ? [] : [[name, scored(question, inner, own)] as const]
  })
  return each.length === 0 ? undefined : Object.fromEntries(each)
}

const ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const
type Aspect = (typeof ASPECTS)[number]
const ASPECT = new RegExp(ASPECTS.join('|'), 'i')

const STEPS = [
  'Read the hate speech and then the reply to it.',
  'Find the words of the reply that bear on its ASPECT.',
  'Give the score whose meaning comes nearest to what was found.',
]

/** The aspect that the prompt names first, outside every fence. */
function aspectOf({ stage, sections }: ReceivedQuestion): Aspect | undefined {
  if (!stage || !/score|steps|draft|refine/.test(stage)) return undefined
  const named = sections().outside.join('\n').match(ASPECT)?.[0].toLowerCase()
  return ASPECTS.find((aspect) => aspect === named)
}

type Reply = {
  readonly reading: ConductReading
  readonly words: readonly string[]
  /** Words that it takes up from the hate speech. */
  readonly taken: number
}

function scored({ sections }: ReceivedQuestion, schema: LooseSchema, aspect: Aspect): PlayedAnswer {
  const { fences } = sections()
  const text = replyOf(fences)
  const attack = ofKind(fences, /hate|speech|post/).find(({ text: other }) => other !== text)?.text ?? ''
  const reply: Reply = {
    reading: readConduct(text),
    words: termsOf(text),
    taken: inCommon(topicsOf(text), topicsOf(attack)),
  }
  const { share, why } = reply.reading.empty ? { share: 0, why: 'The reply has no words' } : SCALES[aspect](reply)
  const [lowest, highest] = boundsOf(schema, aspect)
  return because(`${why}.`, { score: Math.round(lowest + Math.max(0, Math.min(1, share)) * (highest - lowest)) })
}

/** Where on its scale a reply stands, from 0 to 1, by rough counts. */
const SCALES: Readonly<Record<Aspect, (reply: Reply) => { readonly share: number; readonly why: string }>> = {
  relevance: ({ reading: { own }, taken }) => {
    const onTopic = affirmedCues(own, ['group', 'report', 'coded', 'argument']).length
    return {
      share: 0.25 * Math.min(3, taken) + 0.15 * Math.min(2, onTopic),
      why: `Words shared with the hate speech (${taken}) and words about it (${onTopic})`,
    }
  },
  aggressiveness: ({ reading }) => {
    const [sharp, sharper] = [sharpOf(reading), affirmedCues(reading.own, ['threat', 'dehumanising']).length]
    return {
      share: 0.35 * sharp + 0.6 * sharper,
      why: `Words of insult or swearing (${sharp}), of threat (${sharper})`,
    }
  },
  coherence: ({ reading: { own }, words }) => {
    const reasons = affirmedCues(own, ['argument']).length
    const length = words.length >= 12 ? 0.6 : words.length >= 6 ? 0.4 : 0.1
    return { share: length + 0.2 * reasons, why: `${words.length} words, words of argument (${reasons})` }
  },
  suitableness: ({ reading, words, taken }) => {
    const kind = affirmedCues(reading.own, ['empathy', 'argument']).length
    const harsh = sharpOf(reading) + affirmedCues(reading.own, ['threat', 'dehumanising']).length
    const enough = words.length >= 6 && taken > 0 ? 0.3 : 0.1
    return {
      share: enough + 0.25 * kind - 0.4 * harsh,
      why: `Words of empathy or argument (${kind}), of attack (${harsh})`,
    }
  },
}

function sharpOf({ own }: ConductReading): number {
  return affirmedCues(own, ['insult', 'profanity', 'stereotype', 'exclusion']).length
}

function replyOf(fences: readonly FencedText[]): string {
  return (ofKind(fences, /counter|reply|response|answer/).at(-1) ?? fences.at(-1))?.text ?? ''
}

function boundsOf(schema: LooseSchema, aspect: Aspect): [number, number] {
  const { minimum, maximum } = property(schema, 'score') ?? {}
  return [
    typeof minimum === 'number' ? minimum : 1,
    typeof maximum === 'number' ? maximum : aspect === 'suitableness' ? 3 : 5,
  ]
}
