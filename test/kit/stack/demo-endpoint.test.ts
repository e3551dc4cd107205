import { describe, expect, test } from 'vitest'
import { demo } from '../../../src/kit/demo/demo.ts'
import { type Misbehaviour, startMisbehaving } from '../../support/misbehaving.ts'

const word = (message: string, code: string | null = null) => ({ error: { message, code } })

async function said(environment: Readonly<Record<string, string>>) {
  const lines: string[] = []
  const terminal = {
    out: (line: unknown) => lines.push(String(line)),
    say: (line: unknown) => lines.push(String(line)),
    progress() {},
  }
  const error = await demo(environment, { terminal, signal: new AbortController().signal }).then(
    () => new Error('it ended well'),
    (failed: Error) => failed,
  )
  return { message: error.message, lines }
}

describe('the demo before a model that can’t answer', () => {
  test.each<[string, ReturnType<Misbehaviour>, RegExp]>([
    ['a wrong key', { status: 401, body: word('no', 'invalid_api_key') }, /401 .*the key is not accepted/],
    ['no credit', { status: 402, body: word('Insufficient Balance') }, /402: the account has no quota or credit/],
    ['no quota', { status: 429, body: word('no', 'insufficient_quota') }, /429 .*the account has no quota/],
    ['no such model', { status: 404, body: word('no', 'model_not_found') }, /404 .*there is no such model/],
    ['a page of HTML', { status: 200, body: '<html></html>' }, /does not answer: /],
  ])('ends after few calls with one line, and starts nothing: %s', async (_, response, line) => {
    const server = await startMisbehaving(() => response)
    try {
      const { message, lines } = await said(server.settings)
      expect(message).toMatch(line)
      expect(lines).toEqual([])
      expect(server.asked.length).toBeLessThan(12)
    } finally {
      await server.close()
    }
  })

  test('ends where one role’s only model is dead', async () => {
    const server = await startMisbehaving(({ model }) =>
      model === 'gone' ? { status: 404, body: word('no', 'model_not_found') } : null,
    )
    try {
      const roles = { GAVEL_MODELS_ROLES: '{"default": ["small"], "judge": ["gone"]}' }
      expect((await said({ ...server.settings, ...roles })).message).toMatch(/The model gone cannot be asked/)
    } finally {
      await server.close()
    }
  })
})
