import { expect, it, vi } from 'vitest'
import { DisturbingSubjects } from '../../src/console/lists.ts'
import { RecordStream, type StreamEvent } from '../../src/console/stream.ts'
import { MOST_ERASED } from '../../src/contracts/ports/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

async function listening(filter = {}) {
  const console = await aConsole()
  const arriving = new RecordStream(console.record)
  const heard: StreamEvent[] = []
  const leave = await arriving.listen({ filter, hear: (told) => void heard.push(told) }, null)
  const rows = () => heard.flatMap((told) => (told.event === 'row' ? [told.row.verdict.subjectId] : []))
  return { console, arriving, heard, leave, rows }
}

it('a page hears each verdict that fits once, in the order in which they came', async () => {
  const { console, arriving, rows } = await listening({ label: 'rumor', tenants: ['default'] })
  await console.judged({ verdict: { subjectId: 'a' } })
  await arriving.poll()
  await console.judged({ verdict: { subjectId: 'b', label: 'non-rumor' } })
  await console.judged({ verdict: { subjectId: 'c', tenant: 'acme' } })
  await console.judged({ verdict: { subjectId: 'd' } })
  await arriving.poll()
  await arriving.poll()
  expect(rows()).toEqual(['a', 'd'])
})

it('a page that was cut off goes on behind the last that it heard of', async () => {
  const { console, arriving, heard, leave } = await listening()
  await console.judged({ verdict: { subjectId: 'a' } })
  await arriving.poll()
  leave()
  await console.judged({ verdict: { subjectId: 'b' } })
  await arriving.poll()
  const again: StreamEvent[] = []
  await arriving.listen({ filter: {}, hear: (told) => void again.push(told) }, heard.at(-1)?.at ?? null)
  await console.judged({ verdict: { subjectId: 'c' } })
  await arriving.poll()
  expect(again.map((told) => told.event === 'row' && told.row.verdict.subjectId)).toEqual(['b', 'c'])
})

it('a page that was cut off within what it was told at once hears the rest of it', async () => {
  const { console, arriving, heard, leave } = await listening()
  await console.topics.send('posts', 'p', deleted('p'), 60)
  await console.topics.send('posts', 'q', deleted('q'), 60)
  await console.judged({ verdict: { subjectId: 'a' } })
  await arriving.poll()
  leave()
  const told = (all: readonly StreamEvent[]) =>
    all.map((one) => (one.event === 'erase' ? one.subject.postId : one.event))
  expect(told(heard)).toEqual(['p', 'q', 'row'])
  for (const [nth, rest] of [['q', 'row'], ['row'], []].entries()) {
    const again: StreamEvent[] = []
    await arriving.listen({ filter: {}, hear: (one) => void again.push(one) }, heard[nth]?.at ?? null)
    expect(told(again).slice(rest.length === 0 ? 0 : -rest.length)).toEqual(rest)
  }
})

it('a page gets a bounded part of far too many rows, and the fact that there are more', async () => {
  const { console, arriving, heard } = await listening()
  for (let at = 0; at < 700; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  await arriving.poll()
  const far = heard.filter(({ event }) => event === 'far')
  expect(heard.filter(({ event }) => event === 'row')).toHaveLength(150)
  expect(far).toMatchObject([{ left: 550 }])
  await console.judged({ verdict: { subjectId: 'new' } })
  await arriving.poll()
  expect(heard.at(-1)).toMatchObject({ event: 'row', row: { verdict: { subjectId: 'new' } } })
  expect(heard).toHaveLength(152)
})

it('a page hears that a subject was deleted, unless it is another tenant’s', async () => {
  const { console, arriving, heard } = await listening({ tenants: ['acme'] })
  await console.judged({ verdict: { subjectId: 'p' } })
  await console.topics.send('posts', 'p', { id: 'p', deleted: true, createdAt: new Date(0).toISOString() }, 60)
  await arriving.poll()
  expect(heard).toEqual([])
})

it('the record is not asked while nobody listens, and a stream ends when its client goes', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => console.ask('/live/stream', { headers: { cookie } })),
  )
  await expect.poll(() => console.arriving.listening).toBe(4)
  expect((await console.ask('/live/stream', { headers: { cookie } })).status).toBe(503)
  await Promise.all(streams.map((stream) => stream.body?.cancel()))
  expect(console.arriving.listening).toBe(0)
  const open = await console.ask('/live/stream', { headers: { cookie } })
  const reader = open.body?.getReader()
  await reader?.read()
  console.close()
  expect(await reader?.read()).toMatchObject({ done: true })
  expect(console.arriving.listening).toBe(0)
})

it('a page that reads nothing is ended, holds a bounded number of events, and learns how much it missed', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  for (let at = 0; at < 400; at++) {
    await console.judged({ verdict: { subjectId: `p${at}` } })
    if (at % 100 === 99) await console.arriving.poll()
  }
  expect(console.arriving.listening).toBe(0)
  const text = await stream.text()
  const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)]
  expect(events.length).toBeLessThanOrEqual(201)
  const rows = events.filter(([, event]) => event === 'row')
  const missed = events.flatMap(([, event, data = '']) =>
    event === 'far' ? [(JSON.parse(data) as { left: number }).left] : [],
  )
  // What came after it was ended is heard of by coming back.
  expect(missed).toHaveLength(1)
  expect(rows.length + (missed[0] ?? 0)).toBe(200)
})

it('a row’s event is made once for all pages, and not for a closed one', async () => {
  const console = await aConsole()
  const seen = vi.spyOn(DisturbingSubjects.prototype, 'because')
  const cookie = await console.signedIn()
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => console.ask('/live/stream', { headers: { cookie } })),
  )
  for (let at = 0; at < 5; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  await console.arriving.poll()
  expect(seen).toHaveBeenCalledTimes(5)
  await Promise.all(streams.map((stream) => stream.body?.cancel()))
  seen.mockRestore()
})

it('what comes of a post is hidden by what was said of it before anybody listened', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  await console.judged({ verdict: { protocol: 'hate', label: 'hate' } })
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  await console.judged({ verdict: {} })
  await console.arriving.poll()
  const reader = stream.body?.getReader()
  let text = ''
  while (!text.includes('event: row')) text += new TextDecoder().decode((await reader?.read())?.value)
  await reader?.cancel()
  expect(text).toContain('"hidden":"Hidden: judged hate"')
})

it('an erasure is announced even if far more rows come than are shown', async () => {
  const { console, arriving, heard } = await listening()
  for (let at = 0; at < 700; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  await console.topics.send('posts', 'p0', { id: 'p0', deleted: true, createdAt: new Date(0).toISOString() }, 60)
  await arriving.poll()
  expect(heard.filter(({ event }) => event === 'erase')).toMatchObject([{ subject: { postId: 'p0' } }])
})

/** As many posts are deleted, in one step of the record. */
async function deleteMany({ record }: Awaited<ReturnType<typeof aConsole>>, count: number, from = 0): Promise<void> {
  const entries = Array.from({ length: count }, (_, n) => {
    const subject = { tenant: 'default', postId: `d${from + n}`, kind: 'post' } as const
    return { offset: from + n, entry: { what: 'deletion', subject, at: 60_000 } } as const
  })
  await record.apply({ topic: 'posts', partition: 0, from, next: from + count, entries })
}

it.each(['x\nevent: row\ndata: {}\n', `${'a'.repeat(33)}/1`, 'a/-1', 'a/1/2', 'a/1x', 'nowhere'])(
  'a page goes on at a place of the record, and at nothing else: %j',
  async (after) => {
    const console = await aConsole()
    const cookie = await console.signedIn()
    const named = await console.ask(`/live/stream?${new URLSearchParams({ after })}`, { headers: { cookie } })
    expect(named.status).toBe(400)
    if (!after.includes('\n'))
      expect((await console.ask('/live/stream', { headers: { cookie, 'last-event-id': after } })).status).toBe(400)
    expect(console.arriving.listening).toBe(0)
    const elsewhere = await console.ask('/live/stream?after=0123456789ab/7', { headers: { cookie } })
    expect(elsewhere.status).toBe(200)
    await elsewhere.body?.cancel()
  },
)

it('a page that comes back behind more deletions than are named is told to load itself anew, at a place from where it goes on', async () => {
  const console = await aConsole()
  const heard: StreamEvent[] = []
  const { at: start } = await console.record.arrivals(null, 0)
  await deleteMany(console, MOST_ERASED + 1)
  await new RecordStream(console.record).listen({ filter: {}, hear: (told) => void heard.push(told) }, start)
  const { at: end } = await console.record.arrivals(null, 0)
  expect(heard).toEqual([{ event: 'anew', at: end }])
})

it('a page that misses a deletion, because it reads nothing, is told to load itself anew', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  for (const from of [0, 150]) {
    await deleteMany(console, 150, from)
    await console.arriving.poll()
  }
  const text = await stream.text()
  const events = [...text.matchAll(/^event: (.*)$/gm)].map(([, event]) => event)
  expect(events.filter((event) => event === 'erase').length).toBeLessThan(300)
  expect(events.at(-1)).toBe('anew')
})

const deleted = (id: string) => ({ id, deleted: true, createdAt: new Date(0).toISOString() })

it('a row is not told after the erasure of its subject, which came while far more rows were read', async () => {
  const { console, arriving, heard } = await listening()
  for (let at = 0; at < 200; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  const { arrivals } = console.record
  vi.spyOn(console.record, 'arrivals').mockImplementationOnce(async (...how) => {
    const read = await arrivals(...how)
    await console.topics.send('posts', 'p0', deleted('p0'), 60)
    return read
  })
  await arriving.poll()
  const ofIt = heard.filter((told) => told.event === 'row' && told.row.verdict.subjectId === 'p0')
  expect([heard.filter(({ event }) => event === 'erase').length, heard.length, ofIt]).toEqual([1, 1 + 149 + 1, []])
})

it('a page that begins to listen while the record is read for others misses nothing', async () => {
  const { console, arriving, heard } = await listening()
  await console.judged({ verdict: { subjectId: 'p' } })
  await arriving.poll()
  const second: StreamEvent[] = []
  const [read, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { arrivals } = console.record
  vi.spyOn(console.record, 'arrivals').mockImplementationOnce(async (...how) => {
    await read.promise
    return arrivals(...how)
  })
  const look = arriving.poll().then(goOn.resolve)
  const begins = arriving.listen({ filter: {}, hear: (told) => void second.push(told) }, heard.at(-1)?.at ?? null)
  await new Promise((resolve) => setImmediate(resolve))
  await console.topics.send('posts', 'p', deleted('p'), 60)
  read.resolve()
  await Promise.all([look, begins, goOn.promise])
  await arriving.poll()
  expect([heard, second].map((all) => all.filter(({ event }) => event === 'erase').length)).toEqual([1, 1])
})

it('a page hears what is deleted between its first answer and its stream', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  await console.judged({ verdict: { subjectId: 'p' } })
  const { text } = await console.page('/live', cookie)
  await console.topics.send('posts', 'p', deleted('p'), 60)
  const after = /data-after="([^"]+)"/.exec(text)?.[1] ?? ''
  const stream = await console.ask(`/live/stream?after=${encodeURIComponent(after)}`, { headers: { cookie } })
  await new Promise((resolve) => setImmediate(resolve))
  console.close()
  expect(await stream.text()).toContain('event: erase')
})

/** The end of a stream, or a word that is not told there. */
async function endOf(stream: Response): Promise<string> {
  const never = new Promise<string>((resolve) => setTimeout(() => resolve('goes on'), 200))
  return Promise.race([stream.text().then((text) => (text.includes('zanzibar') ? 'words' : 'ended')), never])
}

it('a stream ends with its session: signed out here, everywhere, idle, or after the longest time', async () => {
  for (const fields of [{}, { all: 'yes' }]) {
    const console = await aConsole()
    const cookie = await console.signedIn()
    const token = tokenIn((await console.page('/health', cookie)).text)
    const stream = await console.ask('/live/stream', { headers: { cookie } })
    await console.post('/sign-out', { token, ...fields }, { cookie })
    await console.judged({ post: { text: 'zanzibar' } })
    await console.arriving.poll()
    expect([await endOf(stream), console.arriving.listening]).toEqual(['ended', 0])
  }
  for (const [idle, passed] of [
    [3_600_000, 3_600_000],
    [90_000_000, 43_200_000],
  ] as const) {
    const console = await aConsole({ idle })
    const stream = await console.ask('/live/stream', { headers: { cookie: await console.signedIn() } })
    console.pass(passed)
    await console.judged({ post: { text: 'zanzibar' } })
    await console.arriving.poll()
    expect([await endOf(stream), console.arriving.listening]).toEqual(['ended', 0])
  }
})

it('a stream whose record can’t be read fails alone, and frees its place', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  const fails = vi.spyOn(console.record, 'arrivals')
  for (let at = 0; at < 6; at++) {
    fails.mockRejectedValueOnce(new Error('disk'))
    const leaves = new AbortController()
    const stream = await console.ask('/live/stream', { headers: { cookie }, signal: leaves.signal })
    await expect(stream.text()).rejects.toThrow('disk')
    // An error in its listener would be thrown here, at nobody who could hear it.
    const thrown: unknown[] = []
    const note = (error: unknown) => void thrown.push(error)
    process.once('uncaughtException', note)
    leaves.abort()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('uncaughtException', note)
    expect(thrown).toEqual([])
  }
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  expect(stream.status).toBe(200)
  await stream.body?.cancel()
})

it('as many streams are open as the settings say, also of those that ask at once; HEAD opens none', async () => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  for (let at = 0; at < 6; at++)
    expect((await console.ask('/live/stream', { method: 'HEAD', headers: { cookie } })).status).toBe(200)
  await new Promise((resolve) => setImmediate(resolve))
  expect(console.arriving.listening).toBe(0)
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => console.ask('/live/stream', { headers: { cookie } })),
  )
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(4)
  await Promise.all(streams.map((stream) => stream.body?.cancel()))
})

it('one person has a bounded number of streams, in however many sessions, which leaves some to others', async () => {
  const console = await aConsole({ streams: 30 })
  const [anna, ben] = [[await console.signedIn('anna'), await console.signedIn('anna')], await console.signedIn('ben')]
  const ask = (cookie = '') => console.ask('/live/stream', { headers: { cookie } })
  const streams = await Promise.all(Array.from({ length: 30 }, (_, nth) => ask(anna[nth % 2])))
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(20)
  const other = await ask(ben)
  expect(other.status).toBe(200)
  await streams[0]?.body?.cancel()
  expect((await ask(anna[1])).status).toBe(200)
  await Promise.all([...streams, other].map((stream) => stream.body?.cancel()))
})

it('a page that leaves while the record is read for it counts until that is done, so that no reading waits behind a thousand', async () => {
  const console = await aConsole({ streams: 200 })
  const cookie = await console.signedIn('anna')
  await console.judged({})
  const waiting: (() => void)[] = []
  const { arrivals } = console.record
  const reading = vi.spyOn(console.record, 'arrivals').mockImplementation(async (...of) => {
    await new Promise<void>((resolve) => void waiting.push(resolve))
    return arrivals.apply(console.record, of)
  })
  const ask = async () => {
    const { status, body } = await console.ask('/live/stream', { headers: { cookie } })
    await body?.cancel()
    return status
  }
  const statuses: number[] = []
  for (let n = 0; n < 60; n++) statuses.push(await ask())
  expect(statuses.filter((status) => status === 200)).toHaveLength(20)
  reading.mockRestore()
  for (const goOn of waiting) goOn()
  await expect.poll(ask).toBe(200)
})
