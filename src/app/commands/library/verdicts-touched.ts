import { z } from 'zod'
import { topicsOf } from '../../../../config/topics.ts'
import type { Invocation } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import { verdict } from '../../../contracts/facts/verdict.ts'
import type { ShelvedItem, TracedItems } from '../../../contracts/ports/library.ts'
import { subjectKey } from '../../../shelves/curator/feedback.ts'
import { restingOn, type TouchedVerdict } from '../../../shelves/curator/touched.ts'
import { readTopic } from '../../../stream/bounded-reader.ts'
import { readingClient } from '../reading-client.ts'
import { eachLine } from '../verdict-sources.ts'

export interface TouchedOptions {
  /** Verdicts of "gavel judge --json", in place of the topic. */
  readonly judged?: string
  /** Only this tenant's verdicts. */
  readonly tenant?: string
}

/** The verdicts that rest on one of these, in the order in which they were read. */
export async function verdictsOn(
  { precedents }: Pick<TracedItems, 'precedents'>,
  { options, settings: read, ...io }: Invocation<TouchedOptions>,
): Promise<readonly TouchedVerdict[]> {
  const settings = read()
  const found = restingOn(precedents, options.tenant)
  if (options.judged !== undefined)
    await eachLine(options.judged, judgedLine, {
      signal: io.signal,
      take: found.take,
      bad: (line) => io.terminal.say(`${options.judged}:${line} is not a verdict; skipped`),
    })
  else {
    const kafka = await readingClient(settings, io.terminal)
    const topic = topicsOf(settings).verdicts
    let records = 0
    await readTopic(kafka, topic, { follow: false, signal: io.signal, say: io.terminal.say }, ({ message }) => {
      if (++records % 1_000 === 0) io.terminal.progress(`${records} records of ${topic} read`)
      const one = verdict.safeParse(jsonOf(message))
      if (one.success) found.take(one.data)
    })
  }
  if (io.signal.aborted) io.terminal.say('Stopped before the end: there may be more.')
  return found.all()
}

const judgedLine = z.union([verdict, z.object({ verdict }).transform((line) => line.verdict)])

/** An item and where it is, as one line for a person. */
export function standingLine({ shelf, tenant, id, label, by, proposals, text }: ShelvedItem): string {
  const whose = tenant === null ? '' : ` of ${tenant}`
  const from = by.length === 0 ? '  imported' : `  by ${by.map((name) => printable(name, 40)).join(', ')}`
  const which = proposals.length === 0 ? '' : ` (${proposals.join(', ')})`
  return `${shelf}${whose}  ${id}  ${printable(label, 30)}${from}${which}  ${printable(text, 100)}`
}

/** A verdict as one line for a person. */
export function touchedLine({
  id,
  tenant,
  final,
  label,
  decidedBy,
  decidedAt,
  stands,
  precedents,
}: TouchedVerdict): string {
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

/** Prints how many there are, and how many of them are current. */
export function tellCount(touched: readonly TouchedVerdict[], { terminal }: Pick<Invocation, 'terminal'>): void {
  const subjects = new Set(touched.map(subjectKey)).size
  const current = touched.filter(({ stands }) => stands).length
  terminal.say(
    touched.length === 0
      ? 'No verdict that can be read rests on it.'
      : `${touched.length} verdicts on ${subjects} subjects rest on it; ${current} of them are current.`,
  )
}
