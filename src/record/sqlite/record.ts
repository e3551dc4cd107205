import { existsSync, statSync } from 'node:fs'
import type { ReviewPictures } from '../../contracts/ports/pictures.ts'
import type { RecordReader, RecordStore } from '../../contracts/ports/record.ts'
import type { ReviewQueue } from '../../contracts/ports/review.ts'
import { readTurns } from '../../platform/asked-for.ts'
import { madeInPauses } from '../../platform/pauses.ts'
import {
  type ListedRow,
  recordedRow,
  recordedVerdict,
  recordedWord,
  subjectsNamed,
  wordOfSubject,
} from '../record-rows.ts'
import type { QueueRules } from '../review-queue.ts'
import { type ServedHalf, type StartHalf, threadHalf } from './halves.ts'
import type { PictureTables } from './pictures.ts'
import type { RecordReads, StoredSubject } from './reads.ts'
import type { ReviewReservations } from './reservations.ts'
import { isInMemory } from './schema.ts'
import type { RecordTables, TableSettings } from './tables.ts'

/** Subjects that are exported between two looks at what was erased meanwhile. */
const PAGE = 200

/**
 * The record in one SQLite file, for the processes of one machine: one writes, any number read. Each half works in a thread
 * of its own, so that neither a batch nor a search holds up anything else. Rejects with `RecordDamaged`.
 */
export async function sqliteRecord(settings: TableSettings, start: StartHalf = threadHalf): Promise<RecordStore> {
  const tables = await opened<RecordTables>(start, { half: 'tables', settings }, 'name')
  const reader = await sqliteRecordReader(settings.path, start)
  return {
    ...reader,
    rename: () => tables.ask('rename'),
    apply: (batch) => tables.ask('apply', batch),
    restart: (topic, partition) => tables.ask('restart', topic, partition),
    positions: async () => new Map(await tables.ask('positions')),
    hasDependents: (tenant) => tables.ask('hasDependents', tenant),
    untoldAppeals: (now, most, readUntil) => tables.ask('untoldAppeals', now, most, readUntil),
    openAppeals: (dueSince) => tables.ask('openAppeals', dueSince),
    reversals: (most) => tables.ask('reversals', most),
    settleReversal: (one) => tables.ask('settleReversal', one),
    unstated: (now, most) => tables.ask('unstated', now, most),
    settleStatement: (action, again) => tables.ask('settleStatement', action, again),
    keepClosed: (marks) => tables.ask('keepClosed', marks),
    tidy: (now, readUntil) => tables.ask('tidy', now, readUntil),
    async size() {
      const [size, state] = await Promise.all([reader.size(), tables.ask('state')])
      return { ...size, ...state }
    },
    async close() {
      await reader.close()
      await tables.close()
    },
  }
}

/** The reading half alone, also beside a process that writes. Rejects if there is no such file. */
export async function sqliteRecordReader(path: string, start: StartHalf = threadHalf): Promise<RecordReader> {
  const reads = await opened<RecordReads>(start, { half: 'reads', path }, 'name')
  const searches = readTurns(1)
  const word: RecordReader['word'] = async (id, tenants) => {
    const row = await reads.ask('word', id, tenants)
    return row === null ? null : wordOfSubject(row)
  }
  const appeals: RecordReader['appeals'] = (tenant, of) => reads.ask('appeals', tenant, of)
  return {
    name: () => reads.ask('name'),
    async subject(of) {
      const found = await reads.ask('subject', of)
      return found === null ? null : await subjectOf(found)
    },
    async verdict(id, tenants) {
      const row = await reads.ask('verdict', id, tenants)
      return row === null ? null : recordedRow(row)
    },
    word,
    subjectsNamed: subjectsNamed(word, appeals),
    appeals,
    find: async (filter, limit) => rowsOf(await reads.ask('find', filter, limit)),
    histogram: (filter, of) => reads.ask('histogram', filter, of),
    async arrivals(after, most) {
      const { rows, ...others } = await reads.ask('arrivals', after, most)
      return { ...others, rows: await rowsOf(rows) }
    },
    async search(query, filter, limit) {
      // One at a time: each may take as long as dozens of other questions, which come in between.
      const ask = () => reads.ask('search', query, filter, limit)
      const { found, ...others } = await searches(ask)
      return { ...others, found: await rowsOf(found) }
    },
    transcript: (id) => reads.ask('transcript', id),
    writtenBy: (author, after, most) => reads.ask('writtenBy', author, after, most),
    auditChance: (of, protocol) => reads.ask('auditChance', of, protocol),
    async *export(only) {
      for (let after = 0; after >= 0; ) {
        const { last, subjects } = await reads.ask('page', after, PAGE, only)
        for (const one of subjects) yield await subjectOf(one)
        after = last
      }
    },
    async *actions() {
      for (let after = 0; ; ) {
        const rows = await reads.ask('actionsAfter', after, PAGE)
        yield* rows.map(recordedWord)
        if (rows.length < PAGE) return
        after = rows.at(-1)?.n ?? after
      }
    },
    givenUp: (tenant) => reads.ask('givenUp', tenant),
    size: async () => ({ ...(await reads.ask('counts')), full: false, overShare: false, erasingSince: null }),
    close: () => reads.close(),
  }
}

/** By what the file at `path` draws verdicts for audit. Rejects as `sqliteRecordReader` does. */
export async function drawKeyOf(path: string, start: StartHalf = threadHalf): Promise<string> {
  const reads = await opened<RecordReads>(start, { half: 'reads', path }, 'name')
  try {
    return await reads.ask('drawKey')
  } finally {
    await reads.close()
  }
}

/** What is wrong with the file at `path`, in SQLite's words; null if nothing. Rejects as `sqliteRecordReader` does. */
export async function damageOf(path: string, start: StartHalf = threadHalf): Promise<string | null> {
  const reads = await opened<RecordReads>(start, { half: 'reads', path }, 'name')
  try {
    return await reads.ask('damage')
  } finally {
    await reads.close()
  }
}

/** The queue of a record that is there, also beside the process that writes it. Rejects if there is no such file. */
export async function sqliteReviewQueue(
  of: { readonly path: string } & QueueRules,
  start: StartHalf = threadHalf,
): Promise<ReviewQueue> {
  if (!isInMemory(of.path) && !existsSync(of.path)) throw new Error(`unable to open ${of.path}`)
  const reservations = await opened<ReviewReservations>(start, { half: 'reservations', ...of }, 'name')
  return {
    list: (filter, most, now, skip) => reservations.ask('list', filter, most, now, skip),
    posts: (filter, most, now, after) => reservations.ask('posts', filter, most, now, after),
    decisions: (query, most) => reservations.ask('decisions', query, most),
    reserve: (item, filter, until, now) => reservations.ask('reserve', item, filter, until, now),
    release: (item, by, of, now) => reservations.ask('release', item, by, of, now),
    deciders: (tenant, since, most) => reservations.ask('deciders', tenant, since, most),
    state: () => reservations.ask('state'),
    totals: (tenants) => reservations.ask('totals', tenants),
    draws: (query, most) => reservations.ask('draws', query, most),
    drawSums: (tenants) => reservations.ask('drawSums', tenants),
    drawnRates: (tenants) => reservations.ask('drawnRates', tenants),
    laneAudit: (lane, promise) => reservations.ask('laneAudit', lane, promise),
    peopleQuality: (period, tenants) => reservations.ask('peopleQuality', period, tenants),
    comparedGroups: (query) => reservations.ask('comparedGroups', query),
    compared: (query, most) => reservations.ask('compared', query, most),
    close: () => reservations.close(),
  }
}

/** What people look at beside a record that is there. Rejects if there is no such file. */
export async function sqlitePictures(path: string, start: StartHalf = threadHalf): Promise<ReviewPictures> {
  if (!isInMemory(path) && !existsSync(path)) throw new Error(`unable to open ${path}`)
  const pictures = await opened<PictureTables>(start, { half: 'pictures', path }, 'name')
  return {
    picture: (of, address, now) => pictures.ask('picture', of, address, now),
    keepPicture: (of) => pictures.ask('keepPicture', of),
    coversOf: (person) => pictures.ask('coversOf', person),
    chooseCovers: (person, choice) => pictures.ask('chooseCovers', person, choice),
    noteUncovered: (person, of) => pictures.ask('noteUncovered', person, of),
    exposures: (of) => pictures.ask('exposures', of),
    minutesUncovered: (person, since) => pictures.ask('minutesUncovered', person, since),
    notesOf: (of) => pictures.ask('notesOf', of),
    addNote: (of) => pictures.ask('addNote', of),
    viewsOf: (person) => pictures.ask('viewsOf', person),
    saveView: (person, view, most) => pictures.ask('saveView', person, view, most),
    dropView: (person, name) => pictures.ask('dropView', person, name),
    close: () => pictures.close(),
  }
}

const bytesOf = ({ json }: { readonly json: string }) => json.length
const rowsOf = (rows: readonly ListedRow[]) => madeInPauses(rows, bytesOf, recordedRow)

async function subjectOf({ verdicts, said, ...subject }: StoredSubject) {
  return {
    ...subject,
    verdicts: await madeInPauses(verdicts, bytesOf, recordedVerdict),
    said: await madeInPauses(said, bytesOf, recordedWord),
  }
}

type Arguments<Method> = Method extends (...args: infer Args) => unknown ? Args : never
type Result<Method> = Method extends (...args: never[]) => infer Value ? Value : never

/** How often it is looked whether another file has taken the place of the one that is read, in ms. */
const LOOK_MS = 1_000

/**
 * One half, asked by the names of its methods; rejects if it can't open the file. Who reads goes on with the file that a rebuild has
 * put in its place.
 */
async function opened<Methods>(start: StartHalf, served: ServedHalf, first: keyof Methods & string) {
  // The thread answers one after the other: who waits in its line would pay for those before.
  const inTurn = readTurns(1)
  let half = start(served)
  let [file, looked] = [fileOf(served), performance.now()]
  try {
    await half.ask({ method: first, args: [] })
  } catch (error) {
    await half.close().catch(() => undefined)
    throw error
  }
  function follow(): void {
    if (served.half === 'tables' || performance.now() - looked < LOOK_MS) return
    looked = performance.now()
    const now = fileOf(served)
    if (now === null || now === file) return
    file = now
    void half.close().catch(() => undefined)
    half = start(served)
  }
  return {
    ask: <Name extends keyof Methods & string>(method: Name, ...args: Arguments<Methods[Name]>) => {
      const ask = () => {
        follow()
        return half.ask({ method, args }) as Promise<Result<Methods[Name]>>
      }
      // Batches come one after the other; what is read is read for somebody.
      return served.half === 'tables' ? ask() : inTurn(ask)
    },
    close: () => half.close(),
  }
}

/** Which file is at a half's path; null if none is. */
function fileOf(served: ServedHalf): number | null {
  const path = served.half === 'tables' ? served.settings.path : served.path
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null
}
