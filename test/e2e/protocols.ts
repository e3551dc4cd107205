import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { ledgerOf } from '../../src/kit/bench/ledger.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { repeats } from '../support/ledger.ts'
import {
  environmentOn,
  eventually,
  PERSPECTIVES_WITH_SHELVES,
  protocolsOn,
  recordsOf,
  type Service,
  send,
  startService,
  tell,
  transcriptsOf,
  verdictsOf,
} from '../support/pipeline.ts'
import { startServers } from '../support/servers.ts'
import { fillShelves } from '../support/shelves.ts'

const COMMENTS_EACH = 2

/** How many posts and how many replies a stream has. */
interface Size {
  readonly posts: number
  readonly replies: number
}

const TEXTS = [
  'The bridge at the harbor is closed, the fire brigade says.',
  'Those people are vermin, drive them out of the old town.',
  'How to loosen the bolts of the barrier, step by step.',
  'They called me that word again, and I reported it.',
  'Soup and candles for everybody on the quay until midnight.',
]

/** An image that is known by its author's words alone. */
const hasImage = (n: number) => n % 7 === 0

/** Posts of every kind, each with comments, and replies to hate speech, in one stream. */
function* stream({ posts, replies }: Size): Generator<object> {
  let now = Date.parse('2026-01-01T00:00:00Z')
  const at = () => new Date(now++).toISOString()
  for (let n = 0; n < posts; n++) {
    const id = `post-${n}`
    const media = hasImage(n) ? { media: [{ kind: 'image', alt: `a street, number ${n}` }] } : {}
    const text = n % 11 === 0 && hasImage(n) ? {} : { text: `${TEXTS[n % TEXTS.length]} (${n})` }
    yield { type: 'post', id, ...text, ...media, createdAt: at() }
    for (let m = 0; m < COMMENTS_EACH; m++)
      yield {
        type: 'comment',
        id: `${id}-${m}`,
        postId: id,
        text: `I saw it, it is ${m === 0 ? 'true' : 'false'}`,
        createdAt: at(),
      }
  }
  for (let n = 0; n < replies; n++)
    yield {
      type: 'counterspeech',
      id: `post-${n}`,
      hateSpeech: `Those people are vermin (${n})`,
      text: `They are our neighbours, and facts matter (${n})`,
      createdAt: at(),
    }
}

/** Which protocols owe a verdict on which subject. */
function owed({ posts, replies }: Size): Set<string> {
  const pairs = new Set<string>()
  for (let n = 0; n < posts; n++) {
    // Every post has words: a text, or its image's description.
    pairs.add(`rumor post-${n}`).add(`safety post-${n}`).add(`hate post-${n}`)
  }
  for (let n = 0; n < replies; n++) pairs.add(`counterspeech post-${n}`)
  return pairs
}

/** All four protocols judge one stream at once: nothing is lost, and nothing said twice. */
export async function judgeOneStream(size: Size): Promise<void> {
  const stack = await startServers({ latencyMs: 5 })
  let service: Service | undefined
  const environment = environmentOn(stack, {
    ...protocolsOn(...PROTOCOLS.map(({ name }) => name)),
    ...PERSPECTIVES_WITH_SHELVES,
    GAVEL_CASES_DEADLINE: '5m',
  })
  const folder = mkdtempSync(join(tmpdir(), 'gavel-stream-'))
  const file = join(folder, 'stream.jsonl')
  writeFileSync(file, [...stream(size)].map((line) => `${JSON.stringify(line)}\n`).join(''))
  await fillShelves(environment)
  const pairOf = ({ protocol, subjectId }: Verdict) => `${protocol} ${subjectId}`
  const expected = owed(size)
  try {
    service = await startService(environment)
    const started = Date.now()
    const sent = await send(environment, file, 'gavel', { kind: 'flat-out' })
    expect(sent).toMatchObject({
      posts: size.posts,
      comments: size.posts * COMMENTS_EACH,
      counterspeech: size.replies,
    })
    let finals = new Set<string>()
    await eventually(
      async () => {
        finals = new Set((await verdictsOf(environment)).filter(({ final }) => final).map(pairOf))
        return finals.size >= expected.size
      },
      240_000,
      () => `${finals.size} of ${expected.size} are final`,
    )
    const [verdicts, transcripts] = [await verdictsOf(environment), await transcriptsOf(environment)]
    const ledger = ledgerOf(stack.understudy?.calls() ?? [], transcripts)
    for (const [protocol, all] of Map.groupBy(verdicts, (verdict) => verdict.protocol)) {
      const calls = all.reduce((sum, { usage }) => sum + usage.calls, 0)
      tell(`${protocol}: ${all.length} verdicts, ${(calls / all.length).toFixed(2)} calls each`)
    }
    const failed = transcripts.flatMap(({ verdictId, turns }) =>
      turns.flatMap(({ stage, calls, raw }) =>
        calls.flatMap(({ outcome }) => (outcome === 'answered' ? [] : [`${verdictId} ${stage}: ${outcome} ${raw}`])),
      ),
    )
    const seconds = ((Date.now() - started) / 1000).toFixed(0)
    tell(`${seconds} s; ${ledger.logged} calls logged, ${failed.length} failed, ${ledger.orphans.length} orphans`)
    for (const line of failed.slice(0, 10)) tell(`  failed: ${line}`)

    // Nothing lost, nothing that nobody asked for, nothing twice.
    expect(finals).toEqual(expected)
    expect(repeats(await recordsOf(environment, 'verdicts'))).toEqual([])
    expect(verdicts.filter(({ final, revision }) => final && revision > 1)).toEqual([])
    // Every call is on a bill, and every bill is right.
    expect(ledger.invented).toEqual([])
    expect(ledger.orphans.filter(({ stage }) => stage !== 'embeddings')).toEqual([])
    const argued = new Map(transcripts.map((transcript) => [transcript.verdictId, transcript]))
    for (const { id, usage } of verdicts)
      expect(argued.get(id)?.turns.reduce((sum, { calls }) => sum + calls.length, 0)).toBe(usage.calls)
    expect(await recordsOf(environment, 'deadLetters')).toEqual([])
    // Each asks what its paper has it ask.
    for (const { id, protocol, subjectId, label } of verdicts) {
      const answered = argued.get(id)?.turns.filter(({ calls }) => calls.some(({ outcome }) => outcome === 'answered'))
      if (protocol === 'hate') expect(answered).toHaveLength(10)
      if (protocol === 'safety') expect(answered).toHaveLength(6)
      if (protocol === 'counterspeech') expect(answered).toHaveLength(4)
      // What nobody saw is never called safe.
      const isUnseen = protocol === 'safety' && hasImage(Number(subjectId.split('-')[1]))
      if (isUnseen) expect([null, 'unsafe']).toContain(label)
      else expect(label === null).toBe(protocol === 'counterspeech')
    }
  } finally {
    await service?.kill('SIGKILL')
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  }
}
