import { expect, test } from 'vitest'
import { OperatorError } from '../../../src/contracts/facts/errors.ts'
import { liveDemo } from '../../../src/kit/demo/live.ts'
import { startRelay } from '../../support/relay.ts'
import { written } from '../../support/relayed-posts.ts'

const io = (lines: string[]) => ({
  terminal: {
    out: (line: string) => void lines.push(line),
    say: (line: string) => void lines.push(line),
    progress() {},
  },
  signal: new AbortController().signal,
  stay: false,
})

test('where Bluesky can’t be reached it says so in one line, and starts nothing', async () => {
  const lines: string[] = []
  const started = liveDemo({ GAVEL_JETSTREAM_URLS: 'ws://127.0.0.1:9/subscribe' }, io(lines))
  await expect(started).rejects.toThrow(OperatorError)
  await expect(started).rejects.toThrow(
    /^Bluesky can't be read from here \(127\.0\.0\.1:9: .*ECONNREFUSED.*\)\. npm run demo, without --live, [^\n]*$/,
  )
  expect(lines).toEqual([])
})

test('judges what is written there, and names the page of each post', { timeout: 60_000 }, async () => {
  const relay = await startRelay()
  const writing = setInterval(() => {
    const at = Date.now()
    relay.give({ ...written({ rkey: `p${at}`, at: 0, text: `What a lovely garden, number ${at}` }), time: at * 1_000 })
  }, 100)
  const lines: string[] = []
  try {
    await liveDemo(
      { GAVEL_JETSTREAM_URLS: relay.urls.v1, GAVEL_JETSTREAM_SAMPLE: '1' },
      { ...io(lines), lastsMs: 6_000 },
    )
  } finally {
    clearInterval(writing)
    await relay.close()
  }
  expect(
    lines.filter((line) => /hate.*: https:\/\/bsky\.app\/profile\/did:plc:annx+\/post\/p\d+$/.test(line)).length,
  ).toBeGreaterThan(0)
  expect(lines.find((line) => line.includes('events read'))).toMatch(
    /[1-9]\d* posts and replies taken, [1-9]\d* verdicts?\./,
  )
})
