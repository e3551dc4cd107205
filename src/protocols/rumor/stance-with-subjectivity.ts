import { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import {
  keptStancesAndKind,
  type Reasons,
  type StanceBatchAnswer,
  type StancesAndKind,
  stancesAndKindAnswer,
  type subjectivityAnswer,
  subjectivityIn,
} from './answers.ts'

type StanceBatch = Ask<StanceBatchAnswer>

/** The questions that it is made of, and that its parts are. */
interface Parts {
  stanceBatch(comments: readonly Comment[], label: string): StanceBatch
  stancesAndKind(comments: readonly Comment[], label: string): Ask<StancesAndKind>
  subjectivity(how: { readonly beside: boolean }): Ask<z.infer<typeof subjectivityAnswer>>
}

/**
 * A batch of stances that also asks for the claim's subjectivity, its last item. The comments are remembered as those of any
 * other batch of the same claim are.
 */
export function stancesWithSubjectivity(
  ask: Parts,
  comments: readonly Comment[],
  { answer: _, batch: plain, ...asked }: StanceBatch,
  { reasons, turned }: { readonly reasons: Reasons; readonly turned: boolean },
): Ask<StancesAndKind> {
  if (plain === undefined) throw new Error('a question about several comments is a batch')
  const { label = '' } = asked
  const last = comments.length
  return {
    ...asked,
    answer: stancesAndKindAnswer(comments.length, reasons, turned),
    kept: keptStancesAndKind,
    batch: {
      count: comments.length + 1,
      texts: [...plain.texts, 'subjectivity'],
      single: keptStancesAndKind,
      subset(items) {
        const some = items.flatMap((item) => comments[item] ?? [])
        if (!items.includes(last)) return ask.stanceBatch(some, label) as Ask<StancesAndKind>
        return some.length === 0 ? kindAlone(ask, asked, turned) : ask.stancesAndKind(some, label)
      },
      pick({ subjectivity, scores = [] }, nth) {
        const score = scores.find(({ comment }) => comment === nth + 1)
        if (score !== undefined) return { scores: [{ ...score, comment: 1 }] }
        // What a model answers has a score for each comment: what comes after them is the last item.
        const isLast = nth === last || nth === scores.length
        return isLast && subjectivity !== undefined ? { subjectivity } : undefined
      },
      merge: (answers) => ({
        subjectivity: answers.get(last)?.subjectivity,
        scores: [...answers]
          .sort(([a], [b]) => a - b)
          .flatMap(([item, { scores = [] }]) => scores.map((score) => ({ ...score, comment: item + 1 }))),
      }),
    },
  }
}

/** The question for the subjectivity alone, where all comments are known: on the queue of its batch, and in its form. */
function kindAlone(
  ask: Pick<Parts, 'subjectivity'>,
  { stage, label = '', about = [] }: Pick<Ask, 'stage' | 'label' | 'about'>,
  turned: boolean,
): Ask<StancesAndKind> {
  const { messages, role, temperature, maxTokens } = ask.subjectivity({ beside: true })
  const answer: z.ZodType<StancesAndKind> = z.object({ subjectivity: subjectivityIn(turned) })
  return { stage, label, about, messages, role, temperature, maxTokens, answer, kept: keptStancesAndKind }
}
