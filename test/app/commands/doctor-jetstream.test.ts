import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { jetstreamFindings } from '../../../src/app/commands/doctor-jetstream.ts'
import { startRelay } from '../../support/relay.ts'
import { written } from '../../support/relayed-posts.ts'

const findingsOf = (urls: readonly string[], more: Record<string, string> = {}) =>
  jetstreamFindings(loadSettings({ GAVEL_JETSTREAM_URLS: urls.join(), ...more }))

test('says how old the newest event of each relay is, and why one can’t be read', async () => {
  const relay = await startRelay()
  const writing = setInterval(
    () => relay.give({ ...written({ rkey: 'p', at: 0 }), time: (Date.now() - 2_000) * 1_000 }),
    50,
  )
  try {
    const [good, bad] = await findingsOf([relay.urls.v2, 'ws://127.0.0.1:9/subscribe'])
    expect(good).toMatchObject({ state: 'ok', detail: expect.stringMatching(/^its newest event is [2-9]\.\d s old$/) })
    expect(bad).toMatchObject({
      what: 'relay 127.0.0.1:9',
      state: 'warning',
      detail: expect.stringContaining('ECONNREFUSED'),
    })
  } finally {
    clearInterval(writing)
    await relay.close()
  }
})

test('looks at nothing where no relay is set, and names a file that holds no authority', async () => {
  expect(await jetstreamFindings(loadSettings({}))).toEqual([])
  const found = await findingsOf(['wss://127.0.0.1:9/subscribe'], { GAVEL_JETSTREAM_CA: import.meta.filename })
  expect(found).toEqual([
    expect.objectContaining({ state: 'broken', detail: expect.stringContaining('is not a PEM file') }),
  ])
})
