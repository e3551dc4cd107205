import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { promptsOf } from '../../../src/app/composition/make-protocols.ts'
import { fences } from '../../../src/contracts/facts/fence.ts'
import type { Snapshot } from '../../../src/contracts/facts/thread.ts'
import { prepared } from '../../../src/judging/engine/prepared.ts'
import { rumor } from '../../../src/protocols/rumor/index.ts'
import { counted, total } from '../../bystander/counted.ts'
import { plainRank } from '../../protocols/drive.ts'
import { protocolNamed } from '../../support/parts.ts'

/** How often others had their turn until `work` was done. */
async function turnsDuring(work: Promise<void>): Promise<number> {
  let [turns, going] = [0, true]
  const count = () => {
    turns++
    if (going) setImmediate(count)
  }
  setImmediate(count)
  await work
  going = false
  return turns
}

describe('texts are prepared for a script', () => {
  test('in steps between which others have their turn', async () => {
    const protocol = protocolNamed('talk', { prepare: () => Array<number>(40).fill(25_000) })
    expect(await turnsDuring(prepared(protocol, {}))).toBeGreaterThanOrEqual(35)
  })

  test('long ones one after the other, and a short one before them', async () => {
    const steps: string[] = []
    const protocol = (name: string, count: number, characters: number) =>
      protocolNamed(name, {
        *prepare() {
          for (let nth = 0; nth < count; nth++) {
            steps.push(name)
            yield characters
          }
        },
      })
    const long = ['one', 'two'].map((name) => prepared(protocol(name, 4, 25_000), {}))
    const short = prepared(protocol('short', 2, 100), {})
    await short
    expect(steps).toEqual(['one', 'two', 'short', 'short'])
    await Promise.all(long)
    expect(steps.slice(4)).toEqual(['one', 'one', 'one', 'two', 'two', 'two'])
  })

  test('or not at all, where its protocol prepares nothing or its subject is another’s', async () => {
    await prepared(protocolNamed('talk', {}), {})
    const failing = protocolNamed('talk', {
      *prepare() {
        yield 1
        throw new TypeError('not this subject')
      },
    })
    await expect(prepared(failing, {})).resolves.toBeUndefined()
  })

  test('of a whole giant thread, so that its script neither cleans nor reads any of them', async () => {
    const { enabled: _, ...settings } = loadSettings({}).protocols.rumor as { enabled: boolean }
    const made = () =>
      rumor.make({
        settings,
        prompts: promptsOf('rumor'),
        samplingRank: plainRank,
        files: () => new Map<string, string>(),
        fence: fences('key', { maxChars: 12_000, maxCommentChars: 2_000 }),
      })
    const text = 'c\u0315\u0323\u0334\u0345\u0301\u0327 <b> '.repeat(900)
    const comments = Array.from({ length: 50 }, (_, at) => ({ id: `c${at}`, text: `${at} ${text}`, createdAt: at }))
    const subject: Snapshot = { post: { id: 'p', text: 'It fell.', createdAt: 0 }, comments, leftOut: 0 }
    const [cold, warm] = [made(), made()]
    await prepared(warm, subject)
    const first = (protocol: typeof warm) => total(counted(() => protocol.script(subject, null).next()))
    const characters = 50 * text.length
    expect(first(cold)).toBeGreaterThan(10 * characters)
    expect(first(warm)).toBeLessThan(characters)
  })
})
