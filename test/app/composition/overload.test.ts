import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { overloadSteps, replacedSettings, withSpares } from '../../../src/app/composition/overload.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('overload')
const HOUR = 3_600_000

it('spares step by step as it is shipped, and only of a protocol that can spare it', () => {
  const settings = loadSettings({})
  expect(overloadSteps(settings.cases)).toMatchObject({
    single: { atDue: 10_000 },
    sample: { atDue: 20_000 },
    hold: { atDue: 50_000, putBack: HOUR },
  })
  const { rumor, ...others } = withSpares(settings)
  expect(rumor).toMatchObject({ overloadedRounds: 0, overloadedK: 8, overloadedComments: 20 })
  for (const own of Object.values(others)) expect(own).not.toHaveProperty('overloadedRounds')
  expect(replacedSettings(settings)).toEqual(new Map())
})

it('reads what earlier versions called otherwise, and says what it is called now', async () => {
  const file = join(folder, 'earlier.yaml')
  await writeFile(file, 'cases: { overloadedAtDue: 7 }\nprotocols: { rumor: { overloadedK: null } }\n')
  const settings = loadSettings({ GAVEL_PROTOCOLS_RUMOR_OVERLOADED_ROUNDS: '1' }, file)
  expect(overloadSteps(settings.cases)).toMatchObject({ single: { atDue: 7 }, sample: { atDue: 7 } })
  expect(withSpares(settings).rumor).toMatchObject({ overloadedRounds: 1, overloadedK: null, overloadedComments: 20 })
  expect(Object.fromEntries(replacedSettings(settings))).toEqual({
    'cases.overloadedAtDue': 'cases.overload.single.atDue and cases.overload.sample.atDue',
    'protocols.rumor.overloadedRounds': 'cases.overload.single.rounds',
    'protocols.rumor.overloadedK': 'cases.overload.sample.perSide',
  })
})
