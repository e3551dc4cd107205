import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { importShelf } from '../../app/commands/library/import.ts'
import { makeProtocols } from '../../app/composition/make-protocols.ts'
import type { Terminal } from '../../cli/terminal.ts'
import { fences } from '../../contracts/facts/fence.ts'
import { samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import { post as postSchema } from '../../contracts/facts/thread.ts'
import { fileMessages } from '../../data-files/formats.ts'
import { router } from '../../judging/engine/routes.ts'
import { whyNotLoaded } from '../../shelves/lancedb/open-tables.ts'

export const DEMO = join(PROJECT, 'config', 'demo')
export const EVENT = join(DEMO, 'event.jsonl')

/** A post or a reply of the event, and the protocols that judge it. */
export interface EventSubject {
  readonly id: string
  readonly words: string
  readonly judgedBy: readonly string[]
  comments: number
}

/** The fields of a post that routes read. */
const routedPost = postSchema.omit({ authorSince: true })

/** The event's subjects, and the protocols that the routes choose for each. */
export async function subjectsOf(settings: Settings): Promise<ReadonlyMap<string, EventSubject>> {
  const samplingRank = samplingRanks(settings.fences.key)
  const routes = router(
    makeProtocols(settings.protocols, fences('demo', 1_000), samplingRank),
    settings.routes,
    samplingRank,
  )
  const subjects = new Map<string, EventSubject>()
  for await (const { type, key, value } of fileMessages(EVENT, 'gavel', () => {})) {
    if (type === 'comment') {
      const post = subjects.get(key)
      if (post !== undefined) post.comments++
    } else if (type !== 'feedback') {
      const kind = type === 'post' ? 'post' : 'reply'
      const post = routedPost.parse({ text: '', ...value, createdAt: 0 })
      const judges = routes.of({ tenant: 'default', postId: post.id, kind }, post)
      const pictures = (post.media ?? []).map(({ alt = 'no description' }) => `[image: ${alt}]`)
      const words = [...(kind === 'reply' ? ['↳'] : []), post.text, ...pictures].join(' ')
      subjects.set(post.id, { id: post.id, words, judgedBy: judges.map(({ name }) => name), comments: 0 })
    }
  }
  return subjects
}

export async function fillShelves(settings: Settings, io: { terminal: Terminal; signal: AbortSignal }): Promise<void> {
  const whyNot = await whyNotLoaded()
  if (whyNot !== null) {
    io.terminal.say(`  Library: none, so nothing is judged beside examples or earlier cases: ${whyNot}`)
    return
  }
  const files = (await readdir(join(DEMO, 'shelves'))).filter((name) => name.endsWith('.jsonl')).sort()
  const still = { ...io, terminal: { ...io.terminal, say() {}, progress() {} } }
  for (const name of files) {
    const shelf = name.slice(0, -'.jsonl'.length)
    await importShelf(settings, join(DEMO, 'shelves', name), { shelf }, still)
  }
  io.terminal.say(`  Library: ${files.length} shelves of examples, searched by ${settings.library.embedder} embeddings`)
}
