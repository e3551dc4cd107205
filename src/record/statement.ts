import type { ActionTaken } from '../contracts/facts/action-messages.ts'
import {
  DSA_COUNTRIES,
  DSA_DECISIONS,
  DSA_LANGUAGES,
  type DsaStatement,
  type RestrictionKind,
} from '../contracts/facts/dsa-statement.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Snapshot } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { DECISIONS, puidOf, type StatementMap } from './statement-words.ts'

/** Why something was done to a person, in closed lists, ids and dates. */
export interface Statement {
  readonly puid: string
  /** What the action is about, by the platform's own ids; of a comment with its post. The database gets none of it. */
  readonly subject: string
  readonly kind: RestrictionKind
  readonly decision: string
  /** The ground's word in the map. */
  readonly ground: string
  /** The clause's id in the map; null if it names none. */
  readonly clause: string | null
  readonly category: string
  /** Null where it rests on no verdict. */
  readonly found: { readonly protocol: string; readonly label: string; readonly date: string } | null
  readonly contentTypes: DsaStatement['content_type']
  readonly contentDate: string
  readonly contentLanguage: string | null
  readonly since: string
  readonly until: string | null
  /** Null where it is everywhere. */
  readonly countries: readonly string[] | null
  readonly source: DsaStatement['source_type']
  readonly automatedDetection: 'Yes' | 'No'
  readonly automatedDecision: DsaStatement['automated_decision']
}

/** What a statement is made of. */
export interface StatementBasis {
  readonly action: ActionTaken
  /** The verdict that the action rests on. */
  readonly verdict: Verdict | null
  /** The content, as it was judged; null where the record no longer has it. */
  readonly content: Snapshot | null
}

/** The statement of reasons for an action, or everything that is missing for one. Dates are in UTC. */
export function statementOf(
  { action, verdict, content }: StatementBasis,
  map: StatementMap,
): Statement | readonly string[] {
  const missing: string[] = []
  const lacks = (what: string) => void missing.push(what)
  const named = (of: 'what' | 'source', word: string) =>
    entryOf<string>(map[of], word) ?? lacks(`${of} ${JSON.stringify(word)} is not in the map`)
  const decision = DECISIONS.includes(action.what) ? action.what : named('what', action.what)
  const source = named('source', action.source)
  const ground = action.ground ?? Object.keys(map.ground)[0] ?? ''
  const reason = entryOf(map.ground, ground)
  if (reason === undefined) lacks(`ground ${JSON.stringify(ground)} is not in the map`)
  else if (action.clause === undefined && reason.alone !== true)
    lacks(`clause: ground ${JSON.stringify(ground)} names no section and no law by itself`)
  const clause = action.clause === undefined ? undefined : entryOf(map.clauses, action.clause)
  if (action.clause !== undefined && clause === undefined)
    lacks(`clause ${JSON.stringify(action.clause)} is not in the map`)
  const found = verdict === null ? null : foundBy(verdict, map)
  if (found === undefined)
    lacks(`label ${JSON.stringify(verdict?.label ?? null)} of ${verdict?.protocol} is not in the map`)
  const category = clause?.category ?? found?.category
  const restsOn = action.verdictId ?? action.protocol
  // Without it nobody knows what was automated.
  if (verdict === null && restsOn !== undefined) lacks(`the record has no verdict that it rests on (${restsOn})`)
  else if (verdict === null && category === undefined)
    lacks('it rests on no verdict, and its clause has no category in the map')
  if (action.automated === undefined) lacks('automated: it does not say whether a rule or a person did it')
  if (map.redress === undefined) lacks('redress: the map does not say how people may object')
  const countries = action.countries === undefined ? null : [...new Set(action.countries)].sort()
  if (countries?.some((one) => DSA_COUNTRIES.includes(one)) === false)
    lacks('countries: none is in the European Economic Area')
  if (action.until !== undefined && action.until < action.since) lacks('until: it ends before it begins')
  const contentTypes = content === null ? [] : typesOf(content)
  if (contentTypes.length === 0)
    lacks('the record no longer has its content, or has none: its type and date are not known')
  const kind = kindOf(decision ?? '')
  if (missing.length > 0 || kind === null || found === undefined || category === undefined) return missing
  return {
    puid: puidOf(action.tenant, action.id),
    subject: subjectIn(action),
    kind,
    decision: decision ?? '',
    ground,
    clause: action.clause ?? null,
    category,
    found: found && { protocol: found.protocol, label: found.label, date: found.date },
    contentTypes,
    contentDate: dayOf(content?.post.createdAt ?? 0),
    contentLanguage: languageOf(verdict?.lang),
    since: dayOf(action.since),
    until: action.until === undefined ? null : dayOf(action.until),
    countries,
    source: source as Statement['source'], // Of the map, which has these alone.
    ...automationOf(action, verdict, source === 'SOURCE_VOLUNTARY'),
  }
}

/** Whether what is read later may bring what a statement lacks: the verdict, an earlier one's label, or the content. */
export function mayCome({ action, verdict, content }: StatementBasis, map: StatementMap): boolean {
  if (content === null) return true
  if (verdict === null) return (action.verdictId ?? action.protocol) !== undefined
  return action.verdictId === undefined && foundBy(verdict, map) === undefined
}

/** The statement of an action that is over: in force until the day of its withdrawal. */
export function untilWithdrawn(statement: Statement, withdrawnAt: number | null): Statement {
  if (withdrawnAt === null) return statement
  const { since, until } = statement
  const day = dayOf(withdrawnAt)
  const [, end = day] = [since, day].toSorted()
  return until !== null && until < end ? statement : { ...statement, until: end }
}

/** Whether an action needs no statement: the map says so of its words, or no country of it is in the European Economic Area. */
export function needsNone({ what, source, countries }: ActionTaken, { exempt }: StatementMap): boolean {
  if (exempt?.what?.includes(what) === true || exempt?.source?.includes(source) === true) return true
  return countries?.some((one) => DSA_COUNTRIES.includes(one)) === false
}

/** Its ids, in one line of visible characters. */
function subjectIn({ subjectId, subjectKind, postId }: ActionTaken): string {
  const ids = subjectKind === 'comment' && postId !== undefined ? `${postId}/${subjectId}` : subjectId
  return ids.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

function foundBy({ protocol, label, timing }: Verdict, { labels }: StatementMap) {
  const mapped = label === null ? undefined : entryOf(entryOf(labels, protocol) ?? {}, label)
  return mapped && { protocol, label: label ?? '', date: timing.decidedAt.slice(0, 10), category: mapped.category }
}

/** Machines take part where one judged, also beneath a person; they found what nobody reported. */
function automationOf({ automated }: ActionTaken, verdict: Verdict | null, isVoluntary: boolean) {
  const byMachine = verdict !== null && (verdict.decidedBy !== 'human' || (verdict.decision?.against ?? null) !== null)
  const byPerson = automated === false || verdict?.decidedBy === 'human'
  const usesMachine = byMachine || (verdict === null && automated === true)
  return {
    automatedDetection: isVoluntary && usesMachine ? 'Yes' : 'No',
    automatedDecision: !usesMachine
      ? 'AUTOMATED_DECISION_NOT_AUTOMATED'
      : byPerson
        ? 'AUTOMATED_DECISION_PARTIALLY'
        : 'AUTOMATED_DECISION_FULLY',
  } as const
}

function kindOf(decision: string): RestrictionKind | null {
  for (const kind of Object.keys(DSA_DECISIONS) as RestrictionKind[]) // Its own keys.
    if ((DSA_DECISIONS[kind] as readonly string[]).includes(decision)) return kind
  return null
}

function typesOf({ post: { text, media = [], clips = [] } }: Snapshot): DsaStatement['content_type'] {
  return [
    ...(text.trim() === '' ? [] : (['CONTENT_TYPE_TEXT'] as const)),
    ...(media.length === 0 ? [] : (['CONTENT_TYPE_IMAGE'] as const)),
    ...(clips.some(({ kind }) => kind === 'video') ? (['CONTENT_TYPE_VIDEO'] as const) : []),
    ...(clips.some(({ kind }) => kind === 'audio') ? (['CONTENT_TYPE_AUDIO'] as const) : []),
  ]
}

function languageOf(lang: string | undefined): string | null {
  const code = lang?.split('-')[0]?.toUpperCase() ?? ''
  return DSA_LANGUAGES.has(code) ? code : null
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
