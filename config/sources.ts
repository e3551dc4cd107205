import { z } from 'zod'
import { MappingSettingFault } from '../src/mapping/faults.ts'
import { topicMappings } from '../src/mapping/mapping.ts'
import { MAPPED_KINDS } from '../src/mapping/messages.ts'
import { sinkMappings } from '../src/mapping/sinks.ts'
import { scratchTopicOf, topicsOf } from './topics.ts'
import { wait } from './values.ts'

const topicName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,249}$/, 'a topic is letters, digits, dots, dashes and underscores')

/** A condition or an expression: a small language of its own, which `topicMappings` reads. */
const ofMappings = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.unknown()),
  z.record(z.string(), z.unknown()),
])

const source = z.strictObject({
  topic: topicName,
  kind: z.enum(MAPPED_KINDS),
  format: z.enum(['json', 'registry']).optional(),
  when: ofMappings.optional(),
  each: z.string().optional(),
  map: z.record(z.string(), ofMappings).optional(),
  jsonata: z.string().optional(),
})

/** Where a registry is whose schemas values are written by. */
export const schemaRegistry = z.strictObject({
  url: z.union([z.literal(''), z.url({ protocol: /^https?$/, error: 'is no address such as http://127.0.0.1:8081' })]),
  username: z.string(),
  password: z.string(),
  timeout: wait,
})

/** Most bytes of all mappings, as JSON. */
const MOST_BYTES = 2 ** 20

/** Topics whose records are mapped to messages. */
export const sources = z.array(source).max(200).superRefine(compiledBy(topicMappings))

const sink = z.strictObject({
  topic: topicName,
  when: ofMappings.optional(),
  key: ofMappings.optional(),
  map: z.record(z.string(), ofMappings),
})

/** Topics that get verdicts in another shape. */
export const sinks = z.array(sink).max(50).superRefine(compiledBy(sinkMappings))

/** Tells where mappings are none, by compiling them. */
function compiledBy<Entry>(compile: (given: readonly Entry[]) => unknown) {
  return (given: readonly Entry[], { addIssue }: z.RefinementCtx) => {
    if (JSON.stringify(given).length > MOST_BYTES)
      return addIssue({ code: 'custom', message: `more than ${MOST_BYTES} bytes` })
    try {
      compile(given)
    } catch (error) {
      if (!(error instanceof MappingSettingFault)) throw error
      addIssue({ code: 'custom', path: [...error.path], message: error.message })
    }
  }
}

/**
 * Gavel's own topics are no sources: what it wrote would be judged. Nor are they sinks, nor is a source one. A registry is set where
 * one is needed.
 */
export function usableTopics(
  settings: Parameters<typeof topicsOf>[0] & {
    readonly sources: z.infer<typeof sources>
    readonly sinks: z.infer<typeof sinks>
    readonly schemaRegistry: z.infer<typeof schemaRegistry>
  },
  { addIssue }: z.RefinementCtx,
): void {
  if (settings.schemaRegistry.url === '' && settings.sources.some(({ format }) => format === 'registry'))
    addIssue({ code: 'custom', path: ['schemaRegistry', 'url'], message: 'is empty, and sources need a registry' })
  const own = new Set([...Object.values(topicsOf(settings)), scratchTopicOf(settings)])
  for (const [nth, { topic }] of settings.sources.entries())
    if (own.has(topic))
      addIssue({ code: 'custom', path: ['sources', nth, 'topic'], message: `${topic} is a topic of Gavel's own` })
  const read = new Set(settings.sources.map(({ topic }) => topic))
  for (const [nth, { topic }] of settings.sinks.entries()) {
    const path = ['sinks', nth, 'topic']
    if (own.has(topic)) addIssue({ code: 'custom', path, message: `${topic} is a topic of Gavel's own` })
    if (read.has(topic)) addIssue({ code: 'custom', path, message: `${topic} is read by sources` })
  }
}
