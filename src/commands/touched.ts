import { z } from 'zod'
import type { Settings } from '../../config/schema.ts'
import { readTopic } from '../adapters/kafka/bounded-reader.ts'
import { topicsOf } from '../composition/topics.ts'
import { subjectKey } from '../curator/learn.ts'
import { OperatorError } from '../domain/errors.ts'
import { jsonOf } from '../domain/json-of.ts'
import { type Verdict, verdict } from '../domain/verdict.ts'
import type { Precedent, Standing, Traced, Whereabouts } from '../ports/library.ts'
import { eachLine } from './judged.ts'
import { operator, withLibrary } from './library.ts'
import { printable, printableJson, type Terminal } from './terminal.ts'
import { readingClient } from './verdicts.ts'

interface Io {
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

export interface TouchedOptions {
  /** Verdicts of "gavel judge --json", in place of the topic. */
  readonly judged?: string
  /** Only this tenant's verdicts. */
  readonly tenant?: string
  readonly json: boolean
}

/** A verdict among whose evidence a precedent is. */
export interface Touched
  extends Pick<Verdict, 'id' | 'tenant' | 'protocol' | 'subjectId' | 'revision' | 'final' | 'label' | 'decidedBy'> {
  readonly decidedAt: string
  readonly precedents: readonly string[]
  /** No later revision of the same subject is there. */
  readonly stands: boolean
}

/**
 * `gavel library touched`: the verdicts whose evidence names a precedent, by its id, its proposal's or the change that put it
 * on its shelf, one a line; to standard error where it stands, and whose feedback it was. Reads the verdicts topic from its
 * beginning to its end; verdicts are found for as long as the topic keeps them.
 */
export async function touchedBy(settings: Settings, id: string, options: TouchedOptions, io: Io): Promise<void> {
  const traced = await withLibrary(settings, (library) => library.trace(id))
  const { terminal } = io
  for (const standing of traced.standing) terminal.say(`stands on ${standingLine(standing)}`)
  if (traced.standing.length === 0) terminal.say(`${printable(id, 80)} stands on no shelf.`)
  for (const { state, provenance, ...proposal } of traced.proposals)
    terminal.say(`proposal ${proposal.id}, ${state}, by ${printable(provenance.by, 40)} at ${provenance.at}`)
  const touched = await verdictsOn(settings, traced, options, io)
  for (const one of touched) terminal.out(options.json ? printableJson(JSON.stringify(one)) : touchedLine(one))
  tellCount(touched, io)
}

/**
 * `gavel library take-back`: takes one item off its shelf, then names the verdicts that it touched. Throws an `OperatorError`
 * that says so where it was taken back and the verdicts can't be read.
 */
export async function takeBackItem(
  settings: Settings,
  id: string,
  options: TouchedOptions & Whereabouts & { readonly by?: string },
  io: Io,
): Promise<void> {
  const { terminal } = io
  const { shelf, tenant, everywhere, by = operator() } = options
  const where = {
    ...(shelf === undefined ? {} : { shelf }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(everywhere === undefined ? {} : { everywhere }),
  }
  const takenBack = await withLibrary(settings, (library) => library.takeBack(id, by, where))
  if (!options.json) for (const one of takenBack) terminal.out(`taken off ${standingLine(one)}`)
  let touched: readonly Touched[]
  try {
    touched = await verdictsOn(settings, { precedents: takenBack }, options, io)
  } catch (error) {
    if (options.json) terminal.out(printableJson(JSON.stringify({ takenBack, touched: null })))
    if (!(error instanceof OperatorError)) throw error
    throw new OperatorError(
      `It was taken back; the verdicts that it touched could not be read: ${error.message} "gavel library touched ${printable(id, 80)}" names them.`,
      { cause: error },
    )
  }
  if (options.json) terminal.out(printableJson(JSON.stringify({ takenBack, touched })))
  else for (const one of touched) terminal.out(touchedLine(one))
  tellCount(touched, io)
  terminal.say(
    'Cases that were open may have been shown it: ask again with "gavel library touched" when they have ended.',
  )
}

/** The verdicts that rest on one of these, in the order in which they were read. */
async function verdictsOn(
  settings: Settings,
  { precedents }: Pick<Traced, 'precedents'>,
  options: TouchedOptions,
  io: Io,
): Promise<readonly Touched[]> {
  const found = resting(precedents, options.tenant)
  if (options.judged !== undefined)
    await eachLine(options.judged, judgedLine, {
      signal: io.signal,
      take: found.take,
      bad: (line) => io.terminal.say(`${options.judged}:${line} is no verdict; passed over`),
    })
  else {
    const kafka = await readingClient(settings, io.terminal)
    const topic = topicsOf(settings).verdicts
    let read = 0
    await readTopic(kafka, topic, { follow: false, signal: io.signal, say: io.terminal.say }, ({ message }) => {
      if (++read % 1_000 === 0) io.terminal.progress(`${read} records of ${topic} read`)
      const one = verdict.safeParse(jsonOf(message))
      if (one.success) found.take(one.data)
    })
  }
  if (io.signal.aborted) io.terminal.say('Stopped before the end: there may be more.')
  return found.all()
}

/** Keeps of the verdicts handed to it those that rest on one of these precedents. */
function resting(precedents: readonly Precedent[], tenant: string | undefined) {
  const shownTo = Map.groupBy(precedents, ({ id }) => id)
  const hits = new Map<string, Omit<Touched, 'stands'>>()
  /** By subject, of those that have been hit. */
  const newest = new Map<string, number>()
  const isShown = (id: string, of: string) =>
    shownTo.get(id)?.some((precedent) => precedent.tenant === null || precedent.tenant === of) === true
  return {
    take(one: Verdict): void {
      const key = subjectKey(one)
      const on = one.evidence.precedents.filter((id) => isShown(id, one.tenant))
      const isHit = on.length > 0 && (tenant === undefined || one.tenant === tenant)
      if (isHit || newest.has(key)) newest.set(key, Math.max(newest.get(key) ?? 0, one.revision))
      if (!isHit) return
      const { id, protocol, subjectId, revision, final, label, decidedBy, timing } = one
      const decided = { revision, final, label, decidedBy, decidedAt: timing.decidedAt }
      hits.set(id, { id, tenant: one.tenant, protocol, subjectId, ...decided, precedents: on })
    },
    all: (): readonly Touched[] =>
      [...hits.values()].map((one) => ({ ...one, stands: newest.get(subjectKey(one)) === one.revision })),
  }
}

const judgedLine = z.union([verdict, z.object({ verdict }).transform((line) => line.verdict)])

function standingLine({ shelf, tenant, id, label, by, proposals, text }: Standing): string {
  const whose = tenant === null ? '' : ` of ${tenant}`
  const from = by.length === 0 ? '  imported' : `  by ${by.map((name) => printable(name, 40)).join(', ')}`
  const which = proposals.length === 0 ? '' : ` (${proposals.join(', ')})`
  return `${shelf}${whose}  ${id}  ${printable(label, 30)}${from}${which}  ${printable(text, 100)}`
}

function touchedLine({ id, tenant, final, label, decidedBy, decidedAt, stands, precedents }: Touched): string {
  const parts = [
    printable(decidedAt, 30),
    `${printable(id, 80)}${final ? ' final' : ''}${stands ? '' : ' (superseded)'}`,
    printable(tenant, 64),
    label === null ? 'undecided' : printable(label, 30),
    `by ${decidedBy}`,
    ...(precedents.length > 1 ? [`${precedents.length} of them`] : []),
  ]
  return parts.join('  ')
}

function tellCount(touched: readonly Touched[], { terminal }: Io): void {
  const subjects = new Set(touched.map(subjectKey)).size
  const standing = touched.filter(({ stands }) => stands).length
  terminal.say(
    touched.length === 0
      ? 'No verdict that is still there rests on it.'
      : `${touched.length} verdicts on ${subjects} subjects rest on it; ${standing} of them stand.`,
  )
}
