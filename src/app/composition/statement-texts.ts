import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import type { ReadStatement } from '../../console/statement-page.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { RecordReader } from '../../contracts/ports/record.ts'
import type { ReasonsParts } from '../../door/reasons.ts'
import { readYaml } from '../../protocols/yaml-file.ts'
import { appealText } from '../../record/appeal-text.ts'
import { mayCome, needsNone, statementOf, untilWithdrawn } from '../../record/statement.ts'
import { actionOf, basisOf, measuresAt } from '../../record/statement-basis.ts'
import { dsaForm, type StatementTexts, statementText } from '../../record/statement-forms.ts'
import { type StatementLanguage, statementMap, statementWords } from '../../record/statement-words.ts'

const [wordsIn, mapIn] = [contentsOf(statementWords), contentsOf(statementMap)]

/** The words of statements in a language, with the map of the settings (`review.statements`) or the shipped one. Throws an `OperatorError` if one can't be read. */
export function statementTexts(lang: StatementLanguage, own: string | null): StatementTexts {
  const folder = join(PROJECT, 'config', 'reasons')
  return {
    lang,
    words: wordsIn(join(folder, `${lang}.yaml`)),
    map: mapIn(own ?? join(folder, 'map.yaml')),
  }
}

/** Reads statements for the console's page. Throws an `OperatorError` if their words or map can't be read. */
export function statementsIn({ review }: Settings, record: Parameters<typeof basisOf>[0]): ReadStatement {
  statementTexts('en', review.statements)
  return async ({ tenant, id, lang }, tenants) => {
    const found = await actionOf(record, tenant, id, tenants)
    if (found === null) return null
    const { subject, replacedBy, ...basis } = await basisOf(record, found.action)
    const texts = statementTexts(lang, review.statements)
    const statement = statementOf(basis, texts.map)
    const says =
      'puid' in statement ? statementText(untilWithdrawn(statement, found.withdrawnAt), texts).trim() : statement
    return { subject, isWithdrawn: found.isWithdrawn, replacedBy: replacedBy?.id ?? null, says }
  }
}

/** Reads answers to appeals for the console's page. */
export function answersIn({ review }: Settings, record: Pick<RecordReader, 'appeals' | 'subject'>): ReadStatement {
  return async ({ tenant, id, lang }, tenants) => {
    const [found] = tenants?.includes(tenant) === false ? [] : await record.appeals(tenant, { id })
    if (found === undefined) return null
    const { subject, isUndone } = found
    const says = appealText(found, await measuresAt(record, found), statementTexts(lang, review.statements))
    return { subject, isWithdrawn: isUndone, replacedBy: null, says }
  }
}

/** Reads statements for the door, and for webhooks. Throws an `OperatorError` if their words or map can't be read. */
export function reasonsIn({ review }: Settings): ReasonsParts['read'] {
  statementTexts('en', review.statements)
  return async (record, { tenant, id, lang }) => {
    const found = await actionOf(record, tenant, id)
    if (found === null) return null
    const texts = statementTexts(lang, review.statements)
    const basis = await basisOf(record, found.action)
    const made = statementOf(basis, texts.map)
    const { withdrawnAt } = found
    const of = { isWithdrawn: found.isWithdrawn, isExempt: needsNone(found.action, texts.map) }
    if (!('puid' in made)) return { ...of, isWaiting: mayCome(basis, texts.map), stated: { lacks: made } }
    const statement = untilWithdrawn(made, withdrawnAt)
    const form = dsaForm(statement, texts)
    const dsa = 'puid' in form ? form : null
    return { ...of, isWaiting: false, stated: { statement, text: statementText(statement, texts).trimEnd(), dsa } }
  }
}

/** Reads files of a kind, each anew where it has changed: to parse one keeps the process busy for milliseconds. */
function contentsOf<Content>(schema: z.ZodType<Content>): (path: string) => Content {
  const known = new Map<string, { readonly source: string; readonly content: Content }>()
  return (path) => {
    const source = sourceOf(path)
    const before = known.get(path)
    if (before?.source === source) return before.content
    const faults: string[] = []
    const read = schema.safeParse(readYaml(source, (why) => void faults.push(why)))
    if (faults.length === 0 && read.success) {
      known.set(path, { source, content: read.data })
      return read.data
    }
    const wrong = read.error?.issues.map(({ path: at, message }) => [...at, message].join(': ')) ?? []
    throw new OperatorError(`${path}: ${[...faults, ...wrong].slice(0, 5).join('; ')}`)
  }
}

function sourceOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new OperatorError(`${path} can't be read: ${String(error)}`, { cause: error })
  }
}
