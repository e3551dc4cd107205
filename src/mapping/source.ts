import type { MappedKind, MappedMessage } from './messages.ts'
import type { SourceRecord } from './paths.ts'

/** An entry of the setting `sources`: which records of a topic are messages of a kind, and how. */
export interface SourceSettings {
  readonly topic: string
  readonly kind: MappedKind
  /** How values are written: JSON, or in the frame of a schema registry, by whose schemas they are decoded. */
  readonly format?: 'json' | 'registry' | undefined
  /** Which records are meant; absent: each that has a value. */
  readonly when?: unknown
  /** The path of a list, of which each item is a message. */
  readonly each?: string | undefined
  /** Each field of the message, by an expression… */
  readonly map?: Readonly<Record<string, unknown>> | undefined
  /** …or an expression in JSONata, of the fields of one message, or a list of such. */
  readonly jsonata?: string | undefined
}

/** A record's messages, none where no entry means it; or why it can't be mapped. */
export type RecordMapping =
  | { readonly ok: true; readonly messages: readonly MappedMessage[] }
  | { readonly ok: false; readonly why: string }

/** A record as it was read. */
export interface RawRecord extends Omit<SourceRecord, 'value'> {
  readonly value: Buffer | null
  readonly partition?: number
}

/** A record's value, where it is not JSON. */
export type DecodedRecord = { readonly value: unknown } | undefined
