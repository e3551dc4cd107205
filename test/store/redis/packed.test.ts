import { expect, test } from 'vitest'
import { packed, unpacked } from '../../../src/store/redis/packed.ts'

test.each([0, 1, 2_047, 2_048, 45_000, 262_144, 262_145, 900_000])(
  'a text of %i characters comes back as it was',
  async (length) => {
    const text = '{"words":"so it is, é 한 👍"}'.repeat(Math.ceil(length / 20)).slice(0, length)
    const short = await packed(text)
    expect(await unpacked(short)).toBe(Buffer.from(text).toString('utf8'))
    if (length < 2_048) expect(short).toBe(text)
    else expect(short.length).toBeLessThan(length / 2)
  },
)

test.each(['zstd:', 'zstd:AAAA', `zstd:${'A'.repeat(300_000)}`])(
  'what was packed and can’t be read is no text',
  async (stored) => {
    expect(await unpacked(stored)).toBeNull()
  },
)
