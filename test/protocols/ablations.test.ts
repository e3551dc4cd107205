import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { plainFence, plainRank } from './drive.ts'

const { protocols } = loadSettings({})

// A protocol of one question has no part that could be left out.
const DEBATES = PROTOCOLS.filter(({ name, ablations }) => ablations !== undefined || stagesOf(name) > 1)

describe.each(DEBATES.map((kind) => [kind.name, kind] as const))('the ablations of %s', (name, kind) => {
  const ablations = Object.entries(kind.ablations ?? {})

  it('have switches that the protocol has, of values that it takes', () => {
    expect(ablations.length).toBeGreaterThanOrEqual(3)
    const { enabled: _, ...shipped } = protocols[name] ?? {}
    for (const [row, switches] of ablations)
      expect(kind.settings.safeParse({ ...shipped, ...switches }).error?.issues ?? [], row).toEqual([])
  })

  it('are each another protocol than the others, and than the one that is shipped', () => {
    const hashOf = (switches: object) => {
      const settings = { ...protocols, [name]: { ...protocols[name], ...switches } } as typeof protocols
      try {
        return makeProtocols(settings, plainFence, plainRank).find((one) => one.name === name)?.settingsHash
      } catch (error) {
        // The shipped perspectives have no shelf: by examples alone they would all ask the same.
        if (String(error).includes('has no shelf, and show: examples')) return 'refused'
        throw error
      }
    }
    const whole = hashOf({})
    const hashes = ablations.map(([, switches]) => hashOf(switches))
    expect(new Set(hashes).size).toBe(ablations.length)
    const asShipped = ablations.filter((_, at) => hashes[at] === whole).map(([row]) => row)
    // What is shipped takes the place of what only a calibration would bring.
    expect(asShipped).toEqual(name === 'counterspeech' ? ['shipped steps'] : [])
  })
})

function stagesOf(name: string): number {
  return makeProtocols(protocols, plainFence, plainRank).find((one) => one.name === name)?.stages.length ?? 0
}
