import { parseHTML } from 'linkedom'
import { expect, it, vi } from 'vitest'
import { caseFile } from '../../src/console/case-file.ts'
import { SubjectPictures } from '../../src/console/pictures.ts'
import { picturesAhead } from '../../src/console/post-view.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import { imageHash } from '../../src/contracts/facts/image-bytes.ts'
import { type PersonRole, ROLES } from '../../src/contracts/facts/person-roles.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { DecisionDesk } from '../../src/contracts/ports/decisions.ts'
import type { LoadImage } from '../../src/contracts/ports/images.ts'
import { at } from '../contracts/record.ts'
import { drawnPng } from '../support/drawn.ts'
import { aConsole, aTurn, tokenIn } from './console-for-tests.ts'

const MINUTE = 60_000
const PNG = `data:image/png;base64,${drawnPng(30, 20, () => [9, 9, 9, 255]).toString('base64')}`
const IMAGE = [{ kind: 'image' as const, url: 'https://images.example/a' }]

/** A console with one undecided post of each of two tenants that has an image, which comes from here. */
async function withImages(loadImage: LoadImage = async () => PNG, decide?: DecisionDesk['decide']) {
  const console = await aConsole({ loadImage, ...(decide === undefined ? {} : { decide }) })
  const judged = (tenant: string) =>
    console.judged({
      verdict: { protocol: 'hate', subjectId: 'p', tenant, label: null, decidedBy: 'none' },
      post: { text: 'zanzibar', media: IMAGE },
    })
  const ids = { acme: (await judged('acme')).id, globex: (await judged('globex')).id }
  const enter = (by: string, role: PersonRole, tenants: readonly string[]) =>
    `gavel-console-8421=${console.sessions.open({ by, grants: [{ role, tenants }] })}`
  return { console, ids, enter }
}

it('an image is for who may see its post, and is counted for them and their leads alone', async () => {
  const fetched: string[] = []
  const { console, ids, enter } = await withImages(async (url) => {
    fetched.push(url)
    return PNG
  })
  const anna = enter('anna', 'moderator', ['acme'])
  const path = (id: string, more = '') => `/picture?id=${encodeURIComponent(id)}&n=0${more}`
  expect((await console.ask(path(ids.globex), { headers: { cookie: anna } })).status).toBe(404)
  expect(
    (await console.ask(path(ids.acme), { headers: { cookie: anna, 'sec-fetch-site': 'cross-site' } })).status,
  ).toBe(403)
  expect((await console.ask(path(ids.acme))).status).toBe(303)
  expect(fetched).toEqual([])
  console.audited.length = 0
  const got = await Promise.all(
    ['', '&part=cover', ''].map((more) => console.ask(path(ids.acme, more), { headers: { cookie: anna } })),
  )
  expect(got.map((one) => [one.status, one.headers.get('content-type'), one.headers.get('cache-control')])).toEqual(
    got.map(() => [200, 'image/jpeg', 'no-store']),
  )
  // Of a list's thumbnails no entries: that its posts were seen is one already.
  expect(console.audited.map(({ what, page }) => `${what} ${page}`)).toEqual(['saw /picture', 'saw /picture'])
  expect(fetched).toEqual(['https://images.example/a'])
  expect((await console.ask(path(ids.acme).replace('n=0', 'n=1'), { headers: { cookie: anna } })).status).toBe(404)
  const seenBy = async (cookie: string) => {
    const { text } = await console.page('/covers', cookie)
    return text.includes('undecided') && text.includes('anna')
  }
  expect(await seenBy(anna)).toBe(true)
  expect(await seenBy(enter('ben', 'moderator', ['acme']))).toBe(false)
  expect(await seenBy(enter('cora', 'lead', ['globex']))).toBe(false)
  expect(await seenBy(enter('dora', 'lead', ['acme']))).toBe(true)
  expect(await console.record.pictures.exposures({ since: 0 })).toEqual([
    { person: 'anna', label: 'undecided', uncovered: 1, minutes: 1 },
  ])
})

it('an image that can’t be shown is seen by nobody', async () => {
  const { console, ids, enter } = await withImages(async () => {
    throw new Error('gone')
  })
  const anna = enter('anna', 'moderator', ['acme'])
  console.audited.length = 0
  expect(
    (await console.ask(`/picture?id=${encodeURIComponent(ids.acme)}&n=0`, { headers: { cookie: anna } })).status,
  ).toBe(404)
  expect(console.audited).toEqual([])
})

it('a list waits for no image of a slow host, which is fetched all the same', async () => {
  const slow = Promise.withResolvers<string>()
  const { console, ids, enter } = await withImages(() => slow.promise)
  const anna = enter('anna', 'moderator', ['acme'])
  const statusOf = async () => {
    const path = `/picture?id=${encodeURIComponent(ids.acme)}&n=0&soon=yes&part=cover`
    return (await console.ask(path, { headers: { cookie: anna } })).status
  }
  expect(await statusOf()).toBe(404)
  slow.resolve(PNG)
  await vi.waitFor(async () => expect(await statusOf()).toBe(200), { timeout: 20_000 })
})

it('words that may harm are counted when somebody uncovers them, once a minute, and of no other tenant', async () => {
  const { console, enter } = await withImages()
  const of = (subjectId: string, label: string) =>
    console.judged({ verdict: { protocol: 'hate', tenant: 'acme', subjectId, label } })
  const [harmful, harmless] = [await of('h', 'hate'), await of('n', 'non-hate')]
  const [anna, cora] = [enter('anna', 'moderator', ['acme']), enter('cora', 'moderator', ['globex'])]
  const uncover = (id: string, cookie: string) => console.page(`/uncovered?id=${id}`, cookie)
  console.audited.length = 0
  for (const cookie of [anna, anna, cora]) expect((await uncover(harmful.id, cookie)).status).toBe(204)
  // Each time, and of which post.
  expect(console.audited.map(({ by, what, page, verdicts }) => [by, what, page, ...verdicts])).toEqual(
    Array(2).fill(['anna', 'saw', '/uncovered', harmful.id]),
  )
  await uncover(harmless.id, anna)
  const counted = () => console.record.pictures.exposures({ since: 0 })
  expect(await counted()).toMatchObject([{ person: 'anna', label: 'hate', uncovered: 1 }])
  console.pass(MINUTE)
  await uncover(harmful.id, anna)
  expect(await counted()).toMatchObject([{ person: 'anna', label: 'hate', uncovered: 2 }])
  for (const path of ['/live', `/verdict?id=${harmful.id}`])
    expect((await console.page(path, anna)).text).toContain('data-counts="/uncovered?id=hate')
  // Its comments are another part, wherever they are folded.
  await console.page(`/uncovered?id=${harmful.id}&part=comments`, anna)
  await console.page(`/uncovered?id=${harmless.id}&part=comments`, anna)
  expect(await counted()).toMatchObject([{ person: 'anna', label: 'hate', uncovered: 3 }])
  const threaded = await console.judged({
    verdict: { protocol: 'hate', tenant: 'acme', subjectId: 't', label: 'hate' },
    comments: [{ id: 'c1', text: 'folded away' }],
  })
  const counts = /<details data-counts="([^"]*)">(?:(?!<details).)*folded away/s
  const page = (await console.page(`/verdict?id=${threaded.id}`, anna)).text
  expect(counts.exec(page)?.[1]).toContain('part=comments')
  const file = (await console.page(`/verdict/file?id=${threaded.id}`, anna)).text
  expect(file).toContain('folded away')
  expect(file).not.toContain('data-counts')
})

it('a cover names the label that is known to harm before one that is open', async () => {
  const { console, ids, enter } = await withImages()
  await console.judged({ verdict: { protocol: 'safety', subjectId: 'p', tenant: 'acme', label: 'unsafe' } })
  const cookie = enter('anna', 'moderator', ['acme'])
  for (const path of ['/live', '/search', `/verdict?id=${encodeURIComponent(ids.acme)}`]) {
    const { text } = await console.page(path, cookie)
    expect([path, text.includes('judged unsafe'), text.includes('not decided, and')]).toEqual([path, true, false])
  }
})

it('where a post is covered, so is what was said of it: reasons, argument and judgement', async () => {
  const { console, enter } = await withImages()
  const of = (subjectId: string, label: string) =>
    console.judged({
      verdict: { protocol: 'hate', tenant: 'acme', subjectId, label, rationale: 'it calls them marzipan' },
      post: {
        text: 'zanzibar',
        media: [{ kind: 'image', url: 'https://images.example/a', alt: 'a jar of pastille' }],
        clips: [{ kind: 'video', transcript: 'they sing of nougat' }],
      },
      turns: [
        aTurn('describe', 'describer', { description: 'it shows toffee' }),
        aTurn('perspective', 'perspective (target)', { label: 'hate', reason: 'for it says liquorice' }),
      ],
    })
  const cookie = enter('anna', 'moderator', ['acme'])
  const inClear = async (id: string, path: string) => {
    const { document } = parseHTML((await console.page(`${path}?id=${encodeURIComponent(id)}`, cookie)).text)
    for (const cover of document.querySelectorAll('details.covered')) cover.remove()
    const text = document.querySelector('main')?.textContent ?? ''
    return ['marzipan', 'liquorice', 'pastille', 'nougat', 'toffee', 'fudge'].filter((word) => text.includes(word))
  }
  const [harmful, harmless] = [(await of('h', 'hate')).id, (await of('n', 'non-hate')).id]
  for (const subjectId of ['h', 'n']) {
    const said = { subjectId, tenant: 'acme', protocol: 'hate', label: 'hate', by: 'ben', at: at(20) }
    await console.topics.send('feedback', subjectId, { ...said, note: 'it is fudge' }, 20)
  }
  const all = ['marzipan', 'liquorice', 'pastille', 'nougat', 'toffee', 'fudge']
  expect(await inClear(harmful, '/verdict')).toEqual([])
  expect(await inClear(harmless, '/verdict')).toEqual(all)
  expect(await inClear(harmful, '/verdict/file')).toEqual(all)
  // How they are uncovered, and where each person chooses what is.
  const told = async (id: string, path: string) =>
    (await console.page(`${path}?id=${encodeURIComponent(id)}`, cookie)).text.includes('o uncovers the next of them')
  expect([await told(harmful, '/verdict'), await told(harmless, '/verdict')]).toEqual([true, false])
  expect(await told(harmful, '/verdict/file')).toBe(false)
})

it('a decision on words that stayed covered is marked, wherever it is sent from; on others it is not', async () => {
  const decided: DecisionMessage[] = []
  const { console, enter } = await withImages(undefined, async (decision) => {
    decided.push(decision)
    return { of: '0@0', decided: { outcome: 'noted' } }
  })
  const judged = (subjectId: string, label: string) =>
    console.judged({ verdict: { protocol: 'hate', tenant: 'acme', subjectId, label }, post: { text: 'zanzibar' } })
  const anna = enter('anna', 'moderator', ['acme'])
  const token = tokenIn((await console.page('/health', anna)).text)
  const isUnseen = async ({ id }: Verdict) => {
    await console.page(`/verdict?id=${encodeURIComponent(id)}`, anna)
    await console.post('/decide', { token, id, label: 'hate', why: 'w' }, { cookie: anna })
    return decided.at(-1)?.unseen === true
  }
  const [harmful, harmless] = [await judged('h', 'hate'), await judged('n', 'non-hate')]
  expect([await isUnseen(harmful), await isUnseen(harmless)]).toEqual([true, false])
  // What was said of it is not it.
  await console.page(`/uncovered?id=${encodeURIComponent(harmful.id)}&part=reasons`, anna)
  expect(await isUnseen(harmful)).toBe(true)
  await console.page(`/uncovered?id=${encodeURIComponent(harmful.id)}`, enter('ben', 'moderator', ['acme']))
  expect(await isUnseen(harmful)).toBe(true)
  await console.page(`/uncovered?id=${encodeURIComponent(harmful.id)}`, anna)
  expect(await isUnseen(harmful)).toBe(false)
  // Nor is a picture seen of which nobody has more than the cover.
  const pictured = await console.judged({
    verdict: { protocol: 'hate', tenant: 'acme', subjectId: 'i', label: 'non-hate' },
    post: { text: 'zanzibar', media: IMAGE },
    turns: [
      aTurn(
        'describe',
        'describer',
        { description: 'a bridge' },
        {
          messages: [{ role: 'user', content: 'Q', images: ['https://images.example/a'] }],
          imageHashes: [imageHash(PNG)],
        },
      ),
    ],
  })
  const picture = (more: string) =>
    console.ask(`/picture?id=${encodeURIComponent(pictured.id)}&n=0${more}`, { headers: { cookie: anna } })
  await picture('&part=cover')
  expect(await isUnseen(pictured)).toBe(true)
  await picture('')
  expect(await isUnseen(pictured)).toBe(false)
  // Who covers nothing sees it at once.
  await console.post('/covers', { token, covered: 'none', cover: 'blur' }, { cookie: anna })
  expect(await isUnseen(await judged('o', 'hate'))).toBe(false)
})

it('a break is offered after so many minutes of the last hour, and no sooner', async () => {
  const { console, enter } = await withImages()
  const cookie = enter('anna', 'moderator', ['acme'])
  const token = tokenIn((await console.page('/covers', cookie)).text)
  const look = async () => {
    const to = (await console.post('/review/next', { token }, { cookie })).headers.get('location') ?? ''
    return (await console.page(to, cookie)).text.includes('You may take a break')
  }
  const note = (from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        console.record.pictures.noteUncovered('anna', {
          tenant: 'acme',
          label: `label ${n % 2}`,
          at: (from + n) * MINUTE,
        }),
      ),
    )
  await note(0, 19)
  expect(await look()).toBe(false)
  await note(19, 1)
  expect(await look()).toBe(true)
  console.pass(62 * MINUTE)
  expect(await look()).toBe(false)
})

it.each(['hate', 'non-hate'])('no cover tells who gives a second opinion whether %s was decided', async (label) => {
  const { console, enter } = await withImages()
  await console.judged({
    verdict: {
      protocol: 'hate',
      subjectId: 'h',
      tenant: 'initech',
      label,
      decidedBy: 'human',
      decision: { by: 'ben', against: null, of: '0@0' },
    },
    post: { text: 'marzipan', media: IMAGE },
  })
  // What waits beside it is no second opinion, and comes first.
  await console.judged({
    verdict: { protocol: 'rumor', subjectId: 'h', tenant: 'initech', decidedBy: 'consensus', degraded: ['so'] },
    post: { text: 'marzipan', media: IMAGE },
  })
  const cookie = enter('anna', 'moderator', ['initech'])
  const token = tokenIn((await console.page('/covers', cookie)).text)
  const covers = (page: string) => page.split('<details class="covered"').length - 1
  // The words, and the picture: as many whichever was decided.
  expect(covers((await console.page('/review', cookie)).text)).toBe(2)
  const to = (await console.post('/review/next', { token }, { cookie })).headers.get('location') ?? ''
  const { text } = await console.page(to, cookie)
  expect([
    text.includes('marzipan'),
    covers(text),
    text.split('it may be harmful').length - 1,
    /judged hate|not decided|no model has seen/i.test(text),
  ]).toEqual([true, 2, 2, false])
})

it('a saved file holds the images that are kept, each covered, and says where the understudy answered', async () => {
  const { console, enter } = await withImages()
  const verdict = { protocol: 'safety', subjectId: 'm', tenant: 'acme', label: 'safe', decidedBy: 'arbiter' } as const
  const cookie = enter('anna', 'moderator', ['acme'])
  const fileOf = async (subjectId: string, model: string) => {
    const { id } = await console.judged({
      verdict: { ...verdict, subjectId, models: { arbiter: model } },
      post: { media: IMAGE },
    })
    const at = encodeURIComponent(id)
    const file = async () => (await console.page(`/verdict/file?id=${at}`, cookie)).text
    const before = await file()
    await console.ask(`/picture?id=${at}&n=0`, { headers: { cookie } })
    return { before, after: await file() }
  }
  const { before, after } = await fileOf('m', 'understudy')
  const picture =
    /<details class="covered"[^>]*><summary>[^/]*Image<\/span><\/summary><img class="seen" src="data:image\/jpeg;base64,\/9j/
  expect([picture.test(before), picture.test(after)]).toEqual([false, true])
  expect(after).toContain('img-src data:; style-src &#39;sha256-')
  expect(after).toContain('no language model answered')
  expect(after).toContain('arbiter word lists, no model')
  expect((await fileOf('n', 'gpt')).after).not.toContain('no language model answered')
})

it('of a post with many images each is read for itself', async () => {
  const { console, enter } = await withImages()
  const media = Array.from({ length: 16 }, (_, n) => ({ kind: 'image' as const, url: `https://images.example/${n}` }))
  const verdict = { protocol: 'safety', subjectId: 'm', tenant: 'acme', label: 'safe', decidedBy: 'consensus' } as const
  const id = encodeURIComponent((await console.judged({ verdict, post: { media } })).id)
  const cookie = enter('anna', 'moderator', ['acme'])
  const reads = vi.spyOn(console.record.pictures, 'picture')
  for (const path of [`/picture?id=${id}&n=3`, `/picture/news?id=${id}&n=3`])
    expect((await console.ask(path, { headers: { cookie } })).status).toBe(200)
  expect(reads.mock.calls.length).toBeLessThanOrEqual(3)
})

it('an image that no model was shown is said to be so, though its message names its hash', async () => {
  const said = async (sha256: string) => {
    const { console, enter } = await withImages()
    const { id } = await console.judged({
      verdict: { protocol: 'safety', subjectId: 's', tenant: 'acme', label: 'safe', decidedBy: 'consensus' },
      post: { media: IMAGE.map((one) => ({ ...one, sha256 })) },
    })
    const cookie = enter('anna', 'moderator', ['acme'])
    await console.ask(`/picture?id=${encodeURIComponent(id)}&n=0`, { headers: { cookie } })
    const { text } = await console.page(`/verdict?id=${encodeURIComponent(id)}`, cookie)
    const own = await console.record.pictures.exposures({ since: 0 })
    return [text.includes('no model has seen it'), /role="status">([^<]+)/.exec(text)?.[1], own[0]?.label]
  }
  const named = imageHash(PNG)
  expect(await said(named)).toEqual([true, 'No model saw it.', 'unseen'])
  const another = 'No model saw it, and it is another image than its message names by a hash.'
  expect(await said('0'.repeat(64))).toEqual([true, another, 'unseen'])
})

it('an image of which the model said that it did not see it is said to be seen by no model, and no rule stands beside no label', async () => {
  const said = async (answer: object) => {
    const { console, enter } = await withImages()
    const { id } = await console.judged({
      verdict: { protocol: 'safety', subjectId: 's', tenant: 'acme', label: null, decidedBy: 'none' },
      post: { media: IMAGE },
      turns: [
        aTurn('describe', 'describer', answer, {
          messages: [{ role: 'user', content: 'Q', images: IMAGE.flatMap(({ url }) => url ?? []) }],
          imageHashes: [imageHash(PNG)],
        }),
        aTurn('arbitrate', 'arbiter', { rule: 'default-safe', label: 'safe', reason: 'r' }),
      ],
    })
    const cookie = enter('anna', 'moderator', ['acme'])
    await console.ask(`/picture?id=${encodeURIComponent(id)}&n=0`, { headers: { cookie } })
    const { text } = await console.page(`/verdict?id=${encodeURIComponent(id)}`, cookie)
    expect(text).not.toContain('It counts as safe then')
    return /role="status">([^<]+)/.exec(text)?.[1]
  }
  expect(await said({ seen: 'yes', description: 'a bridge' })).toBe('The same bytes as were judged.')
  expect(await said({ seen: 'no', description: '' })).toBe('No model saw it.')
})

it('what is about to be looked at is fetched ahead, once, whether or not it comes', async () => {
  const fetched: string[] = []
  const { console, ids } = await withImages()
  const { record } = console
  const parts = { record, kinds: new Map(), clock: () => 0 }
  const pictures = new SubjectPictures({
    store: record.pictures,
    load: async (url) => {
      fetched.push(url)
      if (fetched.length === 1) throw new Error('away')
      return PNG
    },
    redraw: async () => ({ picture: new Uint8Array([1]), cover: new Uint8Array([2]) }),
    keptImage: null,
    clock: () => 0,
    keep: { keep: MINUTE, most: 10 },
  })
  const ahead = picturesAhead(record.review, { ...parts, pictures })
  await ahead()
  await ahead()
  expect(fetched).toHaveLength(2)
  const kept = await Promise.all(
    Object.values(ids).map(async (id) => {
      const file = await caseFile(id, { record, kinds: new Map(), session: {} })
      return file === null ? null : (await pictures.states(file)).map(({ kept, why }) => [kept !== null, why])
    }),
  )
  const away = [false, 'its server does not answer now; it is tried again in a minute']
  expect(kept.flat().sort()).toEqual([away, [true, null]].sort())
})

it('an image that arrives when its post has been erased is kept and shown to nobody', async () => {
  const { console, ids, enter } = await withImages(async () => {
    await console.topics.send('posts', 'p', { id: 'p', tenant: 'acme', createdAt: at(0), deleted: true }, 60)
    return PNG
  })
  const cookie = enter('anna', ROLES[3], ['acme'])
  const answer = await console.ask(`/picture?id=${encodeURIComponent(ids.acme)}&n=0`, { headers: { cookie } })
  expect(answer.status).toBe(404)
  const subject = { tenant: 'acme', postId: 'p', kind: 'post' } as const
  expect((await console.record.subject({ tenant: 'acme', id: 'p' }))?.deletedAt ?? null).not.toBeNull()
  expect(await console.record.pictures.picture(subject, 'any', 0)).toBeNull()
})
