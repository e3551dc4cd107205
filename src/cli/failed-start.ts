import { hostname } from 'node:os'
import { printableJson } from '../contracts/facts/printable.ts'

/** The last line of a service that could not start, or broke: in the form of its log, so that whoever collects that reads it. */
export function failedServiceLine(why: string, version: string, now: Date): string {
  const writer = { process: `@${hostname()}:${process.pid}`, version }
  const line = { level: 'error', time: now.toISOString(), ...writer, event: 'service:failed', why }
  return printableJson(JSON.stringify(line))
}
