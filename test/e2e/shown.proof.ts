import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../src/store/redis/connect.ts'
import { dice } from '../chaos/dice.ts'
import { eventually, tell } from '../support/pipeline.ts'
import { type Servers, startServers } from '../support/servers.ts'
import { filesWith } from '../support/stored.ts'
import './shown.test.ts'
import { caseText, splitRoles, WORDS, wordsOf } from './shown.ts'

/** From the deletion's own step in Redis on, while at least one judge has been running. The machine must not be busy with other work. */
const ERASED_WITHIN_MS = 2_000
const DELETIONS = 12
/** A judge that has just started loads its library and its embedder first. */
const STARTING_MS = 3_000

const folder = mkdtempSync(join(tmpdir(), 'gavel-erased-'))
let stack: Servers
let redis: Redis
beforeAll(async () => {
  stack = await startServers({ latencyMs: 50 })
  redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
})
afterAll(async () => {
  redis?.disconnect()
  await stack?.close()
  await rm(folder, { recursive: true, force: true })
})

it(`deleted words are gone from Redis and the shelves within ${ERASED_WITHIN_MS} ms, whichever of two judges is killed meanwhile`, async () => {
  const gavel = await splitRoles({ stack, redis, folder }, 'erased', DELETIONS)
  try {
    const { between } = dice(20260602, 'erased')
    await gavel.start('publish')
    await gavel.start('intake')
    const judges = [await gavel.start('judge'), await gavel.start('judge')]
    await sleep(STARTING_MS)
    const waits: number[] = []
    const lookedEvery: number[] = []
    for (let nth = 0; nth < DELETIONS; nth++) {
      await gavel.sendAll(
        ...[0, 1, 2].map((at) => ({ type: 'post', id: `case${nth}-${at}`, text: caseText(10 * nth + at) })),
      )
      await sleep(between(0, 1_500))
      const killed = nth % 2
      const killAt = Date.now() + between(0, 2_500)
      const killing = (async () => {
        await sleep(killAt - Date.now())
        await judges[killed]?.kill('SIGKILL')
      })()
      await gavel.sendAll({ type: 'post', id: `p${nth}`, deleted: true })
      let known = Number.NaN
      let gone = Number.NaN
      await eventually(async () => {
        const at = Date.now()
        const stored = await gavel.stored()
        if (Number.isNaN(known) && stored.some((one) => one.includes(`:thread:default:p${nth} `))) known = at
        const words = wordsOf(nth)
        const left = stored.some((one) => one.includes(words)) || filesWith(words, gavel.library).length > 0
        if (!Number.isNaN(known) && !left) gone = at
        lookedEvery.push(Date.now() - at)
        return !Number.isNaN(gone)
      }, 60_000)
      waits.push(gone - known)
      await killing
      judges[killed] = await gavel.start('judge')
      await sleep(STARTING_MS)
    }
    tell(
      `erased after ${waits.join(', ')} ms, with a judge being killed each time (looked every ${Math.max(...lookedEvery)} ms or more often)`,
    )
    expect(gavel.echo.asked.some(({ body }) => body.match(WORDS) !== null)).toBe(true)
    expect(Math.max(...waits)).toBeLessThanOrEqual(ERASED_WITHIN_MS)
  } finally {
    await gavel.close()
  }
})
