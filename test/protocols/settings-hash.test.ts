import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { makeProtocols } from '../../src/app/composition/make-protocols.ts'
import { plainFence, plainRank } from './drive.ts'

// By these hashes a worker knows what it kept of a case: others are asked and paid for anew. A setting of a later version stands in none
// while it has its default; whoever changes a default changes them knowingly.
it('settings that 0.2.0 did not have change no hash while they are not set', () => {
  const { protocols } = loadSettings({})
  const hashes = Object.fromEntries(
    (['rumor', 'counterspeech'] as const).map((name) => {
      const own = { ...protocols, [name]: { ...protocols[name], enabled: true } }
      const made = makeProtocols(own, plainFence, plainRank).find((protocol) => protocol.name === name)
      return [name, made?.settingsHash]
    }),
  )
  expect(hashes).toEqual({ rumor: '20ece3db602c13a9', counterspeech: '90ea00f2385266f4' })
})
