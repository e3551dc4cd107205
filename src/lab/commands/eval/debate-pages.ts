import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../../../config/schema.ts'
import { everyProtocol } from '../../../app/composition/protocols.ts'
import { debateFile } from '../../../console/debate-file.ts'
import { readAssets, styleOf } from '../../../console/files.ts'
import { transcript, verdict } from '../../../contracts/facts/verdict.ts'
import { sayingsForPeople } from '../../../protocols/registry.ts'
import type { Evaluation } from '../../evaluation/evaluation.ts'
import type { ItemOutcome } from '../../evaluation/outcomes.ts'
import { itemsNamed } from '../../evaluation/report/disagreements.ts'
import type { DebateLinks } from '../../evaluation/report/items.ts'

/** One judging of an item in an evaluation. */
export interface JudgingPlace {
  readonly row: string
  readonly data: string
  readonly id: string
  readonly repeat: number
}

/** Transcripts of an evaluation while it runs: on disk, since rows are judged one after the other, and a page has an item's in all of them. */
export interface DebateSpool {
  /** Rows by the names that they are shown under, each with the one that it was planned under, by which all is kept. */
  rename(planned: ReadonlyMap<string, string>): void
  keep(at: JudgingPlace, json: { readonly verdict: string; readonly transcript: string }): void
  has(at: JudgingPlace): boolean
  read(at: JudgingPlace): { readonly verdict: string; readonly transcript: string } | null
  close(): void
}

export function debateSpool(): DebateSpool {
  const folder = mkdtempSync(join(tmpdir(), 'gavel-debates-'))
  const file = openSync(join(folder, 'transcripts'), 'w+')
  const places = new Map<string, { readonly from: number; readonly length: number }>()
  let end = 0
  let planned: ReadonlyMap<string, string> = new Map()
  const placeOf = (at: JudgingPlace) => places.get(placeKey({ ...at, row: planned.get(at.row) ?? at.row }))
  return {
    rename(names) {
      planned = names
    },
    keep(at, { verdict: said, transcript: argued }) {
      const bytes = Buffer.from(JSON.stringify({ verdict: said, transcript: argued }))
      for (let written = 0; written < bytes.length; )
        written += writeSync(file, bytes, written, bytes.length - written, end + written)
      places.set(placeKey(at), { from: end, length: bytes.length })
      end += bytes.length
    },
    has: (at) => placeOf(at) !== undefined,
    read(at) {
      const place = placeOf(at)
      if (place === undefined) return null
      const bytes = Buffer.alloc(place.length)
      for (let read = 0; read < bytes.length; ) {
        const more = readSync(file, bytes, read, bytes.length - read, place.from + read)
        if (more === 0) throw new Error('the transcripts of this evaluation were cut off')
        read += more
      }
      return JSON.parse(bytes.toString('utf8')) as { verdict: string; transcript: string } // as: written by keep
    },
    close() {
      closeSync(file)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Writes the debates of at most so many items into the folder `debates` of a report, a page each, and resolves to where each judging
 * stands in them: first those that the report names, then those that are judged other than people say or differently.
 */
export async function writeDebates(
  folder: string,
  evaluation: Evaluation,
  { spool, most, settings }: { spool: DebateSpool; most: number; settings: Settings },
): Promise<DebateLinks> {
  const { table, protocol } = evaluation
  const kind = sayingsForPeople(everyProtocol(settings)).get(protocol)
  const style = styleOf(readAssets())
  // What was predicted elsewhere has no debate.
  const judged = table
    .flatMap(({ row, data, outcomes }) => outcomes.map((outcome) => ({ row, data, outcome })))
    .filter(({ row, data, outcome: { id, repeat = 1 } }) => spool.has({ row, data, id, repeat }))
  const items = [...Map.groupBy(judged, ({ data, outcome }) => itemKey(data, outcome.id))]
  const places = new Map(itemsNamed(evaluation).map(({ data, id }, at) => [itemKey(data, id), at]))
  const chosen = items
    .map(([key, of]) => ({
      of,
      place: places.get(key) ?? places.size,
      contest: contestOf(of.map(({ outcome }) => outcome)),
    }))
    .toSorted((one, other) => one.place - other.place || other.contest - one.contest)
    .slice(0, most)
  const links = new Map<string, string>()
  let pages = 0
  await mkdir(join(folder, 'debates'), { recursive: true })
  // Those of a run before, which nothing would lead to.
  for (const name of await readdir(join(folder, 'debates')))
    if (/^\d{4,}\.html$/.test(name)) await rm(join(folder, 'debates', name))
  for (const { of } of chosen) {
    const runs = of.flatMap(({ row, data, outcome: { id, repeat = 1 } }) => {
      const read = spool.read({ row, data, id, repeat })
      if (read === null) return []
      const name = of.some((one) => one.outcome.repeat !== undefined) ? `${row} (repeat ${repeat})` : row
      const parts = {
        verdict: verdict.parse(JSON.parse(read.verdict)),
        transcript: transcript.parse(JSON.parse(read.transcript)),
      }
      return [{ name, ...parts, key: placeKey({ row, data, id, repeat }) }]
    })
    const [first] = of
    if (first === undefined || runs.length === 0) continue
    const { data, outcome } = first
    const name = `debates/${String(++pages).padStart(4, '0')}.html`
    const page = debateFile({ id: outcome.id, data, gold: outcome.gold, runs }, { kind, style, back: '../items.html' })
    await writeFile(join(folder, `${name}.new`), page)
    await rename(join(folder, `${name}.new`), join(folder, name))
    for (const [at, { key }] of runs.entries()) links.set(key, `${name}#run-${at}`)
  }
  return ({ row, data, id, repeat = 1 }) => links.get(placeKey({ row, data, id, repeat })) ?? null
}

function itemKey(data: string, id: string): string {
  return JSON.stringify([data, id])
}

function placeKey({ row, data, id, repeat }: JudgingPlace): string {
  return JSON.stringify([row, data, id, repeat])
}

/** How far an item is worth a look: by the share of its judgings that are not as people say, and half as much if they differ. */
function contestOf(outcomes: readonly ItemOutcome[]): number {
  const labels = new Set(outcomes.map(({ label }) => label))
  const wrong = outcomes.filter(({ gold, label }) => gold !== null && gold !== label).length
  return (labels.size > 1 ? 0.5 : 0) + wrong / outcomes.length
}
