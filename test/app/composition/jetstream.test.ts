import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { jetstreamPart } from '../../../src/app/composition/jetstream.ts'

it('Jetstream without a relay to read is an error of the operator’s, before anything is opened', () => {
  const parts = {} as Parameters<typeof jetstreamPart>[1] // nothing of it is used before
  expect(() => jetstreamPart(loadSettings({}), parts)).toThrow(/set jetstream.urls/)
})
