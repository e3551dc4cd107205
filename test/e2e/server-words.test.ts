import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { modelFindings } from '../../src/app/commands/doctor-models.ts'
import { judgeFileSubjects } from '../../src/app/commands/judging/file-judging.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { message } from '../../src/data-files/file-message.ts'
import { T0 } from '../contracts/samples.ts'
import { startMisbehaving } from '../support/misbehaving.ts'

const KEY = 'tok-3f9a1c'
const WORDS = 'No chat template is set; pass --chat-template'

/** The reason of a refusal, flat, as vLLM and others send it; and the key, as some gateways repeat it. */
describe.each([
  ['message', { object: 'error', message: `${WORDS} (${KEY})`, type: 'BadRequestError', code: 400 }],
  ['error', { error: `${WORDS} (${KEY})` }],
  ['detail', { detail: `${WORDS} (${KEY})` }],
  ['text', `${WORDS} (${KEY})`],
])('the words of a refusal in a flat %s', { timeout: 60_000 }, (_, body) => {
  let server: Awaited<ReturnType<typeof startMisbehaving>>
  beforeAll(async () => {
    server = await startMisbehaving(() => ({ status: 400, body }))
  })
  afterAll(() => server.close())
  const settings = () => loadSettings({ ...server.settings, OPENAI_API_KEY: KEY, GAVEL_DOOR_PORT: '0' })

  it('are shown by doctor', async () => {
    const all = settings()
    const roles = { default: ['small'] }
    const found = await modelFindings({ ...all, models: { ...all.models, roles } }, new AbortController().signal)
    const broken = found.filter(({ state }) => state === 'broken').map(({ detail }) => detail)
    expect(broken[0]).toMatch(new RegExp(`^no readable answer as .*: status 400: the server says "${WORDS} `))
    expect(JSON.stringify(found)).not.toContain(KEY)
  })

  it('are shown by judge, once', async () => {
    const failed: string[] = []
    await judgeFileSubjects(
      settings(),
      {
        protocol: 'safety',
        file: 'f',
        format: 'gavel',
        finalAge: Number.POSITIVE_INFINITY,
        async *messages() {
          yield message('post', 'p', 1, T0, { id: 'p', text: 'the bridge is closed' })
        },
      },
      {
        signal: AbortSignal.timeout(50_000),
        refused() {},
        corrected() {},
        unrouted() {},
        judged() {},
        failed: (why) => failed.push(why),
      },
    )
    const said = failed.filter((why) => why.includes(WORDS))
    expect(said).toHaveLength(new Set(said).size)
    expect(said[0]).toContain(`status 400: the server says "${WORDS} ([…])"`)
    expect(failed.join()).not.toContain(KEY)
  })

  it('are told to the log of a door, and to no client of it', async () => {
    const events: [string, object][] = []
    const embedded = await startEmbedded(settings(), { report: (name, event) => events.push([name, event]) })
    try {
      const response = await fetch(`http://127.0.0.1:${embedded.doorPort}/v1/moderations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ input: 'the bridge is closed' }),
      })
      expect([response.status, await response.text()]).toEqual([503, expect.not.stringContaining('template')])
    } finally {
      await embedded.close()
    }
    const told = events.filter(([name]) => name === 'call:refused').map(([, event]) => event)
    expect(told).toMatchObject([{ stage: 'score', why: 'status 400', said: `${WORDS} ([…])` }])
    expect(JSON.stringify(events)).not.toContain(KEY)
  })
})
