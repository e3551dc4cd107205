import { expect, test } from 'vitest'
import { demo } from '../../src/kit/demo/demo.ts'
import { startMisbehaving } from '../support/misbehaving.ts'
import { tell } from '../support/pipeline.ts'

test('the demo ends soon where its model answers first, and then no more', async () => {
  let diedAt = 0
  let answers = 0
  const server = await startMisbehaving(() => {
    if (++answers <= 20) return null
    diedAt ||= Date.now()
    return { status: 402, body: { error: { message: 'Insufficient Balance', code: null } } }
  })
  const lines: string[] = []
  const terminal = {
    out: (line: unknown) => lines.push(String(line)),
    say: (line: unknown) => lines.push(String(line)),
    progress() {},
  }
  try {
    const ending = demo(server.settings, { terminal, signal: new AbortController().signal })
    await expect(ending).rejects.toThrow(/402: the account has no quota or credit/)
    const seconds = (Date.now() - diedAt) / 1_000
    tell(`ended ${seconds.toFixed(1)} s after the first refusal`)
    expect(seconds).toBeLessThan(10)
    expect(lines.length).toBeGreaterThan(0)
  } finally {
    await server.close()
  }
})
