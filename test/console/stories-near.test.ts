import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import type { CaseworkEntry } from '../../src/contracts/facts/casework.ts'
import { at } from '../contracts/record.ts'
import { aConsole } from './console-for-tests.ts'

const STORY = { id: 'aaa', members: 1, reach: 0, labels: { rumor: 1 } }
/** By their first letter: how near words are to one another. */
const POSTS = {
  fire: 'A fire burns in the harbor of Calvera since noon today',
  blaze: 'Bright flames at the docks of Calvera, the engines come',
  smoke: 'Black smoke above the docks, sirens everywhere in town',
  trams: 'Trams stopped between Eastgate and the market square',
}
const VECTORS: Readonly<Record<string, readonly number[]>> = { A: [1, 0], B: [0.9, 0.3], T: [0, 1] }

async function planted(embed?: () => Promise<never>, pairKey = 'a key') {
  const told: CaseworkEntry[] = []
  let asked = 0
  const console = await aConsole({
    pairKey,
    casework: {
      async tell(entry) {
        told.push(entry)
        await console.topics.send('casework', entry.subjectId, entry, 30 + told.length)
      },
    },
    embedder: {
      weakFor: (text) => (text.startsWith('Trams') ? 'another language' : null),
      async embed(texts) {
        asked += texts.length
        if (embed !== undefined) return embed()
        return { vectors: texts.map((text) => new Float32Array(VECTORS[text[0] ?? ''] ?? [0, 0])), tokens: 0 }
      },
    },
  })
  for (const [id, text] of Object.entries(POSTS))
    await console.judged({
      verdict: { id: `rumor~${id}~r1`, subjectId: id, ...(id === 'fire' ? { story: STORY } : {}) },
      post: { text },
    })
  return { console, told, asked: () => asked, cookie: await console.signedIn() }
}

const NEAR = '/stories/story?id=aaa&tenant=default&near=yes'
const nearIn = (text: string) => {
  const { document } = parseHTML(text)
  const section = document.querySelector('section[aria-labelledby=near]')
  const listed = [...(section?.querySelectorAll('.row-words') ?? [])].map(
    (one) => one.textContent?.trim().split(' ')[0],
  )
  return { document, section, listed, forms: [...(section?.querySelectorAll('form.pair') ?? [])] }
}

it('shows posts that are near in meaning, where somebody asks for them, the nearest first', async () => {
  const { console, cookie, asked } = await planted()
  const plain = nearIn((await console.page('/stories/story?id=aaa&tenant=default', cookie)).text)
  expect([plain.listed, asked()]).toEqual([[], 0])
  expect(plain.section?.querySelector('a')?.getAttribute('href')).toBe(`${NEAR}#near`)
  const { listed, section } = nearIn((await console.page(NEAR, cookie)).text)
  expect(listed.sort()).toEqual(['Black', 'Bright'])
  expect(section?.textContent).toContain('Weak for 1 of the 3 posts that were compared')
  expect(asked()).toBe(4)
  await console.page(NEAR, cookie)
  expect(asked()).toBe(4)
})

it('keeps yes and no as a labelled pair of both posts, which each takes along when it is deleted', async () => {
  const { console, told, cookie } = await planted()
  const { document, forms } = nearIn((await console.page(NEAR, cookie)).text)
  const fieldsOf = (form: (typeof forms)[number] | undefined) =>
    Object.fromEntries(
      [...(form?.querySelectorAll('input') ?? [])].map((one) => [
        one.getAttribute('name'),
        one.getAttribute('value') ?? '',
      ]),
    )
  expect(document.querySelectorAll('form.pair button')).toHaveLength(4)
  const say = (fields: Record<string, string>) => console.post('/stories/same', fields, { cookie })
  const done = await say({ ...fieldsOf(forms[0]), say: 'not-same' })
  expect([done.status, done.headers.get('location')]).toEqual([303, `${NEAR}#near`])
  const [one, other] = told
  expect(told).toHaveLength(2)
  expect(one).toMatchObject({ subjectId: 'fire', kind: 'post', what: 'not-same', to: null, by: 'anna' })
  expect(other?.pair).toBe(one?.pair)
  const exported = async () => {
    const pairs: [string, unknown][] = []
    for await (const { subject, said } of console.record.export())
      for (const word of said) if (word.said === 'pair') pairs.push([subject.postId, word.label])
    return pairs.sort()
  }
  expect(await exported()).toEqual([
    ['fire', 'not-same'],
    [other?.subjectId, 'not-same'],
  ])
  expect(nearIn((await console.page(NEAR, cookie)).text).section?.textContent).toContain('something else.')
  const plain = nearIn((await console.page('/stories/story?id=aaa&tenant=default', cookie)).text)
  expect(plain.section?.textContent).toContain(
    'People said of no post in other words that it says the same, and of one post that it says something else.',
  )
  const gone = { id: 'fire', createdAt: at(0), deleted: true }
  await console.topics.send('posts', 'fire', gone, 90)
  expect(await exported()).toEqual([[other?.subjectId, 'not-same']])
  expect(JSON.stringify(await console.record.subject({ tenant: 'default', id: other?.subjectId ?? '' }))).not.toContain(
    'fire',
  )
})

it('refuses what is no pair, or is another tenant’s, and does not hide where nothing could be compared', async () => {
  const { console, told, cookie } = await planted()
  await console.judged({
    verdict: { id: 'rumor@acme~x~r1', subjectId: 'x', tenant: 'acme' },
    post: { text: 'Another' },
  })
  const { forms } = nearIn((await console.page(NEAR, cookie)).text)
  const token = forms[0]?.querySelector('input[name=token]')?.getAttribute('value') ?? ''
  const fields = { token, id: 'aaa', tenant: 'default', own: 'rumor~fire~r1', other: 'rumor~blaze~r1', say: 'same' }
  for (const change of [
    { other: 'rumor~fire~r1' },
    { other: 'rumor~nobody~r1' },
    { other: 'rumor@acme~x~r1' },
    { say: 'perhaps' },
  ])
    expect(
      (await console.post('/stories/same', { ...fields, ...change }, { cookie })).status,
      JSON.stringify(change),
    ).toBe(409)
  expect(told).toEqual([])
  const broken = await planted(async () => {
    throw new Error('no model')
  })
  const { section } = nearIn((await broken.console.page(NEAR, broken.cookie)).text)
  expect(section?.textContent).toContain('could not be compared now')
})

it('names a pair under a key: half of one tells nobody else of which post the other was', async () => {
  const pairUnder = async (key: string) => {
    const { console, told, cookie } = await planted(undefined, key)
    const { forms } = nearIn((await console.page(NEAR, cookie)).text)
    const token = forms[0]?.querySelector('input[name=token]')?.getAttribute('value') ?? ''
    const pair = { own: 'rumor~fire~r1', other: 'rumor~blaze~r1' }
    await console.post('/stories/same', { token, id: 'aaa', tenant: 'default', ...pair, say: 'same' }, { cookie })
    return told[0]?.pair
  }
  expect(await pairUnder('a key')).toBe(await pairUnder('a key'))
  expect(await pairUnder('another')).not.toBe(await pairUnder('a key'))
})
