import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { SUBJECT_KINDS } from '../../domain/thread.ts'
import { learntFrom, ownerOf } from '../../library/names.ts'
import {
  type ChangeHead,
  type ChangeRecord,
  DamagedFiles,
  type ProposalRecord,
  type Proposed,
  proposedOf,
  type ShelfRecord,
  type Step,
} from '../../library/storage.ts'
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
      if (error instanceof SyntaxError || error instanceof z.ZodError) throw new DamagedFiles(name, error)
      throw error
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

  async function read(id: string): Promise<ChangeRecord | null> {
    if (!/^[\w-]+$/.test(id)) return null
    const text = await textOf(pathOf(id))
    // A dead writer's last line may be incomplete: then its step was not done either.
    const lines = (text ?? '').split('\n').slice(0, -1)
    const [first, ...later] = lines.map((line) => changeLine.parse(JSON.parse(line)))
    if (first === undefined) return null
    for (const step of later) {
      first.added += step.added
      first.unchanged += step.unchanged
      first.relabelled += step.relabelled
      Object.assign(first.replaced, step.replaced)
    }
    return first
  }

  return {
    read,
    async all(shelf?: string): Promise<ChangeRecord[]> {
      const ids = (await namesIn(folder)).flatMap((file) => (file.endsWith('.jsonl') ? [file.slice(0, -6)] : []))
      const changes = await Promise.all(ids.reverse().map(read))
      return changes.filter((change) => change !== null).filter((it) => shelf === undefined || it.shelf === shelf)
    },
    addStep(head: ChangeHead, step: Step): Promise<void> {
      return appendLine(pathOf(head.id), JSON.stringify({ ...head, rolledBackAt: null, ...step }))
    },
    put: (change: ChangeRecord) => replaceFile(pathOf(change.id), `${JSON.stringify(change)}\n`),
    remove: (id: string) => rm(pathOf(id), { force: true }),
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
      kind: z.enum(SUBJECT_KINDS).optional(),
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

  function wantedBy(of?: { shelf: string; by: string } | { owners: ReadonlySet<string> }) {
    if (of === undefined) return () => true
    if ('owners' in of) return (name: string) => of.owners.has(name.slice(0, name.indexOf('.')))
    const mark = `.${authorOf(of.shelf, of.by)}.`
    return (name: string) => name.includes(mark)
  }

  /** By file name, so that each file is read for it only once. */
  const seen = new Map<string, Proposed>()

  return {
    async proposed(): Promise<Proposed[]> {
      const names = await files.names()
      const there = new Set(names)
      for (const name of seen.keys()) if (!there.has(name)) seen.delete(name)
      for (const name of names) {
        const record = seen.has(name) ? null : await files.read(name)
        if (record !== null) seen.set(name, proposedOf(record))
      }
      return [...seen.values()]
    },
    async read(id: string): Promise<ProposalRecord | null> {
      const name = (await files.names()).find((known) => known.endsWith(`.${id}`))
      return name === undefined ? null : files.read(name)
    },
    async all(of?: { shelf: string; by: string } | { owners: ReadonlySet<string> }): Promise<ProposalRecord[]> {
      const isWanted = wantedBy(of)
      const names = (await files.names()).filter(isWanted)
      const records: ProposalRecord[] = []
      for (const name of names) {
        const record = await files.read(name)
        if (record !== null) records.push(record)
      }
      return records
    },
    put: (record: ProposalRecord) => files.put(nameOf(record), record),
    remove: (record: ProposalRecord) => files.remove(nameOf(record)),
  }
}

/** Longer than any work on one subject's content lasts. */
const NOTED_DAYS = 2
const DAY_MS = 86_400_000

/** Recently forgotten subjects: `forgotten/DAY.log`, a hash per line. None if there is no library. */
export function farewellFiles(folder: string, now: () => number) {
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
