import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Settings } from '../../../config/schema.ts'
import { type PressureSignal, pressureWatch } from '../../../consumers/backpressure.ts'
import { streamsOf } from '../../../producers/jetstream/address.ts'
import { jetstreamReader } from '../../../producers/jetstream/reader.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { newAuthorErasure } from '../../contracts/facts/author-erasure.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { RANK_LIMIT, samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { placeholders } from '../../judging/threads/rules.ts'
import { closable } from '../../operations/closable.ts'
import type { ServiceParts } from './parts.ts'

/** How often the backlog is looked at, how the reader stands is told, and erasures are begun, in ms. */
const [PRESSURE_MS, WATCH_MS, ERASE_MS] = [500, 1_000, 2_000]
/** Erasures of a tenant that are under way at a time. */
const MOST_OPEN = 100
/** Another process reads on when the one that did has been silent for so long, in ms. */
const LEASE_MS = 5_000
/** Of the time that a stop may take, what the reader may. */
const DRAIN_SHARE = 0.5

/** Reads posts of Bluesky onto the topics of posts and comments, as any producer would write them. */
export function jetstreamPart(
  settings: Settings,
  {
    redis,
    kafka,
    topics,
    signals,
    secret,
    loops,
    clock,
    report,
  }: Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'loops' | 'clock' | 'report'> & {
    /** Those for which intake pauses. */
    signals: { readonly intake: readonly (() => Promise<PressureSignal>)[] }
    secret: string
  },
) {
  const { jetstream } = settings
  if (jetstream.urls.length === 0)
    throw new OperatorError(
      'The role jetstream has nothing to read: set jetstream.urls, or leave the role out. docs/bluesky.md',
    )
  return closable(async (keep) => {
    const writer = keep(await kafkaWriter(kafka, settings.kafka.compression))
    const pressure = pressureWatch(signals.intake, settings.intake)
    const name = randomUUID()
    const rank = samplingRanks(secret)
    const people = {
      hashOf: authorHashes(secret),
      isPlaceholder: placeholders(settings.threads.placeholders),
    }
    const { tenant, sample, since, rewind, follow } = jetstream
    const reader = keep(
      jetstreamReader({
        urls: jetstream.urls,
        open: relayStreams(settings),
        store: redis.jetstream,
        lead: () => redis.erasures.lead('jetstream', name, LEASE_MS),
        writer,
        rules: {
          ...jetstream,
          topics: { post: topics.posts, comment: topics.comments },
          isDrawn: (address) => sample >= 1 || rank('jetstream', address) / RANK_LIMIT < sample,
        },
        followMs: follow,
        times: { since, rewind, drain: settings.drain * DRAIN_SHARE },
        isNarrow: jetstream.dids.length > 0,
        pressure: pressure.why,
        clock,
        report,
      }),
    )
    loops.start('jetstream backlog', PRESSURE_MS, pressure.poll)
    loops.start('jetstream', WATCH_MS, reader.watch)
    // As many at a time as at the door: strangers decide how many accounts go at once.
    loops.start('jetstream erasures', ERASE_MS, async () => {
      for (const author of await redis.jetstream.gone(MOST_OPEN)) {
        const asked = newAuthorErasure({ tenant, author, by: 'jetstream', now: clock() }, people)
        if (asked !== null && (await redis.authorErasures.ask(asked, MOST_OPEN)) === null) return
        await redis.jetstream.erased(author)
      }
    })
    return {}
  })
}

/** Opens streams of the settings' relays. Throws an `OperatorError` if the file of an authority can't be used. */
export function relayStreams({ jetstream }: Settings): ReturnType<typeof streamsOf> {
  return streamsOf({ ...jetstream, ca: jetstream.ca === '' ? undefined : authorityOf(jetstream.ca) })
}

function authorityOf(file: string): Buffer {
  try {
    const pem = readFileSync(file)
    if (pem.includes('-----BEGIN')) return pem
  } catch (error) {
    throw new OperatorError(`jetstream.ca: ${file} can't be read.`, { cause: error })
  }
  throw new OperatorError(`jetstream.ca: ${file} is not a PEM file.`)
}
