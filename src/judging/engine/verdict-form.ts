import type { SubjectKind } from '../../contracts/facts/thread.ts'
import { type Verdict, verdict, versions } from '../../contracts/facts/verdict.ts'
import {
  languageOf,
  schemaTwo,
  UNKNOWN_CONFIDENCE,
  type VerdictDebate,
  type VerdictForm,
} from '../../contracts/facts/verdict-fields.ts'

const ADDED = Object.fromEntries(Object.keys(schemaTwo).map((field) => [field, true])) as Record<
  keyof typeof schemaTwo,
  true
>
/** A verdict as readers of schema 1 alone take it. */
const schemaOne = verdict.omit(ADDED).extend({ versions })

/** The verdict in the schema that it is written in. */
export function inForm(made: Verdict, { schema }: VerdictForm): Verdict {
  return schema === 2 ? { ...made, schema } : schemaOne.parse({ ...made, schema })
}

/**
 * The verdict with a place for what the store knows of its story as it takes it (withStory in threads/story.ts): no other verdict
 * comes between. A post alone has a story, and schema 1 says nothing of it.
 */
export function storyPlaced(made: Verdict, kind: SubjectKind): Verdict {
  const { schema, story: _, ...rest } = made
  return kind === 'post' && schema === 2 ? ({ schema, story: null, ...rest } as unknown as Verdict) : made // No reader sees the place.
}

/** There was nothing to debate, or no machine that could have. */
export const NO_DEBATE: VerdictDebate = { held: false, why: 'none' }

/** What a verdict of schema 2 always says, as far as it is known. */
export function fillSchemaTwo(
  kind: SubjectKind,
  lang: string | undefined,
  { debated = NO_DEBATE, confidence = UNKNOWN_CONFIDENCE }: Pick<Verdict, 'debated' | 'confidence'> = {},
) {
  return { subjectKind: kind, lang: languageOf(lang), debated, confidence }
}

/** What another verdict says by the fields of schema 2. */
export function pickSchemaTwo(ruling: Partial<Verdict>): Partial<Verdict> {
  return Object.fromEntries(Object.entries(ruling).filter(([field]) => Object.hasOwn(ADDED, field)))
}
