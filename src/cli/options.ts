import { InvalidArgumentError, Option } from 'commander'
import { duration } from '../../config/values.ts'
import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { PROTOCOLS } from '../protocols/registry.ts'

// Options that several commands take, and the parsers of options' values.

export const judgedOption = () =>
  new Option('--judged <file>', 'read verdicts of "gavel judge --json" instead of the topic')
export const byOption = () => new Option('--by <name>', 'name recorded in the history (default: your OS user)')

/** The name of a protocol; a list of all, and the one that was probably meant, for any other. */
export function protocolName(text: string): string {
  const names = PROTOCOLS.map(({ name }) => name)
  if (names.includes(text)) return text
  throw new InvalidArgumentError(`there are ${names.join(', ')}.${didYouMean(text, names)}`)
}

export function positive(text: string): number {
  const number = Number(text)
  if (!(number > 0)) throw new InvalidArgumentError('must be a number above 0')
  return number
}

export function positiveWhole(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('must be a whole number above 0')
  return number
}

export function notNegative(text: string): number {
  const number = Number(text)
  if (!(number >= 0)) throw new InvalidArgumentError('must be a number, 0 or more')
  return number
}

/** A port with two more behind it. */
export function port(text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1 || number > 65_533)
    throw new InvalidArgumentError('must be a whole number from 1 to 65533')
  return number
}

/** A share of a whole, from 0 to 1. */
export function share(text: string): number {
  const number = Number(text)
  if (!(number >= 0 && number <= 1)) throw new InvalidArgumentError('must be a number from 0 to 1')
  return number
}

/** A time in ISO 8601, in ms since 1970. */
export function time(text: string): number {
  const read = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(read)) throw new InvalidArgumentError('must be a time in ISO 8601, as 2026-01-31T12:00:00Z')
  return read
}

/** A duration as the settings take it, in ms. */
export function durationMs(text: string): number {
  const read = duration.safeParse(text)
  if (!read.success) throw new InvalidArgumentError(read.error.issues[0]?.message ?? 'must be a duration')
  return read.data
}

/** Parses a comma-separated list of known names; the error for an unknown one names `what` they are. */
export function listOf<Name extends string>(known: readonly Name[], what: string): (text: string) => Name[] {
  return (text) =>
    text.split(',').map((part) => {
      const name = known.find((one) => one === part.trim())
      if (name === undefined)
        throw new InvalidArgumentError(`${what} are ${known.join(', ')}.${didYouMean(part.trim(), known)}`)
      return name
    })
}
