import { randomBytes } from 'node:crypto'
import type { Settings } from '../../../config/schema.ts'
import { recordedTopics, topicsOf } from '../../../config/topics.ts'
import { intake } from '../../../consumers/intake.ts'
import { publisher } from '../../../producers/publisher/publisher.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { TopicWriter } from '../../contracts/ports/topic.ts'
import { openAllDue } from '../../judging/engine/open.ts'
import { type Protocol, stagesOf } from '../../judging/engine/script.ts'
import { lookupsOf } from '../../models/lookups.ts'
import { type ClosableRegistrar, closable } from '../../operations/closable.ts'
import { identityOf } from '../../operations/identity.ts'
import { logListener } from '../../operations/log.ts'
import { namedLoops } from '../../operations/loop.ts'
import { stepsOf } from '../../record/follow.ts'
import { sameThreadHalf } from '../../record/sqlite/halves.ts'
import { sqliteRecord } from '../../record/sqlite/record.ts'
import { pathInMemory } from '../../record/sqlite/schema.ts'
import { libraryOf } from '../../shelves/lancedb/library.ts'
import { memoryQueues } from '../../store/case/memory-stage-queues.ts'
import { memoryStores } from '../../store/memory-stores.ts'
import { type KeyedValue, memoryTopics } from '../../store/memory-topics.ts'
import { memoryLookedAt } from '../../store/veto/memory.ts'
import { askingPart, doorPart, scoringPart } from '../composition/door.ts'
import { boundedIfFresh } from '../composition/fresh-budget.ts'
import { gatewayOf, memoryGatewayStores } from '../composition/gateway.ts'
import { inputOf, openerOf } from '../composition/intake.ts'
import { startErasing, startJudging } from '../composition/judging.ts'
import { protocolsOf } from '../composition/protocols.ts'
import { hookingOf, webhooksPart } from '../composition/publication.ts'
import { projectOf } from '../composition/record.ts'
import { verdictForm } from '../composition/verdict-form.ts'
import { vetoPart } from '../composition/vetoes.ts'
import { embeddedDecisions } from './embedded-decisions.ts'

/** How often an ask is tried, and the wait between tries, in ms. */
const RETRY = { attempts: 3, backoffMs: 1_000 }
/** How often the ends of topics are noted, in ms. */
const MARKS_MS = 1_000

/**
 * The door and all behind it in this process, over the memory twins of Kafka and Redis: every protocol that the settings have on,
 * by their routes. All ends with it. Clients of its port, which is on loopback alone, need no key.
 */
export function startEmbedded(
  given: Settings,
  { model, report: told }: { model?: Model; report?: Report } = {},
): Promise<{ doorPort: number; close(): Promise<void> }> {
  // It has published nothing, whenever it starts.
  const settings = boundedIfFresh({ ...given, door: { ...given.door, openOnLoopback: true } }, true)
  const report = told ?? logListener(settings.log.level, Date.now, identityOf(settings, ['door']), settings.log)
  return closable(async (keep) => {
    const clock = Date.now
    const secret = settings.fences.key === '' ? randomBytes(32).toString('hex') : settings.fences.key
    const { protocols, samplingRank, routes } = protocolsOf(settings, secret)
    const { threads, cases, outbox, marks, erasures, answers, webhooks, decisions } = memoryStores(clock)
    const stores = memoryGatewayStores(settings, clock)
    const library = keep(libraryOf(settings, clock, erasures))
    const { gateway, vetoes } = await comparingGateway(
      settings,
      { stores, secret, protocols, clock, report, model },
      keep,
    )
    const lookups = lookupsOf(settings, { clock, report })
    const topics = topicsOf(settings)
    const { reader, send } = memoryTopics()
    const writer: TopicWriter = {
      async send(records) {
        for (const { topic, key, value } of records) {
          const one = { key: key === null ? null : String(key), value: Buffer.from(value) }
          await recorded(topic, one)
          if (taken.has(topic)) await send(topic, [one])
          if (topic === topics.decisions) await decided(one)
        }
      },
      close: async () => {},
    }
    let decided: (decision: KeyedValue) => Promise<unknown> = async () => {}
    const taken = new Set([topics.posts, topics.comments, topics.counterspeech])

    const kept = { ...settings.record, ...settings.review, sourceKeep: settings.kafka.retention, path: pathInMemory() }
    const record = keep(await sqliteRecord(kept, sameThreadHalf))
    const [named, project] = [recordedTopics(topics), projectOf(settings)]
    const ends = new Map<string, number>()
    /** Takes a message into the record, by which GET /v1/subjects tells the current verdicts. */
    async function recorded(topic: string, message: KeyedValue): Promise<void> {
      const of = named.get(topic)
      if (of === undefined) return
      const at = ends.get(topic) ?? 0
      ends.set(topic, at + 1)
      const incoming = { ...message, topic, partition: 0, offset: String(at), headers: {}, timestamp: clock() }
      const batch = { topic, partition: 0, messages: [incoming], from: String(at), next: String(at + 1), atEnd: true }
      for (const step of stepsOf(of, batch, project)) await record.apply(step)
    }

    keep(answers)
    const hooking = hookingOf(settings, webhooks, protocols)
    const publishing = publisher({ outbox, writer, answers, ...hooking, topics, name: 'embedded', clock, report })
    keep(publishing).start()
    const loops = namedLoops(report)
    keep(webhooksPart(settings, { webhooks, loops, clock, report }))
    const queues = memoryQueues({ stages: stagesOf(protocols), ...RETRY, clock, report })
    keep({ close: () => queues.close(settings.drain / 2) })
    const judging = { protocols, samplingRank, cases, gateway, vetoes, library, queues, answers, loops, clock, report }
    startJudging(settings, { ...judging, ...(lookups && { lookups }) })
    const { memo } = stores
    startErasing(settings, { threads, cases, memo, erasures, library, protocols, queues, loops, clock, report })
    const stream = { routes, threads, marks, cases, queues, clock, report, partitions: null }
    const opener = openerOf(settings, { ...stream, samplingRank })
    const opening = loops.start('opener', settings.clock.poll, () => openAllDue(opener))
    const subjects = { threads, cases, outbox, queues, protocols, routes, memo, samplingRank, clock, report }
    const taking = intake({ reader, ...inputOf(settings, topics, subjects), marks, handled: opening.wake })
    await taking.start()
    keep(taking)
    loops.start('stream marks', MARKS_MS, taking.noteEnds)
    const watch = { problem: null }
    const asking = askingPart(settings, {
      ...stream,
      memo,
      answers,
      protocols,
      samplingRank,
      watch,
      loops,
      // Its one user is whoever runs this process.
      mostKept: () => null,
    })
    const { decisionDesk, take } = keep(
      await embeddedDecisions(settings, topics.decisions, {
        decisions,
        threads,
        protocols,
        routes,
        outbox,
        recorded,
        clock,
        report,
        writes: verdictForm(settings),
      }),
    )
    decided = take
    const scoring = scoringPart(settings, { gateway, secret, clock })
    const { doorPort } = keep(
      await doorPart(settings, {
        writer,
        topics,
        signals: { messages: [], door: [] },
        tenantsOverDue: async () => [],
        tenantsOverShare: async () => [],
        asking,
        answers,
        scoring,
        protocols,
        loops,
        clock,
        report,
        isAway: () => false,
        subjects: { threads, cases, decisions, record: async () => record },
        decisionDesk,
        authors: null,
      }),
    )
    keep(loops)
    return { doorPort }
  })
}

/** The gateway to models, and what they are not asked about by the settings' lists. */
async function comparingGateway(
  settings: Settings,
  { protocols, ...parts }: Parameters<typeof gatewayOf>[1] & { readonly protocols: readonly Protocol[] },
  keep: ClosableRegistrar,
) {
  const labelsOf = (name: string) => protocols.find((one) => one.name === name)?.labels
  const { clock, report } = parts
  const comparing = { looked: memoryLookedAt(clock), keptImage: undefined, labelsOf, clock, report }
  const vetoes = await vetoPart(settings, comparing)
  if (vetoes !== undefined) keep(vetoes)
  return { gateway: gatewayOf(settings, { ...parts, loadImage: vetoes?.loadImage }), vetoes }
}
