import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { SUBJECT_KINDS } from '../../contracts/facts/thread.ts'
import { learntFrom, ownerOf } from '../names.ts'
import {
  type ChangeHead,
  type ChangeRecord,
  type ChangeStep,
  DamagedFiles,
  type ProposalOrigin,
  type ProposalRecord,
  proposedOf,
  type ShelfRecord,
} from '../storage.ts'
import { appendLine, jsonFiles, namesIn, replaceFile, textOf, watchedJsonFiles } from './files.ts'

const shelfRecord: z.ZodType<Omit<ShelfRecord, 'damaged'>> = z.object({
  name: z.string(),
  table: z.string(),
  embedder: z.string(),
  dimension: z.int(),
  owned: z.boolean(),
})

/** The shelves: `shelves/NAME.json`. */
export function shelfFiles(folder: string) {
  const files = watchedJsonFiles(folder, shelfRecord)

  /** Rejects with `DamagedFiles` if it holds no record: writers replace it as a whole, so no later try can read it. */
  async function read(name: string): Promise<ShelfRecord | null> {
    try {
      return await files.read(name)
    } catch (error) {
      throw isUnreadable(error) ? DamagedFiles.ofShelf(name, error) : error
    }
  }

  return {
    read,
    async all(): Promise<ShelfRecord[]> {
      const known = async (name: string): Promise<ShelfRecord | null> => {
        try {
          return await read(name)
        } catch (error) {
          if (!(error instanceof DamagedFiles)) throw error
          return { name, table: '', embedder: '', dimension: 0, owned: true, damaged: true }
        }
      }
      const records = await Promise.all((await files.names()).map(known))
      return records.filter((record) => record !== null)
    },
    put: (record: ShelfRecord) => files.put(record.name, record),
    remove: files.remove,
  }
}

/** Whether reading a record showed that it is none: writers replace it as a whole, so no later try can read it. */
function isUnreadable(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof z.ZodError
}

const version = z.object({
  label: z.string(),
  metadata: z.record(z.string(), z.string()),
  owner: z.string(),
  source: z.string(),
  change: z.string(),
})
const changeLine = z.object({
  id: z.string(),
  shelf: z.string(),
  kind: z.enum(['add', 'approve', 'drop']),
  by: z.string(),
  at: z.number(),
  rolledBackAt: z.number().nullable(),
  added: z.int(),
  unchanged: z.int(),
  relabelled: z.int(),
  replaced: z.record(z.string(), version),
  item: z.string().optional(),
})

/** The changes: `changes/ID.jsonl`, a line per step, so that an import of many batches writes each of them once. */
export function changeFiles(folder: string) {
  const pathOf = (id: string) => join(folder, `${id}.jsonl`)

  /** A dead writer's last line may be incomplete: then its step was not done either, and it is `left`. */
  async function linesOf(id: string): Promise<{ lines: string[]; left: string }> {
    const lines = ((await textOf(pathOf(id))) ?? '').split('\n')
    return { left: lines.pop() ?? '', lines }
  }

  async function read(id: string): Promise<ChangeRecord | null> {
    if (!/^[\w-]+$/.test(id)) return null
    const { lines, left } = await linesOf(id)
    try {
      const [first, ...later] = lines.map((line) => changeLine.parse(JSON.parse(line)))
      if (first === undefined) return null
      for (const step of later) {
        first.added += step.added
        first.unchanged += step.unchanged
        first.relabelled += step.relabelled
        Object.assign(first.replaced, step.replaced)
      }
      return left === '' ? first : { ...first, torn: true }
    } catch (error) {
      throw isUnreadable(error) ? DamagedFiles.ofChange(id, error) : error
    }
  }

  async function known(id: string): Promise<ChangeRecord | null> {
    try {
      return await read(id)
    } catch (error) {
      if (!(error instanceof DamagedFiles)) throw error
      const [readable] = (await linesOf(id)).lines.flatMap((line) => shelfIn(line) ?? [])
      const nothing = { added: 0, unchanged: 0, relabelled: 0, replaced: {}, by: '', at: 0, rolledBackAt: null }
      return { id, shelf: readable ?? '', kind: 'add', ...nothing, damaged: true }
    }
  }

  return {
    read,
    async all(shelf?: string): Promise<ChangeRecord[]> {
      const ids = (await namesIn(folder)).flatMap((file) => (file.endsWith('.jsonl') ? [file.slice(0, -6)] : []))
      const changes = await Promise.all(ids.reverse().map(known))
      return changes.filter((change) => change !== null).filter((it) => shelf === undefined || it.shelf === shelf)
    },
    addStep(head: ChangeHead, step: ChangeStep): Promise<void> {
      return appendLine(pathOf(head.id), JSON.stringify({ ...head, rolledBackAt: null, ...step }))
    },
    put: ({ torn: _, ...change }: ChangeRecord) => replaceFile(pathOf(change.id), `${JSON.stringify(change)}\n`),
    remove: (id: string) => rm(pathOf(id), { force: true }),
  }
}

/** The shelf that a line of a change names; null if it can't be read. */
function shelfIn(line: string): string | null {
  try {
    return changeLine.parse(JSON.parse(line)).shelf
  } catch (error) {
    if (isUnreadable(error)) return null
    throw error
  }
}

const proposalRecord: z.ZodType<ProposalRecord> = z.object({
  proposal: z.object({
    id: z.string(),
    shelf: z.string(),
    text: z.string(),
    label: z.string(),
    metadata: z.record(z.string(), z.string()),
    provenance: z.object({
      tenant: z.string(),
      subjectId: z.string(),
      kind: z.enum(SUBJECT_KINDS),
      protocol: z.string(),
      verdictId: z.string(),
      by: z.string(),
      at: z.string(),
    }),
    state: z.enum(['waiting', 'approved', 'rejected']),
    change: z.string().nullable(),
  }),
  source: z.string(),
  proposedAt: z.number(),
})

/**
 * The proposals: `proposals/OWNER.AUTHOR.ID.json`. The names say whose content it is, who proposed it and for which
 * shelf (as hashes), so that one subject's or one author's are found without reading all of them.
 */
export function proposalFiles(folder: string) {
  const files = jsonFiles(folder, proposalRecord)
  const authorOf = (shelf: string, by: string) =>
    createHash('sha256')
      .update(JSON.stringify([shelf, by]))
      .digest('hex')
      .slice(0, 16)
  const nameOf = ({ proposal: { id, shelf, provenance } }: ProposalRecord) =>
    `${ownerOf(learntFrom(provenance))}.${authorOf(shelf, provenance.by)}.${id}`

  const ownerIn = (name: string) => name.slice(0, name.indexOf('.'))

  async function namesOf(owners: ReadonlySet<string>): Promise<string[]> {
    return (await files.names()).filter((name) => owners.has(ownerIn(name)))
  }

  async function read(name: string): Promise<ProposalRecord | null> {
    try {
      return await files.read(name)
    } catch (error) {
      throw isUnreadable(error) ? DamagedFiles.ofProposal(name, error) : error
    }
  }

  /** By file name, so that each file is read for it only once. */
  const seen = new Map<string, ProposalOrigin>()

  return {
    async proposed(): Promise<ProposalOrigin[]> {
      const names = await files.names()
      const there = new Set(names)
      for (const name of seen.keys()) if (!there.has(name)) seen.delete(name)
      for (const name of names) {
        const record = seen.has(name) ? null : await read(name)
        if (record !== null) seen.set(name, proposedOf(record))
      }
      return [...seen.values()]
    },
    async read(id: string): Promise<ProposalRecord | null> {
      const name = (await files.names()).find((known) => known.endsWith(`.${id}`))
      return name === undefined ? null : read(name)
    },
    async all(of?: { shelf: string; by: string }): Promise<ProposalRecord[]> {
      const mark = of === undefined ? '' : `.${authorOf(of.shelf, of.by)}.`
      const names = (await files.names()).filter((name) => name.includes(mark))
      const records: ProposalRecord[] = []
      for (const name of names) {
        const record = await read(name)
        if (record !== null) records.push(record)
      }
      return records
    },
    put: (record: ProposalRecord) => files.put(nameOf(record), record),
    remove: (record: ProposalRecord) => files.remove(nameOf(record)),
    async of(owners: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
      const named = Map.groupBy(await namesOf(owners), ownerIn)
      return new Map([...named].map(([owner, names]) => [owner, names.length]))
    },
    async removeOf(owners: ReadonlySet<string>): Promise<void> {
      for (const name of await namesOf(owners)) await files.remove(name)
    },
  }
}

/** Longer than any work on one subject's content lasts. */
const NOTED_DAYS = 2
const DAY_MS = 86_400_000

/** Recently forgotten subjects: `forgotten/DAY.log`, a hash per line. None if there is no library. */
export function deletionLog(folder: string, now: () => number) {
  const dayOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 10)}.log`
  const recent = () => Array.from({ length: NOTED_DAYS }, (_, back) => dayOf(now() - back * DAY_MS))
  return {
    async note(owners: readonly string[]): Promise<void> {
      if (owners.length === 0 || (await namesIn(dirname(folder))).length === 0) return
      const kept = recent()
      for (const old of await namesIn(folder)) if (!kept.includes(old)) await rm(join(folder, old), { force: true })
      await appendLine(join(folder, dayOf(now())), owners.join('\n'))
    },
    async has(owner: string): Promise<boolean> {
      const logs = await Promise.all(recent().map((day) => textOf(join(folder, day))))
      return logs.some((log) => log?.split('\n').includes(owner))
    },
  }
}
