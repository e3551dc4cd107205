import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { ledgerOf } from '../../src/kit/bench/ledger.ts'
import { repeats } from '../support/ledger.ts'
import { onServers } from '../support/on-servers.ts'
import { allFinal, environmentOn, recordsOf, send, tell, transcriptsOf } from '../support/pipeline.ts'

const POSTS = 18
const LATENCY_MS = 300
/** Between an answer and its journal entry, while Redis waits for a busy disk: a kill in this time makes an orphan of an answered call. */
const JOURNALING_MS = 4_000

/** A service that is killed so often in mid-debate, while the demo's event goes on. */
export function survivesKills(kills: number): void {
  const it = onServers({ latencyMs: LATENCY_MS })

  it(`brings every verdict, once, though it is killed ${kills} times in mid-debate`, {
    timeout: 60_000 + 30_000 * kills,
  }, async ({ stack, start }) => {
    const environment = environmentOn(stack)
    let service = await start(environment)
    const sent = send(environment, join(PROJECT, 'config', 'demo', 'event.jsonl'), 'gavel', {
      kind: 'recorded',
      speed: 300,
      maxPauseMs: 300,
    })
    const killedAt: number[] = []
    for (let kill = 0; kill < kills; kill++) {
      const calls = stack.understudy?.calls().length ?? 0
      const deadline = Date.now() + 15_000
      // Wait until it is at work again, then a random while longer.
      while ((stack.understudy?.calls().length ?? 0) <= calls && Date.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 20))
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 900))
      killedAt.push(Date.now())
      await service.kill('SIGKILL')
      service = await start(environment)
    }
    await sent
    await allFinal(environment, POSTS, 120_000)
    await service.kill('SIGTERM')

    const records = await recordsOf(environment, 'verdicts')
    const ledger = ledgerOf(stack.understudy?.calls() ?? [], await transcriptsOf(environment))
    tell(
      `${kills} kills; ${records.length} verdicts; calls logged ${ledger.logged} = journaled ${ledger.journaled} + failed ${ledger.failed} + orphaned ${ledger.orphans.length}`,
    )
    for (const { seq, stage, at, endedAt, status } of ledger.orphans)
      tell(`  orphan: call ${seq} (${stage}), ${status} after ${(endedAt ?? at) - at} ms`)
    expect(repeats(records).filter(({ identical }) => !identical)).toEqual([])
    expect(ledger.invented).toEqual([])
    expect(ledger.logged).toBe(ledger.journaled + ledger.failed + ledger.orphans.length)
    // An orphan was in flight, or just answered, when the process died; there is no other way to lose a call.
    const unexplained = ledger.orphans.filter(
      ({ at, endedAt }) =>
        !killedAt.some((kill) => at <= kill + 50 && (endedAt ?? Number.POSITIVE_INFINITY) >= kill - JOURNALING_MS),
    )
    expect(unexplained).toEqual([])
  })
}
