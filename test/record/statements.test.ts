import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ActionTaken } from '../../src/contracts/facts/action-messages.ts'
import {
  DSA_AUTOMATED,
  DSA_CATEGORIES,
  DSA_CONTENT_TYPES,
  DSA_COUNTRIES,
  DSA_DECISIONS,
  DSA_GROUNDS,
  DSA_LANGUAGES,
  DSA_SOURCES,
  dsaStatement,
} from '../../src/contracts/facts/dsa-statement.ts'
import type { Snapshot } from '../../src/contracts/facts/thread.ts'
import { readYaml } from '../../src/protocols/yaml-file.ts'
import { needsNone, type Statement, statementOf, untilWithdrawn } from '../../src/record/statement.ts'
import { dsaForm, statementText } from '../../src/record/statement-forms.ts'
import { filled, statementMap, statementWords } from '../../src/record/statement-words.ts'
import { completedMap } from '../support/own-map.ts'
import { aVerdict } from '../support/verdicts.ts'

const read = (source: string) => readYaml(source, (why) => expect.fail(why))
const contentOf = (name: string) => read(readFileSync(`config/reasons/${name}.yaml`, 'utf8'))
const BECAUSE = { en: 'It threatens people.', de: 'Er droht Menschen.' }
const map = statementMap.parse({
  ...(read(completedMap()) as object), // A map, as the schema sees.
  clauses: {
    H2: { category: 'STATEMENT_CATEGORY_VIOLENCE', en: 'clause H2', de: 'Ziffer H2' },
    H3: { category: 'STATEMENT_CATEGORY_VIOLENCE', en: 'clause H3', de: 'Ziffer H3', because: BECAUSE },
  },
})
const texts = { en: statementWords.parse(contentOf('en')), de: statementWords.parse(contentOf('de')) }
const LANGS = ['en', 'de'] as const
/** A word that stands in everything that people and models write, and in nothing else. */
const LEAK = 'Zyzzyva'

const time = (least: string, most: string) => fc.integer({ min: Date.parse(least), max: Date.parse(most) })
const action: fc.Arbitrary<ActionTaken> = fc
  .record(
    {
      id: fc.string({ minLength: 1, maxLength: 40 }).map((id) => `${LEAK}${id}`),
      tenant: fc.constantFrom('default', 'other'),
      subjectId: fc.constant(`${LEAK}-p`),
      verdictId: fc.constant('hate~p~r1'),
      what: fc.constantFrom(...Object.keys(map.what), ...Object.values(DSA_DECISIONS).flat()),
      ground: fc.constantFrom('terms', 'law', undefined),
      clause: fc.constantFrom('H2', 'H3', undefined),
      since: time('2020-01-02T00:00:00Z', '2037-12-30T00:00:00Z'),
      until: fc.option(fc.integer({ min: 0, max: Date.parse('2037-12-30T00:00:00Z') }), { nil: undefined }),
      countries: fc.option(fc.uniqueArray(fc.constantFrom(...DSA_COUNTRIES, 'US', 'KR'), { minLength: 1 }), {
        nil: undefined,
      }),
      source: fc.constantFrom(...Object.keys(map.source)),
      automated: fc.boolean(),
      by: fc.constant(`${LEAK} the moderator`),
      at: time('2026-01-01T00:00:00Z', '2026-12-01T00:00:00Z'),
    },
    { requiredKeys: ['id', 'tenant', 'subjectId', 'what', 'since', 'source', 'automated', 'by', 'at'] },
  )
  // It lasts for so long, and ends at the latest when the database's dates do.
  .map(({ until: lasts, ...one }) =>
    lasts === undefined ? one : { ...one, until: Math.min(one.since + lasts, Date.parse('2037-12-30T00:00:00Z')) },
  )
const found = fc.constantFrom(
  ['hate', 'hate'],
  ['safety', 'unsafe'],
  ['rumor', 'rumor'],
  ['counterspeech', 'unsuitable'],
)
const verdict = fc
  .record({
    found,
    lang: fc.constantFrom('de', 'ko-KR', 'und', LEAK),
    decidedBy: fc.constantFrom('judge', 'human', 'lane'),
    against: fc.boolean(),
  })
  .map(({ found: [protocol = '', label = ''], lang, decidedBy, against }) =>
    aVerdict('2026-03-01T00:00:00Z', {
      protocol,
      label,
      lang,
      decidedBy: decidedBy as 'judge',
      rationale: `${LEAK} says so`,
      ...(decidedBy === 'human' ? { decision: { by: LEAK, against: against ? 'hate~p~r1' : null, of: '0@0' } } : {}),
    }),
  )
const content: fc.Arbitrary<Snapshot> = fc
  .record({
    text: fc.constantFrom('', `${LEAK} <b>=1+1</b>`),
    image: fc.boolean(),
    createdAt: time('2001-01-01T00:00:00Z', '2026-12-01T00:00:00Z'),
  })
  .map(({ text, image, createdAt }) => ({
    post: {
      id: LEAK,
      text,
      createdAt,
      author: LEAK,
      ...(image || text === '' ? { media: [{ kind: 'image' as const, alt: LEAK }] } : {}),
    },
    comments: [],
    leftOut: 0,
  })) as fc.Arbitrary<Snapshot> // As far as statements read it.

/** Everything but a clause without a verdict has a statement, unless no country of the area is named. */
const basis = fc.record({ action, verdict: fc.option(verdict), content })
const isStated = (given: Statement | readonly string[]): given is Statement => 'puid' in given

/** A pattern of all that a template can become. */
function grammar(template: string, places: Readonly<Record<string, string>>): string {
  return template
    .split(/(\{\w+\})/)
    .map((part) => (/^\{\w+\}$/.test(part) ? `(?:${places[part.slice(1, -1)]})` : escaped(part)))
    .join('')
}
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const oneOf = (words: readonly string[]) => words.map(escaped).join('|')
const DATE = '\\d{4}-\\d\\d-\\d\\d'

function grammarsOf(lang: 'en' | 'de') {
  const words = texts[lang]
  const label = oneOf(Object.values(map.labels).flatMap((own) => Object.values(own).map((one) => one[lang])))
  const clause = oneOf(Object.values(map.clauses).map((one) => one[lang]))
  const ground = oneOf(Object.values(map.ground).map((one) => one[lang]))
  const dates = { contentDate: DATE, decidedDate: DATE, since: DATE, until: DATE }
  const regions = new Intl.DisplayNames([lang], { type: 'region' })
  const country = oneOf([...DSA_COUNTRIES, 'US', 'KR'].map((code) => regions.of(code) ?? code))
  const countries = `(?:${country})(?:, (?:${country}))*`
  const facts = [words.facts, words.unjudged].map((one) => grammar(one, { ...dates, label })).join('|')
  const groundWords = [words.ground, words.clause].map((one) => grammar(one, { ground, clause })).join('|')
  const explanation = `${grammar(words.explanation, { label })}|${grammar(words.explanationOfClause, { clause })}|${escaped(BECAUSE[lang])}`
  const text = grammar(words.text, {
    about: grammar(words.about, { subject: `${LEAK}-p` }),
    ...{ title: escaped(words.title), puid: '[A-Za-z0-9_-]{43}', facts, groundWords, explanation },
    done: oneOf(Object.values(words.done)),
    when: [words.since, words.until].map((one) => grammar(one, dates)).join('|'),
    where: `${escaped(words.everywhere)}|${grammar(words.countries, { countries })}`,
    source: oneOf(Object.values(words.source)),
    detection: oneOf(Object.values(words.detection)),
    decision: oneOf(Object.values(words.decision)),
    redress: grammar(map.redress?.[lang] ?? '', { puid: '[A-Za-z0-9_-]{43}' }),
  })
  const closed = {
    decision_visibility: oneOf(DSA_DECISIONS.visibility),
    decision_monetary: oneOf(DSA_DECISIONS.monetary),
    decision_provision: oneOf(DSA_DECISIONS.provision),
    decision_account: oneOf(DSA_DECISIONS.account),
    decision_ground: oneOf(DSA_GROUNDS),
    category: oneOf(DSA_CATEGORIES),
    content_type: oneOf(DSA_CONTENT_TYPES),
    content_language: oneOf([...DSA_LANGUAGES]),
    territorial_scope: oneOf(DSA_COUNTRIES),
    source_type: oneOf(DSA_SOURCES),
    automated_detection: 'Yes|No',
    automated_decision: oneOf(DSA_AUTOMATED),
    puid: '[A-Za-z0-9_-]{43}',
    decision_facts: facts,
  }
  const grounds = ['illegal_content_legal_ground', 'incompatible_content_ground'].map((name) => [name, groundWords])
  const why = ['illegal_content_explanation', 'incompatible_content_explanation'].map((name) => [name, explanation])
  const days = [
    'content_date',
    'application_date',
    ...['visibility', 'monetary', 'service', 'account'].map((one) => `end_date_${one}_restriction`),
  ]
  const fields: Record<string, string> = {
    ...closed,
    ...Object.fromEntries([...grounds, ...why, ...days.map((name) => [name, DATE])]),
  }
  return {
    text: new RegExp(`^${text}$`),
    fields: new Map(Object.entries(fields).map(([name, one]) => [name, new RegExp(`^(?:${one})$`)])),
  }
}

const snapshot = {
  post: { id: 'p', text: 'x', createdAt: Date.parse('2026-03-01T00:00:00Z') },
  comments: [],
  leftOut: 0,
} as unknown as Snapshot // As far as statements read it.

describe('statements of reasons', () => {
  it('pass the database’s rules, 5,000 of a random history, in both languages; each field in its grammar', () => {
    let stated = 0
    const grammars = { en: grammarsOf('en'), de: grammarsOf('de') }
    fc.assert(
      fc.property(basis, (given) => {
        const statement = statementOf(given, map)
        if (!isStated(statement)) {
          expect(statement.join()).toMatch(/countries|no verdict/)
          return
        }
        stated++
        for (const lang of LANGS) {
          const own = { lang, words: texts[lang], map }
          const form = dsaForm(statement, own)
          if (!('puid' in form)) throw new Error(form.join())
          expect(dsaStatement.safeParse(form).success).toBe(true)
          const { text, fields } = grammars[lang]
          for (const [name, value] of Object.entries(form))
            for (const one of [value].flat()) expect(one, name).toMatch(fields.get(name) ?? /^never$/)
          expect(JSON.stringify(form)).not.toContain(LEAK)
          expect(statementText(statement, own)).toMatch(text)
        }
        // The subject's own id is no word of a person, and the database gets none of it.
        expect(JSON.stringify({ ...statement, subject: '' })).not.toContain(LEAK)
      }),
      { numRuns: 8_000, seed: 72 },
    )
    expect(stated).toBeGreaterThanOrEqual(5_000)
  })

  it('break a rule of the database’s where any field is changed', () => {
    const [first] = fc.sample(
      basis.filter((one) => isStated(statementOf(one, map))),
      { numRuns: 1, seed: 1 },
    )
    if (first === undefined) throw new Error('there is none')
    const statement = statementOf(
      { ...first, action: { ...first.action, what: 'remove', ground: 'terms', until: first.action.since } },
      map,
    )
    if (!isStated(statement)) throw new Error(statement.join())
    const own = { lang: 'en', words: texts.en, map } as const
    const form = dsaForm(statement, own)
    expect(dsaForm({ ...statement, since: '2019-12-31', until: '2099-12-31' }, own)).toEqual([
      expect.stringMatching(/^application_date: /),
      expect.stringMatching(/^end_date_visibility_restriction: /),
    ])
    const wrong: Readonly<Record<string, readonly unknown[]>> = {
      decision_visibility: [[], ['DECISION_VISIBILITY_GONE'], 'DECISION_VISIBILITY_CONTENT_REMOVED', undefined],
      decision_ground: ['terms', 'DECISION_GROUND_ILLEGAL_CONTENT', undefined],
      incompatible_content_ground: ['x'.repeat(501), '', undefined],
      incompatible_content_explanation: ['x'.repeat(2_001), '', undefined],
      category: ['STATEMENT_CATEGORY_HATE', undefined],
      content_type: [[], ['CONTENT_TYPE_POST'], undefined],
      content_date: ['1999-12-31', '2026-02-30', '2026-3-1', undefined],
      content_language: ['de', 'XX'],
      application_date: ['2019-12-31', '2038-01-02', '2026-03-01T00:00:00Z', undefined],
      end_date_visibility_restriction: ['2038-01-02', 'never'],
      territorial_scope: [['US'], ['de'], []],
      decision_facts: ['x'.repeat(5_001), '', undefined],
      source_type: ['SOURCE_NOTICE', undefined],
      automated_detection: ['yes', true, undefined],
      automated_decision: ['AUTOMATED_DECISION_YES', undefined],
      puid: ['a b', 'ä', 'x'.repeat(501), '', 'a\n', undefined],
    }
    const known = { ...form, content_language: 'DE' }
    expect(dsaStatement.safeParse(known).success).toBe(true)
    expect(Object.keys(wrong).sort()).toEqual(Object.keys(known).sort())
    for (const name of ['visibility', 'monetary', 'service', 'account'].map((one) => `end_date_${one}_restriction`))
      expect(dsaStatement.safeParse({ ...known, [name]: '2020-01-01' }).error?.issues[0]?.path, name).toEqual([name])
    for (const [name, values] of Object.entries(wrong))
      for (const value of values)
        expect(dsaStatement.safeParse({ ...known, [name]: value }).success, `${name} ${value}`).toBe(false)
    expect(dsaStatement.safeParse({ ...known, note: 'x' }).success).toBe(false)
  })

  it('names everything that is missing for one', () => {
    const verdict = aVerdict('2026-03-01T00:00:00Z', { protocol: 'hate', label: 'non-hate' })
    const given = {
      id: 'a',
      tenant: 'default',
      subjectId: 'p',
      what: 'ban',
      source: 'x',
      ground: 'y',
      clause: 'z',
      by: 'b',
      since: 0,
      at: 0,
      countries: ['US'],
    }
    expect(statementOf({ action: given, verdict, content: null }, map)).toEqual([
      'what "ban" is not in the map',
      'source "x" is not in the map',
      'ground "y" is not in the map',
      'clause "z" is not in the map',
      'label "non-hate" of hate is not in the map',
      'automated: it does not say whether a rule or a person did it',
      'countries: none is in the European Economic Area',
      'the record no longer has its content, or has none: its type and date are not known',
    ])
  })

  it('are none as Gavel ships: a ground is named by its section, and only the platform knows how people may object', () => {
    const shipped = statementMap.parse(contentOf('map'))
    const verdict = aVerdict('2026-03-01T00:00:00Z', { protocol: 'hate', label: 'hate' })
    const given = {
      id: 'a',
      tenant: 'default',
      subjectId: 'p',
      what: 'remove',
      source: 'notice',
      by: 'b',
      since: 0,
      at: 0,
    }
    const of = (more: Partial<ActionTaken>, by = shipped) =>
      statementOf({ action: { ...given, automated: true, ...more }, verdict, content: snapshot }, by)
    const redress = 'redress: the map does not say how people may object'
    expect(of({})).toEqual(['clause: ground "terms" names no section and no law by itself', redress])
    expect(of({ ground: 'law', clause: 'H2' }, { ...shipped, clauses: map.clauses })).toEqual([redress])
    expect(of({ ground: 'law', clause: 'H2' }, { ...map, ground: shipped.ground })).toMatchObject({ clause: 'H2' })
  })

  it('say which content it is, where the action holds, and how to object', () => {
    const verdict = aVerdict('2026-03-01T00:00:00Z', { protocol: 'hate', label: 'hate' })
    const given = { id: 'a', tenant: 'default', what: 'remove', source: 'notice', by: 'b', since: 0, at: 0 }
    const about = { subjectId: 'c\u202e1\n', subjectKind: 'comment', postId: 'p', countries: ['US', 'AT'] } as const
    const action = { ...given, ...about, automated: true, countries: [...about.countries] }
    const statement = statementOf({ action, verdict, content: snapshot }, map)
    if (!isStated(statement)) throw new Error(statement.join())
    const text = (lang: 'en' | 'de') => statementText(statement, { lang, words: texts[lang], map })
    expect(text('en')).toContain('The content in question is p/c?1?. This applies from 1970-01-01 (UTC)')
    expect(text('en')).toContain('It applies in: Austria, United States.')
    expect(text('de')).toContain('in folgenden Ländern: Österreich, Vereinigte Staaten.')
    expect(text('de')).toContain(`Was Sie tun können: Beschwerde unter https://x.example/${statement.puid}.`)
  })

  it.each([
    ['a rule by a machine’s verdict', true, 'judge', null, 'own-initiative', 'Yes', 'FULLY'],
    ['a person by a machine’s verdict', false, 'judge', null, 'own-initiative', 'Yes', 'PARTIALLY'],
    ['a rule by a person’s verdict over a machine’s', true, 'human', 'hate~p~r1', 'own-initiative', 'Yes', 'PARTIALLY'],
    ['a person by a person’s first verdict', false, 'human', null, 'own-initiative', 'No', 'NOT_AUTOMATED'],
    ['a rule, reported', true, 'judge', null, 'notice', 'No', 'FULLY'],
  ] as const)(
    'tells truly of %s what was automated',
    (_, automated, decidedBy, against, source, detection, decision) => {
      const decided = decidedBy === 'human' ? { decision: { by: 'ann', against, of: '0@0' } } : {}
      const verdict = aVerdict('2026-03-01T00:00:00Z', { protocol: 'hate', label: 'hate', decidedBy, ...decided })
      const given = {
        id: 'a',
        tenant: 'default',
        subjectId: 'p',
        what: 'remove',
        source,
        automated,
        by: 'b',
        since: 0,
        at: 0,
      }
      expect(statementOf({ action: given, verdict, content: snapshot }, map)).toMatchObject({
        automatedDetection: detection,
        automatedDecision: `AUTOMATED_DECISION_${decision}`,
      })
    },
  )

  it.each([{ verdictId: 'hate~p~r9' }, { protocol: 'hate' }])(
    'are none where the record lacks the verdict of %o',
    (rests) => {
      const given = {
        id: 'a',
        tenant: 'default',
        subjectId: 'p',
        what: 'remove',
        source: 'own-initiative',
        automated: false,
      }
      const action = { ...given, ...rests, clause: 'H2', by: 'ann', since: 0, at: 0 }
      expect(statementOf({ action, verdict: null, content: snapshot }, map)).toEqual([
        expect.stringContaining('the record has no verdict'),
      ])
    },
  )

  it('end with a withdrawal, never before they begin nor after their own end; what ends before it begins has none', () => {
    const own = { since: '2026-03-02', until: null } as Statement // As far as it is read.
    const at = (day: string) => Date.parse(`${day}T12:00:00Z`)
    expect(untilWithdrawn(own, null)).toBe(own)
    expect(untilWithdrawn(own, at('2026-03-05')).until).toBe('2026-03-05')
    expect(untilWithdrawn(own, at('2026-03-01')).until).toBe('2026-03-02')
    expect(untilWithdrawn({ ...own, until: '2026-03-04' }, at('2026-03-05')).until).toBe('2026-03-04')
    const verdict = aVerdict('2026-03-01T00:00:00Z', { protocol: 'hate', label: 'hate' })
    const given = { id: 'a', tenant: 'default', subjectId: 'p', what: 'remove', source: 'notice', by: 'b', at: 0 }
    const action = { ...given, automated: true, since: 2, until: 1 }
    expect(statementOf({ action, verdict, content: snapshot }, map)).toEqual(['until: it ends before it begins'])
    expect(needsNone({ ...action, countries: ['US'] }, map)).toBe(true)
    expect(needsNone({ ...action, countries: ['US', 'AT'] }, map)).toBe(false)
    expect(needsNone(action, { ...map, exempt: { source: ['notice'] } })).toBe(true)
  })

  it('knows every place that a template names, in both languages', () => {
    expect(() => filled('{nothing}', {})).toThrow('{nothing}')
    for (const lang of LANGS)
      expect(Object.keys(texts[lang].done).sort()).toEqual(Object.values(DSA_DECISIONS).flat().toSorted())
  })
})
