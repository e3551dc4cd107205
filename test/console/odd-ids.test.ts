import { expect, it } from 'vitest'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

// The HTML standard changes what stands in a page (13.2.3.5: CR and CRLF become LF; 13.2.5: NUL becomes U+FFFD), and in a form that is
// sent (4.10.22.4: a lone CR or LF becomes CRLF).

/** What a browser reads in each attribute of this name. */
function attributesIn(page: string, attribute: string): string[] {
  const read = page.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd')
  return [...read.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value
      .replaceAll('&#39;', "'")
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  )
}

/** What a browser sends of the first hidden field of this name that holds something. */
function sent(page: string, name: string): string {
  const read = attributesIn(page.replaceAll(`name="${name}" value=`, `name="${name}" sent-${name}=`), `sent-${name}`)
  return (read.find((value) => value !== '') ?? '').replace(/\r\n?|\n/g, '\r\n')
}

const IDS = ['a\0b', 'a\rb', 'a\nb', 'a\r\nb', 'a%0Db', 'a"<&>\'b', '\u2028 ', '%', '/live?id=#~']

it.each(IDS)('a verdict of the subject %j can be decided, taken from the queue and put back', async (subjectId) => {
  const decided: unknown[] = []
  const console = await aConsole({
    async decide(given) {
      decided.push(given)
      return { of: '0@0', decided: null }
    },
  })
  const cookie = await console.signedIn()
  const verdict = await console.judged({ verdict: { subjectId } })
  const address = `?${new URLSearchParams({ id: verdict.id })}`
  const { text: page } = await console.page(`/verdict${address}`, cookie)
  const token = tokenIn(page)
  await console.post('/decide', { carried: sent(page, 'carried'), label: 'rumor', why: 'x', token }, { cookie })
  expect(decided).toMatchObject([{ subjectId }])

  const waits = await console.judged({ verdict: { subjectId: `${subjectId}2`, label: null, decidedBy: 'none' } })
  const { text: queue } = await console.page('/review', cookie)
  const taken = await console.post('/review/take', { carried: sent(queue, 'carried'), token }, { cookie })
  expect(taken.headers.get('location')).toBe(`/review/item?${new URLSearchParams({ id: waits.id })}`)
  const { text: item } = await console.page(taken.headers.get('location') ?? '', cookie)
  const skipped = await console.post('/review/release', { carried: sent(item, 'carried'), token }, { cookie })
  expect(skipped.headers.get('location')).toContain('said=back')
  expect(console.audited.filter(({ what }) => what === 'did').flatMap(({ verdicts }) => verdicts)).toEqual([
    verdict.id,
    waits.id,
    waits.id,
  ])
})

it.each(['a%0Db', '%', 'a b'])(
  'a form of an earlier version, which has the id %j as it is, decides of it',
  async (subjectId) => {
    const decided: unknown[] = []
    const console = await aConsole({
      async decide(given) {
        decided.push(given)
        return { of: '0@0', decided: null }
      },
    })
    const cookie = await console.signedIn()
    const { id } = await console.judged({ verdict: { subjectId } })
    const { text: page } = await console.page(`/verdict?${new URLSearchParams({ id })}`, cookie)
    await console.post('/decide', { id, label: 'rumor', why: 'x', token: tokenIn(page) }, { cookie })
    expect(decided).toMatchObject([{ subjectId }])
  },
)

it.each(IDS)('a row of the subject %j that a page was loaded with goes when the subject is deleted', async (id) => {
  const console = await aConsole()
  const cookie = await console.signedIn()
  await console.judged({ verdict: { subjectId: id } })
  const { text: page } = await console.page('/live', cookie)
  const stream = await console.ask('/live/stream', { headers: { cookie } })
  await console.topics.send('posts', id, { id, deleted: true, createdAt: at(60) }, 60)
  await console.arriving.poll()
  console.close()
  const erased = /^event: erase\ndata: ([^\n]*)$/m.exec(await stream.text())?.[1] ?? '{}'
  // As the page's script compares them.
  expect(attributesIn(page, 'data-thread')).toContain((JSON.parse(erased) as { thread?: string }).thread)
})
