import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { topicsOf } from '../../config/topics.ts'
import { vetoes as vetoSettings } from '../../config/vetoes.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { startApp } from '../../src/app/composition/service.ts'
import { IMAGE_GONE } from '../../src/models/image-cache.ts'
import { imageLoader } from '../../src/models/images/images.ts'
import { lightOf, pdqOf } from '../../src/models/images/pdq.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { dice } from '../chaos/dice.ts'
import { makeCertificates } from '../support/certificates.ts'
import { drawnPng } from '../support/drawn.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  clientOf,
  environmentOn,
  eventually,
  protocolsOn,
  settingsOf,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import type { Servers } from '../support/servers.ts'
import { everythingIn } from '../support/stored.ts'

const SIDE = 64
/** A picture by whole numbers; `shade` makes it another file that looks the same. */
function pictureOf(seed: number, shade = 0) {
  const level = (x: number, y: number, colour: number) =>
    (Math.floor((x * (seed + 2) * (colour + 3)) / 5) +
      Math.floor(y * (seed + 3)) +
      Math.floor(x / 9) * Math.floor(y / 7) * 31) %
    224
  const at = (x: number, y: number) =>
    [0, 1, 2].map((colour) => level(x, y, colour) + shade) as [number, number, number]
  const png = drawnPng(SIDE, SIDE, (x, y) => [...at(x, y), 255])
  const rgba = new Uint8Array(SIDE * SIDE * 4)
  for (let y = 0; y < SIDE; y++) for (let x = 0; x < SIDE; x++) rgba.set([...at(x, y), 255], 4 * (y * SIDE + x))
  return { png, pdq: pdqOf(lightOf(rgba, SIDE, SIDE))?.hash ?? '' }
}

/** On the lists: one by its bytes, one by what it looks like. */
const KNOWN = pictureOf(1)
const ALIKE = pictureOf(2)
const ALIKE_TOO = pictureOf(2, 3)
const BAD = [KNOWN.png, ALIKE_TOO.png]

type Way = 'address' | 'data' | 'hash'
/** A revision of a post: one picture, by its address, as data, or with its hash beside the address. */
interface Revision {
  readonly id: string
  readonly nth: number
  readonly picture: number | null
  readonly way: Way
}

const wordsOf = ({ id, nth }: Revision) => `WORDS-${id}-${nth}-END`
const pathOf = ({ id, nth, picture }: Revision) => `/${picture === null ? 'good' : `bad-${picture}`}/${id}/${nth}.png`

/** What became of the pictures of so many posts, which are edited and deleted while two processes judge them. */
export async function vetoedStream(stack: Servers, { posts, seed }: { readonly posts: number; readonly seed: number }) {
  const folder = ownFolder('vetoed-stream')
  const random = dice(seed, 'vetoes')
  const certificates = makeCertificates()
  if (certificates === null) return null
  const fetched: string[] = []
  const host = createServer(
    { key: readFileSync(certificates.key), cert: readFileSync(certificates.cert) },
    async (request, response) => {
      const path = request.url ?? ''
      fetched.push(path)
      await sleep(random.between(0, 120))
      const bad = /^\/bad-(\d)/.exec(path)?.[1]
      const own = 3 + (fetched.length % 200)
      response.end(bad === undefined ? pictureOf(own).png : BAD[Number(bad)])
    },
  )
  const asked: string[] = []
  const model = createHttp(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    asked.push(body)
    const answer = await fetch(`${stack.settings.OPENAI_BASE_URL}${(request.url ?? '').replace(/^\/v1/, '')}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  for (const server of [host, model]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port
  const hashes = join(folder, 'hashes.txt')
  writeFileSync(hashes, `${createHash('sha256').update(KNOWN.png).digest('hex')}\n`)
  const alike = join(folder, 'alike.txt')
  writeFileSync(alike, `${ALIKE.pdq}\n`)
  const environment = environmentOn(stack, {
    ...protocolsOn('safety', 'hate'),
    OPENAI_BASE_URL: `http://127.0.0.1:${portOf(model)}/v1`,
    GAVEL_LOG_LEVEL: 'silent',
    GAVEL_PROTOCOLS_SAFETY_DEBATE_WHEN: 'contested',
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'never',
  })
  const settings = {
    ...settingsOf(environment),
    vetoes: vetoSettings.parse({ known: { kind: 'sha256', list: hashes }, alike: { kind: 'pdq', list: alike } }),
  }
  const loadImage = imageLoader({
    ...settings.images,
    ca: readFileSync(certificates.ca, 'utf8'),
    lookup: async () => ['127.0.0.1'],
    mayReach: (address, port) => address === '127.0.0.1' && port === portOf(host),
  })
  const apps = await Promise.all([0, 1].map(() => startApp(settings, ['intake', 'judge', 'publish'], { loadImage })))
  const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
  try {
    const { revisions, deleted, messages } = plan(posts, random, `https://gavel.test:${portOf(host)}`)
    const writer = await kafkaWriter(clientOf(environment), settings.kafka.compression)
    for (const message of messages) {
      await writer.send([{ topic: topicsOf(settings).posts, key: message.id, value: JSON.stringify(message) }])
      if (random.chance(0.3)) await sleep(random.between(0, 40))
    }
    await writer.close()
    const last = new Map(revisions.map((one) => [one.id, one]))
    for (const id of deleted) last.delete(id)
    const isBad = ({ picture }: Revision) => picture !== null
    let open: string[] = []
    let notCompared: string[] = []
    await eventually(
      async () => {
        const newest = new Map((await verdictsOf(environment)).map((one) => [`${one.protocol} ${one.subjectId}`, one]))
        notCompared = [...newest.values()].flatMap(({ id, degraded }) =>
          degraded.filter((why) => why.includes('not compared')).map((why) => `${id} ${why}`),
        )
        open = [...last.values()].flatMap((one) =>
          ['safety', 'hate']
            .filter(
              (protocol) =>
                (newest.get(`${protocol} ${one.id}`)?.decidedBy === 'veto') !== isBad(one) ||
                !newest.has(`${protocol} ${one.id}`) ||
                // Its picture went while it was looked at: the revision of the edit is still to come.
                newest.get(`${protocol} ${one.id}`)?.degraded.some((why) => why.includes(IMAGE_GONE)),
            )
            .map((protocol) => `${protocol} ${one.id}`),
        )
        return open.length === 0
      },
      120_000 + posts * 1_500,
      () => `open: ${open.slice(0, 5).join(', ')} of ${open.length}; ${notCompared.slice(0, 3).join('; ')}`,
    )
    const all = asked.join('\n')
    const transcripts = JSON.stringify(await transcriptsOf(environment))
    const bad = revisions.filter(isBad)
    const counts = new Map<string, number>()
    for (const path of fetched) counts.set(path, (counts.get(path) ?? 0) + 1)
    const stored = (await everythingIn(redis)).join('\n')
    return {
      bad: bad.length,
      edits: revisions.length - posts,
      deleted: deleted.size,
      requests: asked.length,
      fetches: fetched.length,
      /** Of pictures on a list: fetched more than once, or although they came as data or with their hash. */
      fetchedTooOften: bad
        .filter((one) => (counts.get(pathOf(one)) ?? 0) > (one.way === 'address' ? 1 : 0))
        .map(pathOf),
      fetchedBad: bad.filter((one) => counts.has(pathOf(one))).length,
      /** Whose words, picture or address reached a model. */
      shown: bad.filter((one) => all.includes(wordsOf(one)) || all.includes(pathOf(one))).map(pathOf),
      picturesShown: BAD.filter((png) => all.includes(png.toString('base64'))).length,
      inTranscripts: bad.filter((one) => transcripts.includes(wordsOf(one))).map(pathOf),
      picturesKept: BAD.filter((png) => stored.includes(png.toString('base64'))).length,
      notCompared,
      goodShown: revisions.some((one) => !isBad(one) && all.includes(wordsOf(one))),
    }
  } finally {
    await Promise.all(apps.map((app) => app.stop()))
    redis.disconnect()
    for (const server of [host, model]) {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** Messages of posts in a random order, each post's own in theirs. */
function plan(posts: number, random: ReturnType<typeof dice>, host: string) {
  const revisions: Revision[] = []
  const deleted = new Set<string>()
  const queues = Array.from({ length: posts }, (_, nth) => {
    const id = `p${nth}`
    const own = Array.from({ length: random.between(1, 3) }, (__, at): Revision => {
      const picture = random.chance(0.3) ? null : random.between(0, 1)
      const way = picture === 0 ? random.pick<Way>(['address', 'address', 'data', 'hash']) : 'address'
      return { id, nth: at, picture, way }
    })
    revisions.push(...own)
    const lines: object[] = own.map((one) => messageOf(one, host))
    if (random.chance(0.25)) {
      deleted.add(id)
      lines.push({ id, createdAt: CREATED, deleted: true })
    }
    return lines as { id: string }[]
  })
  const messages: { id: string }[] = []
  for (
    let left = queues.filter(({ length }) => length > 0);
    left.length > 0;
    left = left.filter(({ length }) => length > 0)
  ) {
    const next = random.pick(left.slice(0, 12)).shift()
    if (next !== undefined) messages.push(next)
  }
  return { revisions, deleted, messages }
}

const CREATED = '2026-01-01T00:00:00Z'

function messageOf(revision: Revision, host: string): object {
  const { id, picture, way } = revision
  const png = BAD[picture ?? 0] ?? Buffer.alloc(0)
  const sha256 = createHash('sha256').update(png).digest('hex')
  const url = way === 'data' ? `data:image/png;base64,${png.toString('base64')}` : `${host}${pathOf(revision)}`
  return {
    id,
    author: `author of ${id}`,
    createdAt: CREATED,
    text: wordsOf(revision),
    media: [{ kind: 'image', url, ...(way === 'hash' ? { sha256 } : {}) }],
  }
}
