import { DSA_COUNTRIES, type DsaStatement, dsaStatement } from '../contracts/facts/dsa-statement.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Statement } from './statement.ts'
import { filled, type StatementLanguage, type StatementMap, type StatementWords } from './statement-words.ts'

/** In which words a statement is written. */
export interface StatementTexts {
  readonly lang: StatementLanguage
  readonly words: StatementWords
  readonly map: StatementMap
}

const COUNTRY_NAMES = {
  en: new Intl.DisplayNames(['en'], { type: 'region' }),
  de: new Intl.DisplayNames(['de'], { type: 'region' }),
}

/** The statement as people read it. */
export function statementText(statement: Statement, texts: StatementTexts): string {
  const { words, map, lang } = texts
  const { since, until, countries, decision, source, automatedDetection, automatedDecision, puid, subject } = statement
  const named = countries?.map((code) => COUNTRY_NAMES[lang].of(code) ?? code)
  return filled(words.text, {
    title: words.title,
    about: filled(words.about, { subject }),
    puid,
    done: entryOf(words.done, decision) ?? '',
    when: until === null ? filled(words.since, { since }) : filled(words.until, { since, until }),
    where: named === undefined ? words.everywhere : filled(words.countries, { countries: named.join(', ') }),
    ...partsOf(statement, texts),
    source: words.source[source],
    detection: words.detection[automatedDetection],
    decision: words.decision[automatedDecision],
    redress: filled(map.redress?.[lang] ?? '', { puid }),
  })
}

/** The words for what it rests on. */
function partsOf({ ground, clause, found, contentDate }: Statement, { lang, words, map }: StatementTexts) {
  const reason = entryOf(map.ground, ground)
  const rule = clause === null ? undefined : entryOf(map.clauses, clause)
  const [groundName, clauseName] = [reason?.[lang] ?? '', rule?.[lang] ?? '']
  const label = found === null ? '' : (entryOf(entryOf(map.labels, found.protocol) ?? {}, found.label)?.[lang] ?? '')
  return {
    facts:
      found === null
        ? filled(words.unjudged, { contentDate })
        : filled(words.facts, { contentDate, decidedDate: found.date, label }),
    groundWords: filled(clause === null ? words.ground : words.clause, { ground: groundName, clause: clauseName }),
    explanation:
      (rule ?? reason)?.because?.[lang] ??
      (clause === null
        ? filled(words.explanation, { label })
        : filled(words.explanationOfClause, { clause: clauseName })),
  }
}

const END_DATES = {
  visibility: 'end_date_visibility_restriction',
  monetary: 'end_date_monetary_restriction',
  provision: 'end_date_service_restriction',
  account: 'end_date_account_restriction',
} as const

/** The statement in the database's form, or which of the database's rules it breaks. */
export function dsaForm(statement: Statement, texts: StatementTexts): DsaStatement | readonly string[] {
  const { kind, decision, ground, until, contentLanguage } = statement
  const { facts, groundWords, explanation } = partsOf(statement, texts)
  const isIllegal = entryOf(texts.map.ground, ground)?.is === 'DECISION_GROUND_ILLEGAL_CONTENT'
  const read = dsaStatement.safeParse({
    [`decision_${kind}`]: kind === 'visibility' ? [decision] : decision,
    ...(isIllegal
      ? {
          decision_ground: 'DECISION_GROUND_ILLEGAL_CONTENT',
          illegal_content_legal_ground: groundWords,
          illegal_content_explanation: explanation,
        }
      : {
          decision_ground: 'DECISION_GROUND_INCOMPATIBLE_CONTENT',
          incompatible_content_ground: groundWords,
          incompatible_content_explanation: explanation,
        }),
    category: statement.category,
    content_type: statement.contentTypes,
    content_date: statement.contentDate,
    ...(contentLanguage === null ? {} : { content_language: contentLanguage }),
    application_date: statement.since,
    ...(until === null ? {} : { [END_DATES[kind]]: until }),
    territorial_scope: (statement.countries ?? DSA_COUNTRIES).filter((one) => DSA_COUNTRIES.includes(one)),
    decision_facts: facts,
    source_type: statement.source,
    automated_detection: statement.automatedDetection,
    automated_decision: statement.automatedDecision,
    puid: statement.puid,
  })
  return read.success ? read.data : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}
