import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { makeTopics } from '../../src/operations/make-topics.ts'
import { createTopics } from '../support/create-topics.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { clientOf, environmentOn, eventually, settingsOf, tell } from '../support/pipeline.ts'

const [POSTS, COMMENTS, TURNS] = [200, 20_000, 3]
const CREATED = Date.parse('2026-05-01T10:00:00Z')
const folder = ownFolder('mapping-proof')
const it = onServers({}, 'apache')

/** How comments come: in Gavel's own shape, or in another that is mapped. */
const WAYS = ['direct', 'paths', 'jsonata'] as const
type Way = (typeof WAYS)[number]

/** Processor time of the service, and time that passes, from its start until all is in the store, in s. */
type Taken = Record<'cpu' | 'wall', number>

it('tells what mapping costs, in turn with messages that need none', { timeout: 900_000 }, async ({ stack, start }) => {
  const turn = async (way: Way): Promise<Taken> => {
    const mapped = way !== 'direct'
    const environment = environmentOn(stack)
    const settings = settingsOf(environment)
    const topics = topicsOf(settings)
    const kafka = clientOf(environment)
    await makeTopics(kafka, settings)
    const source = `own-${topics.comments}`
    const file = join(folder, `${source}.yaml`)
    const map = {
      id: '$.comment.id',
      postId: '$.comment.post',
      text: '$.comment.words',
      author: '$.by.name',
      createdAt: { time: '$.at', unit: 's' },
    }
    const jsonata = `{ "id": comment.id, "postId": comment.post, "text": comment.words, "author": by.name, "createdAt": $fromMillis(at * 1000) }`
    const language = way === 'jsonata' ? { jsonata } : { map }
    writeFileSync(file, JSON.stringify({ sources: mapped ? [{ topic: source, kind: 'comment', ...language }] : [] }))
    const [admin, producer] = [kafka.admin(), kafka.producer()]
    await Promise.all([admin.connect(), producer.connect()])
    await createTopics(admin, [{ topic: source, numPartitions: settings.kafka.partitions }])
    const text = 'I went there this morning, and nobody could tell me whether it is open again or not.'
    const posts = Array.from({ length: POSTS }, (_, nth) => ({
      id: `p${nth}`,
      text,
      createdAt: new Date(CREATED).toISOString(),
    }))
    await producer.send({
      topic: topics.posts,
      messages: posts.map((post) => ({ key: post.id, value: JSON.stringify(post) })),
    })
    for (let from = 0; from < COMMENTS; from += 1_000) {
      const some = Array.from({ length: 1_000 }, (_, nth) => from + nth)
      const messages = some.map((nth) => {
        const [post, author, at] = [`p${nth % POSTS}`, `a${nth % 977}`, CREATED / 1_000 + 60]
        const value = mapped
          ? { comment: { id: `c${nth}`, post, words: text }, by: { name: author }, at }
          : { id: `c${nth}`, postId: post, text, author, createdAt: new Date(at * 1_000).toISOString() }
        return { key: post, value: JSON.stringify(value) }
      })
      await producer.send({ topic: mapped ? source : topics.comments, messages })
    }
    await Promise.all([admin.disconnect(), producer.disconnect()])
    const service = await start(environment, 'intake', undefined, ['--config', file])
    const begun = performance.now()
    const metrics = async () => (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    const sum = (page: string, name: RegExp) =>
      page
        .split('\n')
        .filter((line) => name.test(line))
        .reduce((all, line) => all + Number(line.slice(line.lastIndexOf(' '))), 0)
    const cpu = async () => sum(await metrics(), /^process_cpu_seconds_total/)
    const before = await cpu()
    await eventually(async () => sum(await metrics(), /^gavel_messages_total\{/) >= POSTS + COMMENTS, 300_000)
    const taken = { cpu: (await cpu()) - before, wall: (performance.now() - begun) / 1_000 }
    await service.kill('SIGTERM')
    return taken
  }
  const taken: Record<Way, Taken[]> = { direct: [], paths: [], jsonata: [] }
  for (let nth = 0; nth < TURNS; nth++) for (const way of WAYS) taken[way].push(await turn(way))
  const middle = (all: readonly Taken[], of: keyof Taken) =>
    all.map((one) => one[of]).sort((a, b) => a - b)[1] ?? Number.NaN
  const ratio = (way: Way, of: keyof Taken) => middle(taken.direct, of) / middle(taken[way], of)
  for (const way of ['paths', 'jsonata'] as const)
    tell(
      `${COMMENTS} comments, ${TURNS} turns: ${way} to direct, by time ${ratio(way, 'wall').toFixed(2)}, by processor time of the service ${ratio(way, 'cpu').toFixed(2)}`,
    )
  tell(JSON.stringify(taken))
  expect(ratio('paths', 'wall')).toBeGreaterThanOrEqual(0.7)
})
