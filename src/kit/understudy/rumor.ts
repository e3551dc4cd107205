import { readCues } from './cues.ts'
import { verdict } from './debaters.ts'
import type { FencedText } from './fences.ts'
import { property } from './json-schema.ts'
import type { ReceivedQuestion } from './question.ts'
import { because, choices, type UnderstudyRole } from './role.ts'
import { isSubjective, lean, stance } from './weigh.ts'

/** Rumor's scorer, classifier, debaters and judge. */
export const rumor: UnderstudyRole = (question, schema) => {
  const options = choices(schema, 'answer')
  if (options.includes('Real') && options.includes('Fake')) {
    const { reasoning, ...said } = verdict(question, options.includes('Unverified'))
    return because(reasoning, said)
  }
  if (question.stage?.includes('subjectiv')) return subjectivity(question)
  if (!question.stage?.includes('stance')) return undefined
  if (property(schema, 'scores')) {
    const scores = batch(question)
    return property(schema, 'subjectivity') ? { subjectivity: subjectivity(question), scores } : { scores }
  }
  if (property(schema, 'subjectivity')) return { subjectivity: subjectivity(question) }
  return property(schema, 'score') ? single(question) : undefined
}

function subjectivity({ fences }: ReceivedQuestion) {
  return isSubjective(readCues(claimOf(fences)))
    ? because('Subjective: more words of opinion or jest than of fact.', { answer: 'Yes' })
    : because('Not subjective: its words state something that can be checked.', { answer: 'No' })
}

function batch({ fences }: ReceivedQuestion) {
  const claim = readCues(claimOf(fences))
  return commentsOf(fences).map(({ number, text }, index) => ({ comment: number ?? index + 1, ...scored(claim, text) }))
}

function single({ fences }: ReceivedQuestion) {
  return scored(readCues(claimOf(fences)), commentsOf(fences)[0]?.text ?? '')
}

function scored(claim: ReturnType<typeof readCues>, text: string) {
  const leanings = lean(claim, readCues(text))
  const kinds = [...new Set(leanings.map(({ cue }) => cue.kind))]
  const reason = kinds.length === 0 ? 'No word on the list takes a side.' : `Words of ${kinds.join(', ')}.`
  return because(reason, { score: stance(leanings) })
}

function claimOf(fences: readonly FencedText[]): string {
  return (fences.find(({ kind }) => kind === 'claim') ?? fences.find(({ kind }) => kind !== 'comment'))?.text ?? ''
}

function commentsOf(fences: readonly FencedText[]): FencedText[] {
  return fences.filter(({ kind }) => kind === 'comment')
}
