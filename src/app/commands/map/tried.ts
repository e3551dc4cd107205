import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { pendingOf } from '../../../../producers/publisher/records.ts'
import { sinkInput } from '../../../../producers/publisher/sunk-records.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import { type TopicMapping, topicMappings } from '../../../mapping/mapping.ts'
import { sinkMappings } from '../../../mapping/sinks.ts'
import type { RawRecord } from '../../../mapping/source.ts'
import { registryOf } from '../../composition/sources.ts'
import { decodedBy } from './mapped-by.ts'

/** What came out of a record. */
export interface MappingResult {
  readonly made: readonly MadeRecord[]
  /** Why it could not be mapped, or not for each entry that means it. */
  readonly why?: string
  /** What stands in the record, where its bytes are not text. */
  readonly decoded?: unknown
}

interface MadeRecord {
  readonly topic: string
  readonly key: string | null
  readonly value: string
  /** Of a verdict that a sink's condition does not mean: it is sent where the sink has had one that it takes the place of. */
  readonly follows?: true
}

/** A mapping of the settings, to be tried. */
interface MappingTried {
  /** Whose newest records are tried where no file is given. */
  readonly topic: string
  /** `isOnTopic`: its value is as on its topic, else as a file has it. */
  tried(record: RawRecord, isOnTopic: boolean): Promise<MappingResult>
}

/** The mapping of `sources` of this topic; of the only one, where none is named. */
export function sourceTried(settings: Settings, wanted: string | undefined): MappingTried {
  const mappings = topicMappings(settings.sources)
  const topic = chosen('sources', [...mappings.keys()], wanted)
  const [mapping, topics, decode] = [mappings.get(topic), topicsOf(settings), registryOf(settings)]
  if (mapping === undefined) throw new Error(`no mapping for topic ${topic}`)
  return {
    topic,
    async tried(record, isOnTopic) {
      const decoded = isOnTopic ? await decodedBy(mapping, record, decode) : decodedIn(mapping, record)
      if (decoded !== undefined && !decoded.ok) return { made: [], why: decoded.why }
      const mapped = await mapping.map(record, decoded)
      const shown = decoded === undefined ? {} : { decoded: decoded.value }
      if (!mapped.ok) return { made: [], why: mapped.why, ...shown }
      return { made: mapped.messages.map((one) => ({ ...one, topic: topics[one.topic] })), ...shown }
    },
  }
}

/** The mappings of `sinks` of this topic, as the publisher has them. */
export function sinkTried(settings: Settings, wanted: string): MappingTried {
  const topic = chosen('sinks', [...new Set(settings.sinks.map((one) => one.topic))], wanted)
  const mapping = sinkMappings(settings.sinks.filter((one) => one.topic === topic))
  const topics = topicsOf(settings)
  return {
    topic: topics.verdicts,
    async tried({ value, headers }) {
      const verdict = value?.toString() ?? ''
      const { id, supersedes } = Object(jsonOf({ value }))
      const entry = { kind: 'verdict', id: '', caseId: String(id), verdict, transcript: '' } as const
      const pending = pendingOf(entry, topics)
      if (pending?.verdict === undefined) return { made: [], why: 'is no verdict of schema 1 or 2' }
      const input = sinkInput(pending, topics)
      // An answer to /v1/judge.
      if (input === null) return { made: [] }
      const records = mapping({ ...input, headers: { ...input.headers, ...headers } }, typeof supersedes === 'string')
      const made = records.flatMap((one) =>
        one.ok ? [{ topic, key: one.key, value: one.value, ...(one.follows ? { follows: true as const } : {}) }] : [],
      )
      const why = records.flatMap((one) => (one.ok ? [] : [one.why])).join('; ')
      return { made, ...(why === '' ? {} : { why }) }
    },
  }
}

function chosen(setting: 'sources' | 'sinks', names: readonly string[], wanted: string | undefined): string {
  const topic = wanted ?? (names.length === 1 ? names[0] : undefined)
  if (topic !== undefined && names.includes(topic)) return topic
  if (names.length === 0)
    throw new OperatorError(`The settings have no ${setting}: give the file that has them with --config.`)
  throw new OperatorError(
    wanted === undefined
      ? `${setting} has several topics: choose one with --topic: ${names.join(', ')}`
      : `No entry of ${setting} has the topic ${wanted}.${didYouMean(wanted, names)}`,
  )
}

/** A file holds what is decoded elsewhere as JSON. */
function decodedIn({ format }: TopicMapping, { value }: RawRecord) {
  return format === 'json' || value === null ? undefined : { ok: true as const, value: jsonOf({ value }) }
}
