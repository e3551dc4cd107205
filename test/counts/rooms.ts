import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { PROJECT } from '../../config/load.ts'

/*
 * A room is a folder directly under `src/`, or `consumers/`, `producers/` or `config/`. (While the service has a storey of its
 * own, `src/service/`, the folders directly under that are rooms.) Files that lie directly in `src/` are the program itself, and
 * no room.
 *
 * An arrow is an ordered pair of rooms with at least one import, types included. It points upward if the room that imports lies
 * on a lower level of the chain than the imported one. A circle is a set of rooms that reach one another.
 */

/** The chain, from the ground floor up. A room may import from its own level and from those below. */
const LEVELS: readonly (readonly string[])[] = [
  ['platform', 'contracts', 'domain', 'ports'],
  ['protocols', 'models', 'judging', 'mapping', 'gateway', 'engine', 'threads'],
  ['config'],
  ['store', 'stream', 'shelves', 'record', 'adapters', 'library', 'curator', 'tracing', 'scoring'],
  ['consumers', 'producers'],
  ['door', 'console', 'recovery', 'operations', 'inspection', 'client'],
  ['cli', 'data-files'],
  ['app', 'composition'],
  ['commands', 'lab', 'kit'],
]

const TOPS = ['src', 'consumers', 'producers', 'config']

/** What a room holds, and what it imports. */
export interface Rooms {
  readonly lines: ReadonlyMap<string, number>
  /** Ordered pairs, as `from → to`. */
  readonly arrows: readonly string[]
  readonly upward: readonly string[]
  /** Each a set of rooms that reach one another. */
  readonly circles: readonly (readonly string[])[]
}

/** The room of a file; null for the program itself. */
function roomOf(file: string): string | null {
  const [top = '', first = '', second = ''] = file.split('/')
  if (top !== 'src') return top
  const name = first === 'service' ? second : first
  return name.includes('.') ? null : name
}

function sources(): string[] {
  return TOPS.flatMap((top) =>
    readdirSync(join(PROJECT, top), { recursive: true, encoding: 'utf8' }).map((name) => join(top, name)),
  ).filter((file) => /\.(?:ts|js|lua)$/.test(file))
}

function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(PROJECT, file), 'utf8'), true, true)
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(PROJECT, resolve(PROJECT, dirname(file), name)))
    .filter((path) => existsSync(join(PROJECT, path)))
}

/** Counts the rooms of this checkout. */
export function countRooms(): Rooms {
  const lines = new Map<string, number>()
  const arrows = new Set<string>()
  for (const file of sources()) {
    const room = roomOf(file)
    if (room === null) continue
    const length = readFileSync(join(PROJECT, file), 'utf8').split('\n').length - 1
    lines.set(room, (lines.get(room) ?? 0) + length)
    if (file.endsWith('.lua')) continue
    for (const to of importsOf(file).map(roomOf))
      if (to !== null && to !== room && !(to === 'test')) arrows.add(`${room} → ${to}`)
  }
  const upward = [...arrows].filter((arrow) => {
    const [from = '', to = ''] = arrow.split(' → ')
    return levelOf(from) < levelOf(to)
  })
  return { lines, arrows: [...arrows].sort(), upward, circles: circlesOf([...lines.keys()], arrows) }
}

function levelOf(room: string): number {
  const level = LEVELS.findIndex((rooms) => rooms.includes(room))
  if (level === -1) throw new Error(`src/${room} stands on no level of the chain (test/counts/rooms.ts)`)
  return level
}

function circlesOf(rooms: readonly string[], arrows: ReadonlySet<string>): string[][] {
  const reached = new Map(rooms.map((room) => [room, reachedFrom(room, rooms, arrows)]))
  const inOne = (one: string, other: string) =>
    reached.get(one)?.has(other) === true && reached.get(other)?.has(one) === true
  const circles = rooms.map((room) => rooms.filter((other) => inOne(room, other)).sort())
  const distinct = new Map(circles.filter(({ length }) => length > 0).map((circle) => [circle.join(), circle]))
  return [...distinct.values()]
}

function reachedFrom(room: string, rooms: readonly string[], arrows: ReadonlySet<string>): ReadonlySet<string> {
  const reached = new Set<string>()
  const left = [room]
  for (let from = left.pop(); from !== undefined; from = left.pop())
    for (const to of rooms)
      if (arrows.has(`${from} → ${to}`) && !reached.has(to)) {
        reached.add(to)
        left.push(to)
      }
  return reached
}

/** A concept by what is kept of it: keys in Redis (members of `Keys`, or names under `keys.under`), tables, topics; and by its ports. */
interface Concept {
  readonly keys?: readonly string[]
  readonly under?: readonly string[]
  readonly tables?: boolean
  readonly topics?: readonly string[]
  readonly ports: readonly string[]
}

const CONCEPTS: Readonly<Record<string, Concept>> = {
  thread: {
    keys: ['thread', 'comments', 'sample', 'authors', 'images', 'orphans', 'revisions', 'replies', 'due', 'threadKeys'],
    ports: ['threads'],
  },
  case: { keys: ['case', 'journal', 'lost', 'open', 'unworked', 'withheld', 'caseKeys'], ports: ['cases'] },
  'outbox entry': { keys: ['outbox', 'erased'], ports: ['topic'] },
  memo: { under: ['memo'], ports: ['memo'] },
  webhook: { under: ['hooks'], ports: ['webhooks'] },
  decision: { keys: ['decided', 'told'], topics: ['decisions', 'decisionOutcomes'], ports: ['decisions'] },
  record: { tables: true, ports: ['record', 'review', 'audit'] },
}

const TABLE =
  /\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+(?:subjects|rulings|marks|transcripts|texts|said|gone_comments|quotes|unread|queue|agreement)\b/

/** Rooms whose files take records from Kafka or send them themselves; others do so through a port. */
const OF_KAFKA = ['stream', 'adapters', 'consumers', 'producers']

/** Who owns a concept, and who calls it. */
export interface Ownership {
  readonly concept: string
  /** The rooms of the files that read or write its keys, tables or topics, and how many files of each do. */
  readonly owners: ReadonlyMap<string, number>
  /** The rooms of the files that import its port. */
  readonly callers: ReadonlyMap<string, number>
}

/**
 * Owners and callers by concept. Composition is left out: it hands keys and topics on, and touches none. So are lab and kit: they
 * are no part of the service.
 */
export function countOwners(): Ownership[] {
  const files = sources().filter((file) => !['app', 'composition', 'lab', 'kit', null].includes(roomOf(file)))
  const texts = new Map(files.map((file) => [file, readFileSync(join(PROJECT, file), 'utf8')]))
  return Object.entries(CONCEPTS).map(([concept, of]) => {
    const owns = patternsOf(of)
    const isOwner = (file: string) =>
      owns.some(({ rooms, pattern }) => rooms(file) && pattern.test(texts.get(file) ?? ''))
    const port = new RegExp(`from '[^']*/ports/(?:${of.ports.join('|')})\\.ts'`)
    const owners = files.filter(isOwner)
    const callers = files.filter((file) => !isOwner(file) && port.test(texts.get(file) ?? ''))
    return { concept, owners: byRoom(owners), callers: byRoom(callers) }
  })
}

function patternsOf({ keys = [], under = [], tables = false, topics = [] }: Concept) {
  const anywhere = (file: string) => !file.endsWith('/redis/keys.ts')
  const found = []
  if (keys.length > 0)
    found.push({
      rooms: anywhere,
      pattern: new RegExp(`\\bkeys\\.(?:${keys.join('|')})\\b|\\b(?:${keys.join('|')})\\(keys\\b`),
    })
  if (under.length > 0)
    found.push({ rooms: anywhere, pattern: new RegExp(`\\bunder\\(['\`](?:${under.join('|')})\\b`) })
  if (tables) found.push({ rooms: anywhere, pattern: TABLE })
  if (topics.length > 0)
    found.push({
      rooms: (file: string) => OF_KAFKA.includes(roomOf(file) ?? ''),
      pattern: new RegExp(`\\btopics\\.(?:${topics.join('|')})\\b`),
    })
  return found
}

function byRoom(files: readonly string[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>()
  for (const file of files) counted.set(roomOf(file) ?? '', (counted.get(roomOf(file) ?? '') ?? 0) + 1)
  return counted
}
