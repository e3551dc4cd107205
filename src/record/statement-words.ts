import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ANSWERS } from '../contracts/facts/appeal-messages.ts'
import {
  DSA_AUTOMATED,
  DSA_CATEGORIES,
  DSA_DECISIONS,
  DSA_GROUNDS,
  DSA_SOURCES,
} from '../contracts/facts/dsa-statement.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'

/** Languages in which statements are written. */
export const STATEMENT_LANGUAGES = ['en', 'de'] as const
export type StatementLanguage = (typeof STATEMENT_LANGUAGES)[number]

const words = z.string().min(1).max(400)
const inLanguages = { en: words, de: words }
/** Why content is against a clause or a ground: it takes the place of the sentence that names the clause or the label alone. */
const because = z.strictObject({ en: z.string().min(1).max(1_900), de: z.string().min(1).max(1_900) }).optional()
const redress = z.strictObject({ en: z.string().min(1).max(1_000), de: z.string().min(1).max(1_000) }).optional()
const category = z.enum(DSA_CATEGORIES)
export const DECISIONS: readonly string[] = Object.values(DSA_DECISIONS).flat()

/** What statements make of a platform's own words, and of labels and clauses. */
export const statementMap = z.strictObject({
  what: z.record(z.string(), z.enum(DECISIONS)),
  source: z.record(z.string(), z.enum(DSA_SOURCES)),
  ground: z
    .record(
      z.string(),
      z.strictObject({ is: z.enum(DSA_GROUNDS), alone: z.boolean().optional(), because, ...inLanguages }),
    )
    .refine((grounds) => Object.keys(grounds).length > 0, 'names no ground'),
  /** Words of actions that need no statement. */
  exempt: z.strictObject({ what: z.array(z.string()).optional(), source: z.array(z.string()).optional() }).optional(),
  labels: z.record(z.string(), z.record(z.string(), z.strictObject({ category, ...inLanguages }))),
  clauses: z.record(z.string(), z.strictObject({ category: category.optional(), because, ...inLanguages })),
  redress,
  /** What people may do after the answer to an appeal. */
  furtherRedress: redress,
  /** Codes of reasons by which appeals are answered. */
  reasons: z.record(z.string(), z.strictObject(inLanguages)).optional(),
})
export type StatementMap = z.infer<typeof statementMap>

/** The words of one language. */
export const statementWords = z.strictObject({
  title: words,
  about: words,
  done: z.record(z.enum(DECISIONS), words),
  since: words,
  until: words,
  everywhere: words,
  countries: words,
  facts: words,
  unjudged: words,
  ground: words,
  clause: words,
  explanation: words,
  explanationOfClause: words,
  source: z.record(z.enum(DSA_SOURCES), words),
  detection: z.record(z.enum(['Yes', 'No']), words),
  decision: z.record(z.enum(DSA_AUTOMATED), words),
  text: z.string().min(1).max(2_000),
  /** Of answers to appeals. */
  answer: z.strictObject({
    title: words,
    received: words,
    measure: words,
    takenBack: words,
    author: z.record(z.enum(ANSWERS), words),
    notifier: z.record(z.enum(ANSWERS), words),
    person: words,
    text: z.string().min(1).max(2_000),
  }),
})
export type StatementWords = z.infer<typeof statementWords>

/** A template with its places filled. Throws where it names a place that there is nothing for. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = entryOf(values, name)
    if (value === undefined) throw new Error(`the template has a place {${name}}, and there is none`)
    return value
  })
}

/** Names an action's statement, within the platform: the same for the same action, and nothing can be read from it. */
export function puidOf(tenant: string, action: string): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, action]))
    .digest('base64url')
}
