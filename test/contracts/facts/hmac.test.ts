import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hmac } from '../../../src/contracts/facts/hmac.ts'

it('is HMAC-SHA-256, whatever the key and the text', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(
    fc.property(text, text, (key, message) => {
      expect(hmac(key)(message, 'hex')).toBe(createHmac('sha256', key).update(message).digest('hex'))
    }),
  )
})

it('hashes long texts of characters of many bytes to their end', () => {
  for (const length of [4_095, 4_096, 4_097, 100_000]) {
    const long = `${'한'.repeat(length - 1)}.`
    expect(hmac('key')(long, 'hex')).toBe(createHmac('sha256', 'key').update(long).digest('hex'))
  }
})

it('hashes a key that is longer than a block first', () => {
  const key = 'k'.repeat(65)
  expect(hmac(key)('text', 'base64url')).toBe(createHmac('sha256', key).update('text').digest('base64url'))
})

it('gives the same for the same text again, and nothing of the text before', () => {
  const keyed = hmac('key')
  const first = keyed('a longer text', 'hex')
  keyed('b', 'hex')
  expect(keyed('a longer text', 'hex')).toBe(first)
})
