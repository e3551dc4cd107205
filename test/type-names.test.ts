import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { PROJECT } from '../config/load.ts'

/** A type is named by a noun phrase that says what it holds: none of these says it alone. */
const BARE = new Set(
  `
  Above Accepted Again Allowed Answered Applied Approved Arriving Asked AskedAgain AskedForAgain Asking At
  AtThreshold Away Bare Begun Below Beneath Beside Blocked Both Bound Calibrated CarriedOut CarriedOver Chosen
  Claimed Closed Compared Concluded Confident Counted Cut CutAway Debated Decide Decided DecidedBy DecidedOn
  Deciding Deferred Deleted Described Distilled Disturbing Dropped Due Embedded Ended Ending Erased Evaluated
  Expected Expired Failed Fed Fetched Filled Filling Filtered Firing Flown For Forgotten Found FoundFor Fresh From
  Given Gone Hashing Heard Hearing Held HeldUp Here Hidden Holding Imported In Incoming Joined Journaled Judged
  JudgedAgain Judging Keep Kept Known Labelled Last Late Later Learning Learnt Left LimitsOf Listed Listening
  Loaded Located Looked Lost Made Malformed Marked Measured Merged Metered Misrated Missing More Most Named Naming
  New Next Noted Of Old Once Only Open Opened Opening Other Outgoing Over Overdue Own Parked Parsed PassedOver
  Pending Placed Planned Preferred Prepared Produced Proposed Proposing Published Publishing Put Ranked Rated
  Reached Read ReadAgain Reading Ready Rebuilding Rebuilt Recorded Recovered Refused Rejected Released Removed
  Repeated Reserved Resolved Restored Retried Returned Right Ruled RuledBy RunOf Safe Said Same Sampled Saved Say
  Scored ScoredBy Sealed Searched Seen Send Sending Sent Served SetAside Settled Shared Sharing Shown Slowest
  Sought Sourced Speaking Spent Squeezed Staged Staging Standing Started StillHeld StillToSend Stopped Stored
  Synced Taken Tell There Timed ToEmbed ToMend Together Told Touched Traceable Traced Tried Turned Undecided Under
  Undisguised Unmetered Unnumbered Unreachable Unread Unreadable Unscored Until Used Waiting Wanted Watched Weighed
  Who Whose With Withheld Without Worked Writing Written Wrong
  `.match(/\w+/g),
)

/** Names of types, functions and constants that were given up, and the words that took their places. */
const GIVEN_UP: Readonly<Record<string, string>> = {
  AskedThread: 'RequestThread',
  AwayReason: 'OutageReason',
  Blinds: 'BlindReviews',
  LaterErasures: 'BackgroundErasures',
  OutageHold: 'OutageDeferral',
  Reservation: 'CallReservation, ReviewReservation',
  Reservations: 'ReviewReservations',
  SaidEntry: 'NoteEntry',
  SaidRow: 'NoteRow',
  SaidSealed: 'SealedNote',
  SaidThread: 'MessageThread',
  StoreWatch: 'RedisGuard',
  TO_MEND: 'OPERATOR_ACTIONS',
  hearing: 'rumorContext, hateContext',
  holding: 'outageDeferral',
  inTheWay: 'reservationConflict',
  isHandedBack: 'isLeftToOtherVersion',
  isLeftToOthers: 'isAskLeftToOtherVersion',
  laterErasures: 'backgroundErasures',
  locate: 'findQuestion',
  outageHold: 'outageDeferral',
  saidOf: 'noteSubject',
  storeWatch: 'redisGuard',
  takeOn: 'runOnce',
  takePass: 'acquirePass',
  together: 'mergeAnswers',
  toldOdd: 'describeOddFields',
  toldOf: 'debaterPrompts',
  turnToNext: 'fallBack',
  undisguised: 'deobfuscated',
  voicesIn: 'answersBySpeaker',
  weighed: 'contestedness',
}

/** Names that two files may export, each with its reason. The client's messages keep the contract's words. */
const TWICE: Readonly<Record<string, string>> = {
  RecordTables: 'the record of SQLite and of PostgreSQL, of one shape',
  Sql: 'the record of SQLite and of PostgreSQL, of one shape',
  TableSettings: 'the record of SQLite and of PostgreSQL, of one shape',
}
/** What the package exports to its users: `Decided`, `Sent` are theirs by now. */
const CLIENT = 'src/client/'

interface ExportedName {
  readonly name: string
  readonly place: string
  readonly isType: boolean
}

/** The names that a source declares and exports. */
function namesIn(file: string, text: string): ExportedName[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const named = source.statements.flatMap((node): { name: ts.Node | undefined; isType: boolean }[] => {
    const modifiers = ts.canHaveModifiers(node) ? ts.getModifiers(node) : undefined
    if (modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true) return []
    if (ts.isVariableStatement(node))
      return node.declarationList.declarations.map(({ name }) => ({ name, isType: false }))
    if (ts.isFunctionDeclaration(node)) return [{ name: node.name, isType: false }]
    const isType = ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)
    return isType ? [{ name: node.name, isType }] : []
  })
  return named.flatMap(({ name, isType }) => {
    if (name === undefined || !ts.isIdentifier(name)) return []
    const { line } = source.getLineAndCharacterOfPosition(name.getStart(source))
    return [{ name: name.text, place: `${file}:${line + 1}`, isType }]
  })
}

/** What is wrong with these names, a line each. */
function badNames(names: readonly ExportedName[]): string[] {
  const bare = names.flatMap(({ name, place, isType }) => {
    if (isType && BARE.has(name)) return [`${place} ${name} is no noun phrase`]
    const better = Object.hasOwn(GIVEN_UP, name) ? GIVEN_UP[name] : undefined
    return better === undefined ? [] : [`${place} ${name} was given up for ${better}`]
  })
  const types = names.filter(({ isType }) => isType)
  const twice = [...Map.groupBy(types, ({ name }) => name)]
    .filter(([name, all]) => all.length > 1 && !Object.hasOwn(TWICE, name))
    .map(([name, all]) => `${all.map(({ place }) => place).join(', ')} ${name} is declared ${all.length} times`)
  return [...bare, ...twice]
}

it('names each exported type once, by what it holds', () => {
  const files = globSync(['src/**/*.ts', 'consumers/**/*.ts', 'producers/**/*.ts', 'config/**/*.ts'], { cwd: PROJECT })
  const ours = files.filter((file) => !file.startsWith(CLIENT)).sort()
  expect(ours.length).toBeGreaterThan(500)
  const names = ours.flatMap((file) => namesIn(file, readFileSync(join(PROJECT, file), 'utf8')))
  expect(badNames(names)).toEqual([])
  const homes = Map.groupBy(names, ({ name }) => name)
  expect(Object.keys(TWICE).filter((name) => (homes.get(name)?.length ?? 0) < 2)).toEqual([])
})

it('would notice a bare name, one that was given up, and one that is declared twice', () => {
  const first = `
    export type Told = string
    export interface Pair {}
    type Waiting = 1
    export class StoreWatch {}
    export const Told = 1`
  const second = `export type Pair = string
    export interface Sql {}
    export function locate() {}`
  expect(badNames([...namesIn('a.ts', first), ...namesIn('b.ts', second)])).toEqual([
    'a.ts:2 Told is no noun phrase',
    'a.ts:5 StoreWatch was given up for RedisGuard',
    'b.ts:3 locate was given up for findQuestion',
    'a.ts:3, b.ts:1 Pair is declared 2 times',
  ])
})
