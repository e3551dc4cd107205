import { z } from 'zod'

const mutant = z.object({
  mutatorName: z.string(),
  status: z.string(),
  replacement: z.string().optional(),
  location: z.object({
    start: z.object({ line: z.int(), column: z.int() }),
    end: z.object({ line: z.int(), column: z.int() }),
  }),
})
type Mutant = z.infer<typeof mutant>

/** What the tool reports, as far as it is read: each file's text and its mutants. */
export const mutationReport = z.object({
  files: z.record(z.string(), z.object({ source: z.string(), mutants: z.array(mutant) })),
})
export type MutationReport = z.infer<typeof mutationReport>

/** A mutant that never ends is noticed, and so is one with which the tests don't even load. */
const KILLED = ['Killed', 'Timeout', 'RuntimeError']
const ALIVE = ['Survived', 'NoCoverage']

/** A table by file and one line for all: mutants, killed, survived, and the share that was killed. */
export function table(reports: readonly MutationReport[]): string {
  const rows = filesOf(reports).map(([file, { mutants }]) => ({ file, ...counted(mutants) }))
  const all = counted(filesOf(reports).flatMap(([, { mutants }]) => mutants))
  const line = ({ file, killed, alive }: { file: string; killed: number; alive: number }) =>
    `| ${file} | ${killed + alive} | ${killed} | ${alive} | ${killed + alive === 0 ? '' : ((100 * killed) / (killed + alive)).toFixed(1)} |`
  return [
    '| file | mutants | killed | survived | score |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map(line),
    line({ file: 'all', ...all }),
  ].join('\n')
}

/** The mutants that no test notices, a line each: where, what stands there, what may stand there instead. */
export function survivors(reports: readonly MutationReport[]): string[] {
  return filesOf(reports).flatMap(([file, { source, mutants }]) =>
    mutants
      .filter(({ status }) => ALIVE.includes(status))
      .sort((a, b) => a.location.start.line - b.location.start.line)
      .map((one) => `${file}:${one.location.start.line} ${textOf(source, one)} → ${flat(one.replacement ?? '')}`),
  )
}

function counted(mutants: readonly Mutant[]) {
  const count = (statuses: readonly string[]) => mutants.filter(({ status }) => statuses.includes(status)).length
  return { killed: count(KILLED), alive: count(ALIVE) }
}

function filesOf(reports: readonly MutationReport[]) {
  return reports.flatMap(({ files }) => Object.entries(files)).sort(([a], [b]) => (a < b ? -1 : 1))
}

function textOf(source: string, { location: { start, end } }: Mutant): string {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const last = lines.length - 1
  return flat(
    lines
      .map((line, at) => line.slice(at === 0 ? start.column - 1 : 0, at === last ? end.column - 1 : undefined))
      .join(' '),
  )
}

function flat(text: string): string {
  return text.replace(/\s+/g, ' ')
}
