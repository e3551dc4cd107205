import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { moderationsRoute } from '../../src/door/moderations.ts'
import type { TextScorer } from '../../src/door/scoring/score-text.ts'
import { POST, testDoor } from './door-for-tests.ts'

const TEXTS = Array.from({ length: 32 }, () => 'x'.repeat(90_000))
const SCORES = { language: 'en' }

/** A door whose model answers when it is let. */
function moderatingDoor() {
  let held = 0
  const read: number[] = []
  const model = Promise.withResolvers<void>()
  const scorer: Pick<TextScorer, 'withinMs' | 'pieces' | 'categories'> = {
    withinMs: 60_000,
    pieces(text) {
      held += text.length
      read.push(held)
      return [text]
    },
    async categories({ text }) {
      if (text.length > 100) await model.promise
      held -= text.length
      // No category is looked up in what follows but as a number.
      return { scores: SCORES as never, model: 'a' }
    },
  }
  const route = moderationsRoute({ scorer: scorer as TextScorer, flagAt: 0.5, promptsHash: '' })
  const rate = { perSecond: 1e6, burst: 1e6 }
  return { ...testDoor({ routes: [route], bodyBytes: 4_000_000, bodies: 200_000_000, rate }), read, model }
}

describe('large bodies', () => {
  it('are unpacked within so many bytes of one tenant, and keep no other waiting', async () => {
    const { ask, keyOf, read, model } = moderatingDoor()
    const flood = Array.from({ length: 20 }, () => ask('POST', '/v1/moderations', { input: TEXTS }))
    while (read.length < 2 * TEXTS.length) await new Promise((resolve) => setImmediate(resolve))
    const authorization = `Bearer ${keyOf('other', ['judge'])}`
    expect((await ask('POST', '/v1/moderations', { input: 'small' }, { authorization })).status).toBe(200)
    for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve))
    const twoBodies = 2 * TEXTS.length * 90_000
    expect(Math.max(...read)).toBeLessThanOrEqual(twoBodies + 5)
    model.resolve()
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(Math.max(...read)).toBeLessThanOrEqual(twoBodies + 5)
  })

  it('of messages are read one at a time of a tenant, and a small one of another comes in between', async () => {
    let isRead = 0
    const { ask, keyOf } = testDoor({
      bodyBytes: 300_000,
      pressure: () => {
        isRead++
        return null
      },
    })
    const list = Array.from({ length: 20 }, (_, nth) => ({ ...POST, id: `p${nth}`, text: 'x'.repeat(10_000) }))
    const flood = Array.from({ length: 30 }, () => ask('POST', '/v1/messages', list))
    while (isRead === 0) await new Promise((resolve) => setImmediate(resolve))
    const authorization = `Bearer ${keyOf('other', ['send'])}`
    expect((await ask('POST', '/v1/messages', [POST], { authorization })).status).toBe(200)
    expect(isRead).toBeLessThan(15)
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(Array(30).fill(200))
  })

  it('with images, twenty at once, are answered in a small heap', async () => {
    const file = fileURLToPath(new URL('moderate-images.ts', import.meta.url))
    const child = execFile(process.execPath, ['--max-old-space-size=80', file])
    let said = ''
    child.stdout?.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    expect([code, said]).toEqual([0, `${Array(20).fill(200)}\n`])
  })
})
