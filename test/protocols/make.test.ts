import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols, promptsOf } from '../../src/app/composition/make-protocols.ts'
import { OperatorError } from '../../src/contracts/facts/errors.ts'
import type { ProtocolKind } from '../../src/protocols/kind.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { plainFence, plainRank } from './drive.ts'

const { protocols } = loadSettings({})
const broken = (name: string, faults: string): ProtocolKind => ({
  name,
  settings: z.object({}),
  make: () => {
    throw new Error(faults)
  },
})

test('those protocols are made that the settings switch on', () => {
  const names = (settings: typeof protocols) => makeProtocols(settings, plainFence, plainRank).map(({ name }) => name)
  expect(names(protocols)).toEqual(PROTOCOLS.map(({ name }) => name))
  expect(names({ ...protocols, hate: { ...protocols.hate, enabled: false } })).not.toContain('hate')
  expect(names({ safety: protocols.safety } as typeof protocols)).toEqual(['safety'])
})

test('the faults of all are named at once, each with its file', () => {
  const kinds = [
    broken('one', 'ask: {{claim}} is missing\nconfig/steps/x.md: is empty'),
    broken('two', 'judge: is empty'),
  ]
  const settings = { one: { enabled: true }, two: { enabled: true } } as unknown as typeof protocols
  const make = () => makeProtocols(settings, plainFence, plainRank, kinds)
  expect(make).toThrow(OperatorError)
  expect(make).toThrow(
    /config\/prompts\/one\/ask: .*\n +config\/steps\/x.md: .*\n +config\/prompts\/two\/judge: is empty$/,
  )
})

test('a fault of a kind’s own settings is one line: its path and what is wrong', () => {
  const settings = z.strictObject({ heat: z.number().max(2), words: z.object({ most: z.int() }) })
  const kind: ProtocolKind = {
    ...broken('one', ''),
    settings,
    make: ({ settings: given }) => settings.parse(given) as never,
  }
  const given = { one: { enabled: true, heat: 3, words: { most: 0.5 } } } as unknown as typeof protocols
  expect(() => makeProtocols(given, plainFence, plainRank, [kind])).toThrow(
    /^The protocols have faults:\n {2}protocols\.one\.heat: Too big: .*\n {2}protocols\.one\.words\.most: Invalid input: expected int.*$/,
  )
})

test('a protocol’s prompts are its folder’s texts, by name', () => {
  const names = [...promptsOf('curator').keys()]
  expect(names.toSorted()).toEqual(['curate', 'curate.paper', 'system', 'system.paper'])
})
