import { expect, it } from 'vitest'
import { Arriving, type Told } from '../../src/service/console/stream.ts'
import { aConsole } from './console-for-tests.ts'

async function listening(filter = {}) {
  const console = aConsole()
  const arriving = new Arriving(console.record)
  const heard: Told[] = []
  const leave = await arriving.listen({ filter, hear: (told) => void heard.push(told) }, null)
  const rows = () => heard.flatMap((told) => (told.event === 'row' ? [told.row.verdict.subjectId] : []))
  return { console, arriving, heard, leave, rows }
}

it('a page hears each verdict that fits once, in the order in which they came', async () => {
  const { console, arriving, rows } = await listening({ label: 'rumor', tenants: ['default'] })
  await console.judged({ verdict: { subjectId: 'a' } })
  await arriving.look()
  await console.judged({ verdict: { subjectId: 'b', label: 'non-rumor' } })
  await console.judged({ verdict: { subjectId: 'c', tenant: 'acme' } })
  await console.judged({ verdict: { subjectId: 'd' } })
  await arriving.look()
  await arriving.look()
  expect(rows()).toEqual(['a', 'd'])
})

it('a page that was cut off goes on behind the last that it heard of', async () => {
  const { console, arriving, heard, leave } = await listening()
  await console.judged({ verdict: { subjectId: 'a' } })
  await arriving.look()
  leave()
  await console.judged({ verdict: { subjectId: 'b' } })
  await arriving.look()
  const again: Told[] = []
  await arriving.listen({ filter: {}, hear: (told) => void again.push(told) }, heard.at(-1)?.at ?? null)
  await console.judged({ verdict: { subjectId: 'c' } })
  await arriving.look()
  expect(again.map((told) => told.event === 'row' && told.row.verdict.subjectId)).toEqual(['b', 'c'])
})

it('of far more than a page can show it hears a bounded part, and that there is more', async () => {
  const { console, arriving, heard } = await listening()
  for (let at = 0; at < 700; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  await arriving.look()
  const far = heard.filter(({ event }) => event === 'far')
  expect(heard.filter(({ event }) => event === 'row')).toHaveLength(500)
  expect(far).toMatchObject([{ left: 200 }])
  await console.judged({ verdict: { subjectId: 'new' } })
  await arriving.look()
  expect(heard.at(-1)).toMatchObject({ event: 'row', row: { verdict: { subjectId: 'new' } } })
  expect(heard).toHaveLength(502)
})

it('a page hears that a subject was deleted, unless it is another tenant’s', async () => {
  const { console, arriving, heard } = await listening({ tenants: ['acme'] })
  await console.judged({ verdict: { subjectId: 'p' } })
  await console.topics.send('posts', 'p', { id: 'p', deleted: true, createdAt: new Date(0).toISOString() }, 60)
  await arriving.look()
  expect(heard).toEqual([])
})

it('the record is not asked while nobody listens, and a stream ends when its client goes', async () => {
  const console = aConsole()
  const cookie = await console.signedIn()
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => console.ask('/live/stream', { headers: { cookie } })),
  )
  expect(console.arriving.listening).toBe(4)
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

it('a page that takes nothing is ended, holds a bounded number of events, and goes on where it was', async () => {
  const console = aConsole()
  const cookie = await console.signedIn()
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  for (let at = 0; at < 400; at++) await console.judged({ verdict: { subjectId: `p${at}` } })
  await console.arriving.look()
  expect(console.arriving.listening).toBe(0)
  const text = await stream.text()
  const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id)
  expect(ids.length).toBeLessThanOrEqual(200)
})
