import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { command as doctor } from '../../src/commands/doctor.ts'
import type { Finding } from '../../src/domain/finding.ts'
import { invocation } from '../support/commands.ts'

const told = async (environment: Record<string, string>) => {
  const settings = loadSettings({ GAVEL_LIBRARY_PATH: '/nowhere', ...environment })
  const io = { terminal: { out() {}, say() {}, progress() {} }, signal: new AbortController().signal }
  const findings: readonly Finding[] = await doctor.run(invocation(settings, [], {}, io))
  return findings.find(({ what }) => what === 'fences.key (prompt fences and sampling)')
}

test('the doctor says whether the key of fences and sampling outlives Redis', async () => {
  expect(await told({})).toMatchObject({ state: 'warning', todo: expect.stringContaining('GAVEL_FENCES_KEY') })
  const key = 'a key of the tests alone'
  const finding = await told({ GAVEL_FENCES_KEY: key })
  expect(finding).toMatchObject({ state: 'ok' })
  expect(JSON.stringify(finding)).not.toContain(key)
})
