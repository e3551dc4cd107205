import { expect, it } from 'vitest'
import { UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { runSeed } from '../chaos/run.ts'
import { tell } from '../support/pipeline.ts'

/** The short form of `npm run chaos` (docs/chaos.md): few posts, faults that are soon over. */
const SHORT = {
  seed: 7,
  posts: 40,
  comments: true,
  inPlace: true,
  kinds: ['redis-restart', 'kill', 'people', 'record', 'redis-cut', 'repeat'],
} as const

it('gives every message its one outcome and every call its place, whatever fails', {
  timeout: 900_000,
}, async (context) => {
  const quiet = { say: () => {}, signal: new AbortController().signal }
  const outcome = await runSeed(SHORT, quiet).catch((error: unknown) => {
    if (error instanceof UnavailableError) return error
    throw error
  })
  if (outcome instanceof UnavailableError) {
    tell(`SKIPPED: the faults take a broker that can be restarted: ${outcome.message}`)
    return context.skip(outcome.message)
  }
  const { breaches, logs, faults, verdicts, calls, seconds } = outcome
  tell(
    `${faults.length} faults in ${seconds} s; ${verdicts.records} verdicts; calls logged ${calls.logged} = journaled ${calls.journaled} + failed ${calls.failed} + orphaned ${calls.orphaned} + erased ${calls.erased}`,
  )
  expect({ breaches, logs }).toEqual({ breaches: [], logs: null })
  expect(faults.map(({ kind }) => kind).sort()).toEqual([...SHORT.kinds].sort())
  expect(verdicts.human, 'people decided').toBeGreaterThan(0)
  expect(verdicts.decided).toBeGreaterThan(SHORT.posts / 2)
})
