import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-paths-'))
afterAll(() => rmSync(folder, { recursive: true }))

function loaded(yaml: string) {
  const file = join(folder, 'mine.yaml')
  writeFileSync(file, yaml)
  return loadSettings({}, file)
}

test('a path at the margin of a settings file stands for its mappings, beside what is written out', () => {
  const { models, protocols } = loaded(`
models.dialects: { "here/gpt-6.1": { effort: none } }
models:
  roles: { scorer: [here/gpt-6.1] }
models.prices: { "here/gpt-6.1": { prompt: 1, cached: 1, completion: 1 } }
models.roles: { "safety.describer": [other] }
protocols.safety.images: false
`)
  expect(models.dialects).toEqual({ 'here/gpt-6.1': { effort: 'none' } })
  expect(models.roles).toMatchObject({
    scorer: ['here/gpt-6.1'],
    'safety.describer': ['other'],
    default: ['gpt-6-luna'],
  })
  expect(Object.keys(models.prices)).toEqual(expect.arrayContaining(['here/gpt-6.1', 'gpt-6-luna']))
  expect(protocols.safety).toMatchObject({ images: false })
})

test('what is set twice, and a path that leads to no setting, is named', () => {
  expect(() => loaded('models: { slots: 3 }\nmodels.slots: 4\n')).toThrow(/mine\.yaml: models\.slots is set twice/)
  expect(() => loaded('models.slot: 4\n')).toThrow(/models: .*slot/)
  expect(() => loaded('models..slots: 4\n')).toThrow(/models/)
})
