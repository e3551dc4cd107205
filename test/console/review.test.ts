import { expect, it } from 'vitest'
import { carriedId } from '../../src/console/view.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

/** A queue of `count` verdicts without a label, and a person who has signed in. */
async function queued(count: number) {
  const decided: DecisionMessage[] = []
  const console = await aConsole({
    async decide(decision) {
      decided.push(decision)
      const { createdAt: _, at: __, ...message } = decision
      await console.topics.send('decisions', decision.subjectId, { ...message, at: at(90) }, 90)
      if (decision.opinion !== true) {
        const change = { revision: 2, decidedBy: 'human' as const, label: decision.label ?? null }
        await console.judged({
          verdict: {
            subjectId: decision.subjectId,
            ...change,
            decision: { by: decision.by, against: null, of: '0@0' },
          },
        })
      }
      return { of: '0@0', decided: { outcome: 'stands', verdict: null } }
    },
  })
  for (let n = 0; n < count; n++)
    await console.judged({
      verdict: { subjectId: `p${n}`, label: null, decidedBy: 'none' },
      post: { text: `zanzibar ${n}` },
    })
  const enter = async (by: string) => {
    const cookie = await console.signedIn(by)
    const token = tokenIn((await console.page('/health', cookie)).text)
    const to = async (path: string, fields: Record<string, string> = {}) =>
      (await console.post(path, { token, ...fields }, { cookie })).headers.get('location') ?? ''
    return { cookie, to }
  }
  return { console, decided, enter }
}

it('items are taken one after the other, by a form alone, and by one person each', async () => {
  const { console, enter } = await queued(2)
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  expect((await console.page('/review/item?id=rumor~p0~r1', anna.cookie)).status).toBe(303)
  const first = await anna.to('/review/next')
  expect(first).toMatch(/^\/review\/item\?id=rumor%7Ep\d%7Er1$/)
  expect((await console.page(first, anna.cookie)).text).toContain('zanzibar')
  expect((await console.page(first, ben.cookie)).status).toBe(303)
  const second = await ben.to('/review/next')
  expect(second).not.toBe(first)
  const id = new URLSearchParams(first.split('?')[1]).get('id') ?? ''
  expect(await ben.to('/review/take', { id })).toBe('/review?said=gone')
  expect(await ben.to('/review/decide', { id, label: 'rumor', why: 'x' })).toBe('/review?said=gone')
  expect(await anna.to('/review/release', { id })).toContain('said=back')
  expect(await ben.to('/review/take', { id })).toBe(first)
})

it('a decision on an item is in the name of who has it, against the revision that was shown, and leads to the next', async () => {
  const { decided, enter, console } = await queued(2)
  const anna = await enter('anna')
  const id = new URLSearchParams((await anna.to('/review/next')).split('?')[1]).get('id') ?? ''
  const wrong = await console.post(
    '/review/decide',
    { id, label: 'hate', why: 'kept words', token: tokenIn((await console.page('/health', anna.cookie)).text) },
    { cookie: anna.cookie },
  )
  expect([wrong.status, (await wrong.text()).includes('kept words')]).toEqual([409, true])
  expect(decided).toEqual([])
  expect(await anna.to('/review/decide', { id, label: 'rumor', why: 'ticket 9', by: 'ben' })).toContain('/review/item')
  expect(decided).toMatchObject([{ protocol: 'rumor', label: 'rumor', by: 'anna', against: 1, why: 'ticket 9' }])
  expect(decided[0]).not.toHaveProperty('opinion')
})

it('who gives a second opinion sees neither the first nor any page of its subject', async () => {
  const { console, decided, enter } = await queued(0)
  const one = await console.judged({
    verdict: {
      decidedBy: 'human',
      label: 'non-rumor',
      rationale: 'marzipan',
      decision: { by: 'ben', against: null, of: '0@1' },
    },
    post: { text: 'zanzibar' },
  })
  const anna = await enter('anna')
  const to = await anna.to('/review/next')
  const item = (await console.page(to, anna.cookie)).text
  expect(item).toContain('zanzibar')
  expect(item).not.toContain('marzipan')
  expect(item).not.toContain('It says')
  for (const path of ['/verdict', '/verdict/file', '/thread']) {
    const page = await console.page(`${path}?id=${one.id}`, anna.cookie)
    expect([page.status, page.text.includes('zanzibar'), page.text.includes('marzipan')]).toEqual([409, false, false])
  }
  expect((await console.page(`/review?said=done&of=${one.id}`, anna.cookie)).text).not.toContain('non-rumor')
  for (const path of ['/live', '/search', '/search?q=zanzibar'])
    for (const [who, sees] of [
      [anna, false],
      [await enter('ben'), true],
    ] as const)
      expect((await console.page(path, who.cookie)).text.includes(one.id)).toBe(sees)
  const outright = { id: one.id, label: 'rumor', why: 'x' }
  expect(await anna.to('/decide', outright)).toBe('')
  expect(await anna.to('/decide', { ...outright, label: '', withdraw: 'yes' })).toBe('')
  expect(decided).toEqual([])
  await anna.to('/review/decide', outright)
  expect(decided).toMatchObject([{ label: 'rumor', opinion: true, by: 'anna' }])
  expect((await console.page(`/verdict?id=${one.id}`, anna.cookie)).text).toContain('marzipan')
})

it('who gives a second opinion is streamed no row of its subject for as long as the claim lasts', async () => {
  const { console, enter } = await queued(0)
  const human = { decidedBy: 'human', label: 'non-rumor', decision: { by: 'ben', against: null, of: '0@1' } } as const
  await console.judged({ verdict: human })
  const anna = await enter('anna')
  const stream = await console.ask('/live/stream', { headers: { cookie: anna.cookie } })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  await reader?.read()
  await anna.to('/review/next')
  for (const verdict of [{ ...human, revision: 2 }, { subjectId: 'other' }]) await console.judged({ verdict })
  await console.arriving.poll()
  expect((await reader?.read())?.value).toContain('"rumor~other~r1"')
  console.pass(900_001)
  const { id } = await console.judged({ verdict: { ...human, revision: 3 } })
  await console.arriving.poll()
  expect((await reader?.read())?.value).toContain(id)
  await reader?.cancel()
})

it('a form that a browser sends again, for its connection broke, has the next item as its answer', async () => {
  const { console, enter } = await queued(2)
  const anna = await enter('anna')
  const page = (await console.page(await anna.to('/review/next'), anna.cookie)).text
  const fields = { ...formIn(page), label: 'rumor', why: 'ticket 9' }
  const gone = new AbortController()
  const send = (signal?: AbortSignal) =>
    console.ask('/review/decide', {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { 'sec-fetch-site': 'same-origin', cookie: anna.cookie },
      ...(signal === undefined ? {} : { signal }),
    })
  const first = send(gone.signal)
  gone.abort()
  await Promise.allSettled([first])
  expect((await send()).headers.get('location')).toMatch(/^\/review\/item\?.*said=done/)
})

it('a decision made without seeing the first opinion stays an opinion; sent again, its sender is a party to the dispute', async () => {
  const { console, decided, enter } = await queued(0)
  const { id } = await console.judged({
    verdict: { decidedBy: 'human', label: 'non-rumor', decision: { by: 'ben', against: null, of: '0@1' } },
  })
  const anna = await enter('anna')
  const form = formIn((await console.page(await anna.to('/review/next'), anna.cookie)).text)
  const disputed = {
    schema: 1,
    id: 'disputed',
    subjectId: 'p',
    tenant: 'default',
    kind: 'post',
    protocol: 'rumor',
    why: 'disputed',
    verdict: id,
    label: 'non-rumor',
    at: at(41),
  }
  await console.topics.send('reviews', 'p', disputed, 41)
  await anna.to('/review/decide', { ...form, label: 'rumor', why: 'x' })
  // With an opinion that dissents the item is a disputed one alone, and is not blind.
  console.pass(900_001)
  // As one that this process has not seen before.
  expect(await anna.to('/review/decide', { ...form, once: '', label: 'rumor', why: 'x' })).toBe('/review?said=gone')
  expect(decided.map(({ opinion, against }) => [opinion, against])).toEqual([[true, 1]])
  const cay = await enter('cay')
  const item = (await console.page(await cay.to('/review/next'), cay.cookie)).text.replace(/<[^>]*>/g, '')
  expect(item).toMatch(/Decided by a person\s*non-rumor.* Decided by ben\./)
  expect(item).not.toContain('The machines’ label')
  expect(item).not.toContain('Was anything left out?')
  await cay.to('/review/decide', { id, label: 'rumor', why: 'x' })
  expect(decided.map(({ opinion, by }) => [opinion, by])).toEqual([
    [true, 'anna'],
    [undefined, 'cay'],
  ])
}, 30_000)

it('a form that was refused and is sent again shows nothing of what was deleted meanwhile', async () => {
  const { console, enter } = await queued(1)
  const anna = await enter('anna')
  const form = formIn((await console.page(await anna.to('/review/next'), anna.cookie)).text)
  const send = () => console.post('/review/decide', { ...form, why: 'no label' }, { cookie: anna.cookie })
  expect(await (await send()).text()).toContain('zanzibar')
  await console.topics.send('posts', 'p0', { id: 'p0', deleted: true, createdAt: at(0) }, 91)
  expect(await (await send()).text()).not.toContain('zanzibar')
})

/** The hidden fields of the form that decides, as a browser would send them. */
function formIn(page: string): Record<string, string> {
  const form = page.slice(page.indexOf('action="/review/decide"'))
  const fields = form.slice(0, form.indexOf('</form>')).matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...fields].map(([, name, value]) => [name ?? '', value ?? '']))
}

it('a form that is sent twice at once is one decision, and has one answer', async () => {
  const decided: unknown[] = []
  const console = await aConsole({
    async decide(decision) {
      decided.push(decision)
      await Promise.resolve()
      return { of: '0@0', decided: { outcome: decided.length > 1 ? 'late' : 'stands', last: 2, verdict: 'v' } as never }
    },
  })
  const { id } = await console.judged({ verdict: { label: null, decidedBy: 'none' } })
  const cookie = await console.signedIn()
  for (const [path, page] of [
    ['/decide', `/verdict?id=${id}`],
    ['/review/decide', `/review/item?id=${id}`],
  ] as const) {
    decided.length = 0
    const first = tokenIn((await console.page('/health', cookie)).text)
    await console.post('/review/take', { id, token: first }, { cookie })
    const { text } = await console.page(page, cookie)
    const once = /name="once" value="([^"]+)"/.exec(text.slice(text.indexOf(`action="${path}"`)))?.[1] ?? ''
    const fields = { id, label: 'rumor', why: 'x', token: tokenIn(text), once }
    const answers = await Promise.all([console.post(path, fields, { cookie }), console.post(path, fields, { cookie })])
    expect(decided).toHaveLength(1)
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    expect(answers[0].headers.get('location')).toBe(answers[1].headers.get('location'))
    // Whoever went back and chose another label.
    await console.post(path, { ...fields, label: 'non-rumor' }, { cookie })
    expect(decided).toMatchObject([{ label: 'rumor' }, { label: 'non-rumor' }])
  }
}, 20_000)

it('clauses of the tenant’s policy are ticked beside the label, on both forms, and go with the decision', async () => {
  const { console, decided, enter } = await queued(1)
  const queue = await console.judged({
    verdict: { subjectId: 'q', tenant: 'acme', label: null, decidedBy: 'none' },
    post: { text: 'yucatan' },
  })
  const { id } = await console.judged({ verdict: { subjectId: 'o', tenant: 'acme', label: 'rumor' } })
  const anna = await enter('anna')
  const shown = ({ text }: { text: string }) =>
    /name="clause" value="H1"( checked)?>.*?H1.*?Threats/.exec(text)?.[0] ?? ''
  expect(shown(await console.page('/verdict?id=rumor~p0~r1', anna.cookie)), 'a tenant without a policy').toBe('')
  expect(shown(await console.page(`/verdict?id=${id}`, anna.cookie))).toMatch(/^name="clause" value="H1">/)
  await anna.to('/decide', { id, label: 'rumor', why: 'ticket 9', clause: 'H1' })
  await anna.to('/decide', { id, label: 'non-rumor', why: 'ticket 9' })
  expect(decided.map(({ clauses }) => clauses)).toEqual([[{ id: 'H1' }], undefined])
  const taken = await anna.to('/review/take', { id: queue.id })
  expect(taken).toContain('/review/item')
  expect(shown(await console.page(taken, anna.cookie))).not.toBe('')
  const token = tokenIn((await console.page('/health', anna.cookie)).text)
  const refused = await console.post(
    '/review/decide',
    { id: queue.id, token, label: 'none', why: 'x', clause: 'H1' },
    { cookie: anna.cookie },
  )
  expect(shown({ text: await refused.text() }), 'what was ticked stays so').toContain('H1" checked')
  const many = new URLSearchParams({ token, label: 'rumor', why: 'x' })
  for (let n = 1; n <= 11; n++) many.append('clause', `H${n}`)
  const origin = { 'sec-fetch-site': 'same-origin', cookie: anna.cookie }
  for (const [path, carried] of [
    ['/decide', id],
    ['/review/decide', queue.id],
  ] as const) {
    const body = new URLSearchParams([...many, ['carried', carriedId(carried)]])
    const answer = await console.ask(path, { method: 'POST', body, headers: origin })
    expect(await answer.text(), path).toContain('A decision cites at most 10 clauses.')
  }
  await anna.to('/review/decide', { id: queue.id, label: 'rumor', why: 'x', clause: 'H1' })
  expect(decided.at(-1)).toMatchObject({ subjectId: 'q', clauses: [{ id: 'H1' }] })
})
