import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { makeProtocols } from '../../../src/app/composition/make-protocols.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import { generations } from '../../../src/judging/engine/generations.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { protocolOf, versionsOf } from '../../../src/judging/engine/versions.ts'
import { plainFence } from '../../protocols/drive.ts'

const shipped = loadSettings({}).protocols
const madeWith = (variants: object) => {
  const given = { hate: { ...shipped.hate, enabled: true, variants } } as typeof shipped
  const [hate] = makeProtocols(given, plainFence, samplingRanks('key'))
  if (hate === undefined) throw new Error('no hate')
  return hate
}
const ref = (postId: string, kind: 'post' | 'asked' = 'post') => ({ tenant: 'default', postId, kind })
const caseOf = (protocol: Protocol) => ({ protocol: 'hate', versions: versionsOf(protocol) })
const byName = (one: Protocol) => new Map([['hate', one]])

describe('a variant of a protocol', () => {
  it('judges the part that is drawn, and never what is asked apart from the stream', () => {
    const all = madeWith({ short: { ramp: 1, rounds: 1 } })
    expect(all.variantFor?.(ref('p'))?.variant).toBe('short')
    expect(all.variantFor?.(ref('p', 'asked'))).toBeUndefined()
    expect(madeWith({ short: { ramp: 0, rounds: 1 } }).variantFor?.(ref('p'))).toBeUndefined()
    expect(madeWith({})).not.toHaveProperty('variants')
    const half = madeWith({ short: { ramp: 0.5, rounds: 1 } })
    const drawn = Array.from({ length: 1_000 }, (_, n) => half.variantFor?.(ref(`p${n}`)) !== undefined)
    expect(Math.abs(drawn.filter(Boolean).length - 500)).toBeLessThan(80)
  })

  it('goes on with its own cases, and the protocol with all others', () => {
    const hate = madeWith({ short: { ramp: 0.5, rounds: 1 } })
    const short = hate.variants?.[0] as Protocol
    expect(protocolOf(byName(hate), caseOf(short))?.variant).toBe('short')
    expect(protocolOf(byName(hate), caseOf(hate))?.variant).toBeUndefined()
    expect(protocolOf(byName(hate), caseOf({ ...hate, promptsHash: 'unknown' }))).toBe(hate)
  })

  it('ends its open cases after it is gone, or has another ramp, from the settings', () => {
    const first = madeWith({ short: { ramp: 0.5, rounds: 1 } })
    const short = first.variants?.[0] as Protocol
    const { protocols, replace } = generations([first])
    const [live] = protocols as readonly [Protocol]
    expect(live.variantFor?.(ref('p0')) ?? live.variantFor?.(ref('p1')) ?? live.variantFor?.(ref('p2'))).toBeDefined()
    replace([madeWith({})])
    expect(live.variantFor).toBeUndefined()
    expect(protocolOf(byName(live), caseOf(short))?.variant).toBe('short')
    replace([madeWith({ short: { ramp: 1, rounds: 1 } })])
    expect(live.variantFor?.(ref('p'))?.variant).toBe('short')
    expect(protocolOf(byName(live), caseOf(short))?.variant).toBe('short')
  })

  it.each([
    ['an unknown setting', { rouns: 1 }, /protocols\.hate\.variants\.odd: protocols\.hate.*rouns/],
    [
      'a policy that is missing',
      { policies: ['none'] },
      /variants\.odd: config\/policies\/none\.md: the file is missing/,
    ],
    ['another shape', { decide: 'majority' }, /variants\.odd: has other decides than the protocol/],
    ['a ramp above 1', { ramp: 2 }, /ramp/],
  ])('is refused at the start with %s', (_, switches, why) => {
    expect(() => madeWith({ odd: { ramp: 0.1, ...switches } })).toThrow(why)
  })
})
