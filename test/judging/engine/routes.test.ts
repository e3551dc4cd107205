import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import type { Post, ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { verdictId } from '../../../src/contracts/facts/verdict-id.ts'
import { newestVerdict, type Route, router } from '../../../src/judging/engine/routes.ts'
import { protocolNamed } from '../../support/parts.ts'

const rumor = protocolNamed('rumor')
const hate = protocolNamed('hate', { subject: 'post', accepts: ({ text }) => text !== '' })
const reply = protocolNamed('reply', { subject: 'reply', accepts: ({ hateSpeech }) => hateSpeech !== undefined })
const all = [rumor, hate, reply]

const ref = (change: Partial<ThreadRef> = {}): ThreadRef => ({
  tenant: 'default',
  postId: 'p',
  kind: 'post',
  ...change,
})
const post = (change: Partial<Post> = {}): Post => ({ id: 'p', text: 'words', createdAt: 0, ...change })
const image = { kind: 'image' as const, alt: 'a bridge' }
const names = (routes: Record<string, Route[]>, of = ref(), given = post(), comments?: number, key = 'a key') => {
  const made = router(all, routes, samplingRanks(key))
  const routed = comments === undefined ? made.of(of, given) : made.at(of, given, comments)
  return routed.map(({ name }) => name)
}

test.each([
  ['the one that was published, where it is known', { revision: 5, published: 3, final: false, openId: 'a case' }, 3],
  ['the last one where no case is open', { revision: 5, final: true, openId: null }, 5],
  ['none while the only one is open', { revision: 1, final: false, openId: 'a case' }, null],
])('the newest verdict of a subject is %s', async (_, known, revision) => {
  const head = { post: null, version: 1, dueSince: null }
  const threads = { head: async () => ({ ...head, revisions: new Map([['rumor', known]]) }) }
  const found = await newestVerdict(threads, all)({ tenant: 'default', subjectId: 'p', protocol: 'rumor' })
  const about = { protocol: 'rumor', tenant: 'default', subjectId: 'p', crossKind: false, asked: false }
  expect(found).toBe(revision === null ? null : verdictId({ ...about, revision }))
})

test('the newest verdict of a comment that is judged by itself is its own, and no post’s of its id', async () => {
  const head = { post: null, version: 1, dueSince: null }
  const revisions = new Map([['hate', { revision: 2, final: true, openId: null }]])
  const threads = { head: async (ref: ThreadRef) => (ref.kind === 'comment' ? { ...head, revisions } : null) }
  const find = newestVerdict(threads, all)
  const of = { tenant: 'acme', subjectId: 'p', protocol: 'hate' }
  expect([await find({ ...of, subjectKind: 'comment', postId: 'q~' }), await find(of)]).toEqual([
    'hate/comment@acme~q%7E~p~r2',
    null,
  ])
})

describe('without routes', () => {
  test('a post goes to every protocol of posts and threads that accepts it', () => {
    expect(names({})).toEqual(['rumor', 'hate'])
    expect(names({}, ref(), post({ text: '' }))).toEqual(['rumor'])
  })

  test('a reply goes to the protocols of replies alone', () => {
    expect(names({}, ref({ kind: 'reply' }), post({ hateSpeech: 'hate' }))).toEqual(['reply'])
  })
})

describe('a route', () => {
  test.each<[string, Route, Partial<ThreadRef>, Partial<Post>, boolean]>([
    ['lets its tenant through', { tenants: ['a', 'b'] }, { tenant: 'b' }, {}, true],
    ['keeps other tenants out', { tenants: ['a'] }, { tenant: 'b' }, {}, false],
    ['lets its language through', { langs: ['en'] }, {}, { lang: 'en' }, true],
    ['lets a region of its language through', { langs: ['en'] }, {}, { lang: 'EN-gb' }, true],
    ['keeps languages out that only begin alike', { langs: ['en'] }, {}, { lang: 'enm' }, false],
    ['keeps posts without a language out', { langs: ['en'] }, {}, {}, false],
    ['lets posts without a language through by und', { langs: ['en', 'und'] }, {}, {}, true],
    ['with media keeps words out', { media: 'with' }, {}, {}, false],
    ['with media lets images through', { media: 'with' }, {}, { media: [image] }, true],
    ['without media keeps images out', { media: 'without' }, {}, { media: [image] }, false],
    ['samples none', { sample: 0 }, {}, {}, false],
    ['needs all that it names', { tenants: ['default'], langs: ['ko'] }, {}, { lang: 'en' }, false],
  ])('%s', (_, route, of, given, through) => {
    expect(names({ hate: [route] }, ref(of), post(given)).includes('hate')).toBe(through)
  })

  test('is one way of several', () => {
    const routes = { hate: [{ langs: ['ko'] }, { media: 'with' as const }] }
    expect(names(routes, ref(), post({ lang: 'ko' }))).toContain('hate')
    expect(names(routes, ref(), post({ lang: 'en', media: [image] }))).toContain('hate')
    expect(names(routes, ref(), post({ lang: 'en' }))).not.toContain('hate')
  })

  test('no route at all is no way', () => {
    expect(names({ hate: [] })).toEqual(['rumor'])
  })

  test('takes a protocol of posts to counterspeech, which it sees without what it answers', () => {
    const seen: Post[] = []
    const nosy = protocolNamed('nosy', { subject: 'post', accepts: (given) => seen.push(given) > 0 })
    const made = router([nosy], { nosy: [{ topics: ['counterspeech'] }] }, samplingRanks('a key'))
    expect(made.of(ref({ kind: 'reply' }), post({ hateSpeech: 'hate' }))).toEqual([nosy])
    expect(seen).toEqual([post()])
    expect(made.of(ref(), post())).toEqual([])
  })

  test('never takes a protocol of replies to posts, nor one of threads to replies', () => {
    const topics: Route['topics'] = ['posts', 'counterspeech']
    expect(names({ reply: [{ topics }], rumor: [{ topics }] })).toEqual(['rumor', 'hate'])
    expect(
      names({ reply: [{ topics }], rumor: [{ topics }] }, ref({ kind: 'reply' }), post({ hateSpeech: 'h' })),
    ).toEqual(['reply'])
  })

  test('by size counts when the thread is due, and not when the post comes', () => {
    const routes = { rumor: [{ minComments: 3, maxComments: 5 }] }
    expect(names(routes)).toContain('rumor')
    expect([2, 3, 5, 6].map((comments) => names(routes, ref(), post(), comments).includes('rumor'))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  test('by size means nothing to a protocol that looks at a post once, before anybody has answered', () => {
    expect(names({ hate: [{ minComments: 3 }] }, ref(), post(), 0)).toContain('hate')
  })

  test('samples about its share, the same each time, and others for another protocol', () => {
    const drawn = (name: string) =>
      Array.from({ length: 1_000 }, (_, at) =>
        names({ [name]: [{ sample: 0.3 }] }, ref({ postId: String(at) })).includes(name),
      )
    const share = drawn('hate').filter(Boolean).length
    expect(share).toBeGreaterThan(240)
    expect(share).toBeLessThan(360)
    expect(drawn('hate')).toEqual(drawn('hate'))
    expect(drawn('hate')).not.toEqual(drawn('rumor'))
  })

  const half = { hate: [{ sample: 0.5 }] }
  const isDrawn = (postId: string, key?: string) =>
    names(half, ref({ postId }), post(), undefined, key).includes('hate')

  test('samples by the key: whoever grinds an id is drawn as often as anybody', () => {
    const lotOf = (id: string) =>
      createHash('sha256').update(['hate', 'default', 'post', id].join('\0')).digest().readUIntBE(0, 6) / 2 ** 48
    const ground = Array.from({ length: 500 }, (_, at) => String(at)).filter((id) => lotOf(id) >= 0.5)
    const share = ground.filter((id) => isDrawn(id)).length / ground.length
    expect(share).toBeGreaterThan(0.4)
    expect(share).toBeLessThan(0.6)
    const ids = Array.from({ length: 100 }, (_, at) => String(at))
    expect(ids.map((id) => isDrawn(id, 'another key'))).not.toEqual(ids.map((id) => isDrawn(id)))
  })

  test('samples nobody out who has judged the subject already, whatever the key is now', () => {
    const made = router(all, half, samplingRanks('a key'))
    const ids = Array.from({ length: 20 }, (_, at) => String(at))
    const judges = (id: string, judging?: ReadonlySet<string>) =>
      [made.of(ref({ postId: id }), post(), judging), made.at(ref({ postId: id }), post(), 3, judging)].map((routed) =>
        routed.some(({ name }) => name === 'hate'),
      )
    expect(ids.every((id) => judges(id, new Set(['hate'])).every(Boolean))).toBe(true)
    expect(ids.every((id) => judges(id, new Set(['rumor'])).every(Boolean))).toBe(false)
  })
})
