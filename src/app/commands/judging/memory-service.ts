import type { Settings } from '../../../../config/schema.ts'
import type { Topics } from '../../../../config/topics.ts'
import { intake } from '../../../../consumers/intake.ts'
import type { ThreadRef } from '../../../contracts/facts/thread.ts'
import type { LoadImage } from '../../../contracts/ports/images.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import type { Report } from '../../../contracts/ports/report.ts'
import type { StreamMarks } from '../../../contracts/ports/threads.ts'
import type { TopicReader } from '../../../contracts/ports/topic.ts'
import type { OpenerSettings } from '../../../judging/engine/open.ts'
import { type Route, router } from '../../../judging/engine/routes.ts'
import { stagesOf } from '../../../judging/engine/script.ts'
import { closable } from '../../../operations/closable.ts'
import type { ProtocolKind } from '../../../protocols/kind.ts'
import { libraryOf } from '../../../shelves/lancedb/library.ts'
import { memoryQueues } from '../../../store/case/memory-stage-queues.ts'
import { memoryStores } from '../../../store/memory-stores.ts'
import { type GatewayStores, gatewayOf, memoryGatewayStores } from '../../composition/gateway.ts'
import { inputOf, openerOf } from '../../composition/intake.ts'
import { judgeOf } from '../../composition/judging.ts'
import { withoutVariants } from '../../composition/make-protocols.ts'
import { protocolsOf } from '../../composition/protocols.ts'

/**
 * The whole pipeline for one protocol in this process, on the memory twins of Kafka and Redis. Every subject goes to the
 * named protocol: other routes are for streams. A deletion removes a subject from what is judged here, but not what was learnt
 * from it from the library. Returns null if the settings enable no protocol of this name.
 */
export async function memoryService(
  settings: Settings,
  options: {
    protocol: string
    secret: string
    topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech'>
    reader: TopicReader
    report: Report
    /** How often an ask is tried, and the wait between tries, in ms. */
    retry: { attempts: number; backoffMs: number }
    model?: Model
    loadImage?: LoadImage
    /** What is judged of what is read; by default no comment by itself. */
    subjects?: Route['subjects']
    /** Kinds of protocols in place of the registered ones. */
    kinds?: readonly ProtocolKind[] | undefined
    /** In place of the settings' library; closed with the service. */
    library?: Library | undefined
    /** Of the gateway, in place of those in memory. */
    stores?: Partial<GatewayStores> | undefined
    /** Restricts what a lookup is shown of the library. */
    shown?: (library: Library) => Pick<Library, 'find' | 'embedder'>
    /** What a vision model saw in a post's images. */
    descriptions?: (post: ThreadRef) => readonly string[]
    /** Where the stream's clock is, instead of what has been read. */
    marks?: Pick<StreamMarks, 'read'>
    streamClock?: OpenerSettings['clock']
  },
) {
  const { secret, topics, reader, report, retry, shown = (library) => library } = options
  const all = protocolsOf({ ...settings, protocols: withoutVariants(settings.protocols) }, secret, options.kinds)
  const protocols = all.protocols.filter(({ name }) => name === options.protocol)
  if (protocols.length === 0) return null
  return closable(async (keep) => {
    const { samplingRank } = all
    const clock = Date.now
    const { threads, cases, outbox, marks } = memoryStores(clock)
    const stores = { ...memoryGatewayStores(settings, clock), ...options.stores }
    const library = keep(options.library ?? libraryOf(settings, clock))
    const atOnce = settings.models.slots
    const queues = memoryQueues({ stages: stagesOf(protocols), ...retry, atOnce, clock, report })
    keep({ close: () => queues.close(0) })
    const { model, loadImage } = options
    const gateway = gatewayOf(settings, { stores, secret, clock, report, model, loadImage })
    queues.work(judgeOf(settings, { protocols, cases, gateway, library: unnoted(shown(library)), clock, report }))
    const routes = router(protocols, { [options.protocol]: [{ subjects: options.subjects }] }, samplingRank)
    const input = inputOf(settings, topics, {
      threads,
      cases,
      outbox,
      queues,
      protocols,
      routes,
      samplingRank,
      clock,
      report,
      memo: stores.memo,
      descriptions: options.descriptions,
    })
    const taking = intake({ reader, ...input, marks })
    await taking.start()
    const opener = openerOf(settings, {
      routes,
      samplingRank,
      threads,
      cases,
      queues,
      clock,
      report,
      marks: { ...marks, ...options.marks },
      partitions: null,
      streamClock: options.streamClock,
    })
    const mostCalls = (comments: number) => Math.max(...protocols.map((one) => one.mostCalls(NO_WORDS, comments)))
    return { taking, opener, threads, cases, outbox, mostCalls }
  })
}

const NO_WORDS = { id: '', text: '', createdAt: 0 }

/** Lookups of which nobody notes what they showed: what was learnt from a subject stays here when it is deleted. */
function unnoted({ embedder, find }: Pick<Library, 'find' | 'embedder'>): Pick<Library, 'find' | 'embedder'> {
  return {
    embedder,
    async find(...wanted) {
      const { shown: _, ...found } = await find(...wanted)
      return found
    },
  }
}
