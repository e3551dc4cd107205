import { ANSWERS } from '../contracts/facts/appeal-messages.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { RecordedAppeal } from '../contracts/ports/record.ts'
import type { StatementTexts } from './statement-forms.ts'
import { DECISIONS, filled } from './statement-words.ts'

/**
 * A person's answer to an appeal, as the one who appealed reads it, or everything that is missing for it: words of the map and the
 * templates, ids and dates, and no word of a person. `measures`: what was in force against an author when they appealed. Dates are in UTC.
 */
export function appealText(
  { id, at, by, subject, outcome, isUndone }: RecordedAppeal,
  measures: readonly string[],
  { words: { answer: words, about, done }, map, lang }: StatementTexts,
): string | readonly string[] {
  if (outcome === null) return ['an answer: it waits for one']
  if (!ANSWERS.includes(outcome.outcome)) return [`an answer by a person: it ended as ${outcome.outcome}`]
  const code = outcome.code ?? ''
  const reason = entryOf(map.reasons ?? {}, code)?.[lang]
  const redress = map.furtherRedress?.[lang]
  const lacks = [
    ...(isUndone ? ['an answer that is in force: the decision was withdrawn'] : []),
    ...(reason === undefined ? [`reasons: the code ${JSON.stringify(code)} is not in the map`] : []),
    ...(redress === undefined ? ['furtherRedress: the map does not say what they may do then'] : []),
    ...(subject === null ? ['its subject'] : []),
    // Its own topic has it no longer.
    ...(by === '' ? ['who appealed, and when'] : []),
  ]
  if (lacks.length > 0 || subject === null || reason === undefined || redress === undefined) return lacks
  const against = by !== 'author' ? [] : measures.flatMap((what) => doneBy(what) ?? [])
  const takesBack = against.length > 0 && outcome.outcome === 'reversed'
  return filled(words.text, {
    title: words.title,
    received: filled(words.received, { at: new Date(at).toISOString().slice(0, 10) }),
    about: filled(about, { subject: nameIn(subject).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?') }),
    measure: against.map((sentence) => filled(words.measure, { done: sentence })).join(' '),
    outcome: [
      entryOf(by === 'author' ? words.author : words.notifier, outcome.outcome) ?? '',
      ...(takesBack ? [words.takenBack] : []),
    ].join(' '),
    person: words.person,
    reason,
    redress: filled(redress, { id }),
    id,
  })
    .replaceAll(/ {2,}/g, ' ')
    .trimEnd()

  function doneBy(what: string): string | undefined {
    const decision = DECISIONS.includes(what) ? what : entryOf<string>(map.what, what)
    return decision === undefined ? undefined : entryOf<string>(done, decision)
  }
}
