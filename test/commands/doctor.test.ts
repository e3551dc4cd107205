import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { doctor, type Finding } from '../../src/commands/doctor.ts'

const told = async (environment: Record<string, string>) => {
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(line), say() {}, progress() {} }
  await doctor(loadSettings({ GAVEL_LIBRARY_PATH: '/nowhere', ...environment }), { json: true }, terminal)
  const findings = lines.flatMap((line) => JSON.parse(line) as Finding[])
  return findings.find(({ what }) => what === 'key of fences and draws')
}

test('the doctor says whether the key of fences and draws outlives Redis', async () => {
  expect(await told({})).toMatchObject({ state: 'warning', todo: expect.stringContaining('GAVEL_FENCES_KEY') })
  const key = 'a key of the tests alone'
  const finding = await told({ GAVEL_FENCES_KEY: key })
  expect(finding).toMatchObject({ state: 'well' })
  expect(JSON.stringify(finding)).not.toContain(key)
})
