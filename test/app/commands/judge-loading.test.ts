import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { message } from '../../../src/data-files/file-message.ts'
import { T0 } from '../../contracts/samples.ts'
import { startMisbehaving } from '../../support/misbehaving.ts'

/** What is judged, and said, by a server that answers so many calls as it does while it loads its model. */
async function judgedAfter(calls: number, loading: { readonly status: number; readonly body: unknown }) {
  let left = calls
  const server = await startMisbehaving(() => (left-- > 0 ? loading : null))
  const [verdicts, failed]: [Verdict[], string[]] = [[], []]
  try {
    await judgeFileSubjects(
      loadSettings({ ...server.settings }),
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
        judged: (one) => verdicts.push(one),
        failed: (why) => failed.push(why),
      },
    )
  } finally {
    await server.close()
  }
  const [one] = verdicts
  return { verdict: { label: one?.label, decidedBy: one?.decidedBy, degraded: one?.degraded }, failed, left }
}

test('a model that is loaded while judge begins is waited for, and judges as ever', { timeout: 60_000 }, async () => {
  const loading = { status: 502, body: 'bad gateway' }
  const { verdict } = await judgedAfter(0, loading)
  const late = await judgedAfter(5, loading)
  expect(late.verdict).toEqual(verdict)
  expect(verdict.label).toBeTypeOf('string')
  expect(late.left).toBeLessThan(0)
  const said = late.failed.filter((why) => why.includes('does not answer yet'))
  expect(said).toEqual([expect.stringMatching(/127\.0\.0\.1.*at most 9 min.*Ctrl-C.*OPENAI_BASE_URL/)])
})
