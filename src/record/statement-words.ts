import { createHash } from 'node:crypto'
import { z } from 'zod'
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
const category = z.enum(DSA_CATEGORIES)
export const DECISIONS: readonly string[] = Object.values(DSA_DECISIONS).flat()

/** What statements make of a platform's own words, and of labels and clauses. */
export const statementMap = z.strictObject({
  what: z.record(z.string(), z.enum(DECISIONS)),
  source: z.record(z.string(), z.enum(DSA_SOURCES)),
  ground: z
    .record(z.string(), z.strictObject({ is: z.enum(DSA_GROUNDS), ...inLanguages }))
    .refine((grounds) => Object.keys(grounds).length > 0, 'names no ground'),
  labels: z.record(z.string(), z.record(z.string(), z.strictObject({ category, ...inLanguages }))),
  clauses: z.record(z.string(), z.strictObject({ category: category.optional(), ...inLanguages })),
  redress: z.strictObject({ en: z.string().min(1).max(1_000), de: z.string().min(1).max(1_000) }),
})
export type StatementMap = z.infer<typeof statementMap>

/** The words of one language. */
export const statementWords = z.strictObject({
  title: words,
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
