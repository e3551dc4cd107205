import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { withLocalModel } from '../../../src/kit/demo/local-model.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'

const { signal } = new AbortController()
let [one, other]: Understudy[] = []
beforeAll(async () => {
  one = await startUnderstudy({ models: ['big'] })
  other = await startUnderstudy({ models: ['small'] })
})
afterAll(async () => {
  await one?.close()
  await other?.close()
})
const portOf = (server: Understudy | undefined) => Number(new URL(server?.settings.OPENAI_BASE_URL ?? '').port)

it('has the server on this machine answer that lists the model, for every role', async () => {
  const found = await withLocalModel({ KEPT: 'x' }, 'small', signal, [1, portOf(one), portOf(other)])
  expect(found).toMatchObject({ KEPT: 'x', OPENAI_BASE_URL: other?.settings.OPENAI_BASE_URL, OPENAI_API_KEY: 'none' })
  const { roles } = loadSettings(found).models
  expect(Object.keys(roles)).toContain('arbiter')
  expect(new Set(Object.values(roles).flat())).toEqual(new Set(['small']))
})

it('asks the address that is set, and names what is there where the model is not', async () => {
  const set = { OPENAI_BASE_URL: one?.settings.OPENAI_BASE_URL, OPENAI_API_KEY: 'k' }
  expect(await withLocalModel(set, 'big', signal, [portOf(other)])).toMatchObject(set)
  await expect(withLocalModel(set, 'small', signal, [portOf(other)])).rejects.toThrow(
    /lists the model small .*: understudy, big\./,
  )
  await expect(withLocalModel({}, 'small', signal, [1])).rejects.toThrow('No model is listed there')
})
