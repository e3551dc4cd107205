import { afterAll, expect, vi } from 'vitest'
import { recoveryParts } from '../../../src/app/commands/recovery-parts.ts'
import { casesParts, inspectionParts } from '../../../src/app/commands/show/parts.ts'
import { statusPart } from '../../../src/app/composition/status.ts'
import { makeTopics } from '../../../src/operations/make-topics.ts'
import { onServers } from '../../support/on-servers.ts'
import { clientOf, environmentOn, settingsOf } from '../../support/pipeline.ts'

const OFF_MS = 9 * 60_000
const it = onServers({}, 'memory')
afterAll(() => void vi.restoreAllMocks())

it('a command goes by the time of Redis, as the service does, where its own machine’s clock is wrong', async ({
  stack,
}) => {
  const environment = environmentOn(stack)
  const settings = settingsOf(environment)
  const connectKafka = async () => clientOf(environment)
  await makeTopics(clientOf(environment), settings)
  const right = Date.now.bind(Date)
  vi.spyOn(Date, 'now').mockImplementation(() => right() - OFF_MS)
  const signal = new AbortController().signal
  const cases = await casesParts(settings)
  const inspection = await inspectionParts(settings, connectKafka, {
    signal,
    progress: () => {},
  })
  const recovery = await recoveryParts(settings, connectKafka, { signal, allAgain: false, dryRun: false })
  const top = await statusPart(settings, connectKafka, { replicas: [], prometheus: undefined })
  const told = {
    cases: cases.clock(),
    inspection: inspection.clock(),
    recovery: recovery.clock(),
    top: (await top.readStatus()).at,
  }
  for (const parts of [cases, inspection, recovery, top]) await parts.close()
  for (const [name, at] of Object.entries(told)) expect(Math.abs(at - right()), name).toBeLessThan(OFF_MS / 2)
})
