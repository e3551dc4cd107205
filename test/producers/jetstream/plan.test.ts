import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFrame, timeOfRev } from '../../../producers/jetstream/frame.ts'
import { namedIn, planEvents, type TakingRules } from '../../../producers/jetstream/plan.ts'
import { commentMessage, postMessage } from '../../../src/contracts/facts/messages.ts'
import type { TakenRecord } from '../../../src/contracts/ports/jetstream.ts'
import { type RelayedEvent, tidOf } from '../../support/relay.ts'
import { accountOf, addressOf, BEGIN, didOf, written } from '../../support/relayed-posts.ts'

const RULES: TakingRules = {
  tenant: 'bluesky',
  langs: [],
  isDrawn: () => true,
  replies: true,
  cdn: 'https://cdn.example',
  erase: ['deleted'],
  topics: { post: 'posts', comment: 'comments' },
}

const bare = ({ did, time, commit, account }: RelayedEvent) =>
  readFrame(
    'v1',
    JSON.stringify({ did, time_us: time, ...(commit ? { kind: 'commit', commit } : { kind: 'account', account }) }),
  )

function planned(
  given: readonly RelayedEvent[],
  rules: Partial<TakingRules> = {},
  known = new Map<string, TakenRecord>(),
) {
  const { records, outcomes, ...rest } = planEvents(given.map(bare), known, { ...RULES, ...rules })
  return {
    ...rest,
    outcomes: Object.fromEntries(outcomes),
    sent: records.map(
      ({ topic, key, value }): Readonly<Record<string, unknown>> => ({ topic, key, ...JSON.parse(String(value)) }),
    ),
  }
}

const POST = written({ rkey: 'p1', at: 0, text: 'The bridge is closed' })
const ROOT = addressOf('ann', 'p1')

describe('what is made of events', () => {
  it('makes a post of a post, a comment of a reply to it, and messages that intake reads', () => {
    const reply = written({ author: 'bob', rkey: 'c1', at: 5, text: 'I crossed it', under: ROOT })
    const answer = written({
      author: 'cat',
      rkey: 'c2',
      at: 9,
      text: 'when?',
      under: ROOT,
      parent: addressOf('bob', 'c1'),
    })
    const { sent, outcomes } = planned([POST, reply, answer])
    expect(sent).toEqual([
      {
        topic: 'posts',
        key: ROOT,
        id: ROOT,
        tenant: 'bluesky',
        author: didOf('ann'),
        createdAt: '2026-05-01T10:00:00.000Z',
        text: 'The bridge is closed',
        lang: 'en',
      },
      {
        topic: 'comments',
        key: ROOT,
        id: addressOf('bob', 'c1'),
        postId: ROOT,
        tenant: 'bluesky',
        author: didOf('bob'),
        createdAt: '2026-05-01T10:00:00.005Z',
        text: 'I crossed it',
      },
      {
        topic: 'comments',
        key: ROOT,
        id: addressOf('cat', 'c2'),
        postId: ROOT,
        parentId: addressOf('bob', 'c1'),
        tenant: 'bluesky',
        author: didOf('cat'),
        createdAt: '2026-05-01T10:00:00.009Z',
        text: 'when?',
      },
    ])
    expect(outcomes).toEqual({ post: 1, comment: 2 })
    expect(postMessage.safeParse(sent[0]).success).toBe(true)
    for (const { topic: _, key: __, ...one } of sent.slice(1)) expect(commentMessage.parse(one).odd).toBeUndefined()
  })

  it('edits under the same id and time, and deletes for good, a comment under its post, of which the deletion names none', () => {
    const before = planned([POST, written({ author: 'bob', rkey: 'c1', at: 5, under: ROOT })])
    const { sent, outcomes } = planned(
      [
        written({ rkey: 'p1', at: 20, operation: 'update', text: 'The bridge is open' }),
        written({ author: 'bob', rkey: 'c1', at: 30, operation: 'delete' }),
        written({ author: 'bob', rkey: 'c1', at: 40, text: 'again', under: ROOT }),
        written({ rkey: 'p1', at: 50, operation: 'delete' }),
        written({ author: 'cat', rkey: 'c2', at: 60, under: ROOT }),
      ],
      {},
      new Map(before.taken),
    )
    expect(sent).toEqual([
      expect.objectContaining({ id: ROOT, text: 'The bridge is open', createdAt: '2026-05-01T10:00:00.000Z' }),
      {
        topic: 'comments',
        key: ROOT,
        id: addressOf('bob', 'c1'),
        postId: ROOT,
        tenant: 'bluesky',
        createdAt: '2026-05-01T10:00:00.030Z',
        deleted: true,
      },
      { topic: 'posts', key: ROOT, id: ROOT, tenant: 'bluesky', createdAt: '2026-05-01T10:00:00.050Z', deleted: true },
    ])
    expect(outcomes).toEqual({ edit: 1, deletion: 2, duplicate: 1, passed: 1 })
  })

  it('sends nothing twice, in whatever order a relay repeats it', () => {
    const events = [
      POST,
      written({ author: 'bob', rkey: 'c1', at: 5, under: ROOT }),
      written({ rkey: 'p1', at: 20, operation: 'update', text: 'open' }),
      written({ author: 'bob', rkey: 'c1', at: 30, operation: 'delete' }),
    ]
    const { taken } = planned(events)
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events)), (again) => {
        expect(planned(again, {}, new Map(taken)).sent).toEqual([])
      }),
    )
  })

  it('passes over replies to posts that it has not taken, their edits and deletions, and what is no post', () => {
    const { sent, outcomes } = planned([
      written({ author: 'bob', rkey: 'c1', at: 5, under: ROOT }),
      written({ author: 'bob', rkey: 'c1', at: 6, operation: 'delete' }),
      {
        did: didOf('ann'),
        time: BEGIN,
        commit: { rev: tidOf(BEGIN), operation: 'create', collection: 'app.bsky.feed.like', rkey: 'l1', record: {} },
      },
    ])
    expect(sent).toEqual([])
    expect(outcomes).toEqual({ passed: 3 })
  })

  it('takes the thread of a reply that is called a root', () => {
    const { sent } = planned([
      POST,
      written({ author: 'bob', rkey: 'c1', at: 5, under: ROOT }),
      written({ author: 'liar', rkey: 'c2', at: 6, under: addressOf('bob', 'c1') }),
    ])
    expect(sent.at(-1)).toMatchObject({ topic: 'comments', key: ROOT, postId: ROOT, parentId: addressOf('bob', 'c1') })
  })

  it('takes posts in the languages that are asked for, and those that are drawn, with their replies', () => {
    const said = (rkey: string, langs: unknown) => written({ rkey, at: 0, more: { langs } })
    const all = [
      said('a', ['en-GB']),
      said('b', ['pt', 'en']),
      said('c', ['enm']),
      said('d', []),
      said('e', 'en'),
      said('f', undefined),
    ]
    const ids = (langs: string[]) => planned(all, { langs }).sent.map(({ id, lang }) => [String(id).slice(-1), lang])
    expect(ids(['en'])).toEqual([
      ['a', 'en-GB'],
      ['b', 'en'],
    ])
    expect(ids(['und'])).toEqual([
      ['d', 'und'],
      ['e', 'und'],
      ['f', 'und'],
    ])
    const { sent } = planned([POST, written({ author: 'bob', rkey: 'c1', at: 5, under: ROOT })], {
      isDrawn: () => false,
    })
    expect(sent).toEqual([])
  })

  it('shows what readers see: pictures by the CDN, a clip by its first picture, and the words of a link card', () => {
    const blob = (cid: string) => ({ $type: 'blob', ref: { $link: cid }, mimeType: 'image/jpeg', size: 1 })
    const embed = (rkey: string, one: object) => written({ rkey, at: 0, text: rkey, more: { embed: one } })
    const images = {
      $type: 'app.bsky.embed.images',
      images: [{ image: blob('bafkreione'), alt: 'a street' }, { image: blob('../../x'), alt: '' }, null],
    }
    const { sent } = planned([
      embed('images', images),
      embed('both', { $type: 'app.bsky.embed.recordWithMedia', record: { record: { uri: ROOT } }, media: images }),
      embed('clip', { $type: 'app.bsky.embed.video', video: blob('bafkreiclip'), alt: 'waves' }),
      embed('card', {
        $type: 'app.bsky.embed.external',
        external: { uri: 'https://news.example/1', title: 'Bridge closed', description: 'Until May' },
      }),
      embed('quote', { $type: 'app.bsky.embed.record', record: { uri: ROOT, cid: 'x' } }),
    ])
    const did = didOf('ann')
    const street = {
      kind: 'image',
      url: `https://cdn.example/img/feed_fullsize/plain/${did}/bafkreione@jpeg`,
      alt: 'a street',
    }
    expect(sent.map(({ text, media }) => ({ text, media }))).toEqual([
      { text: 'images', media: [street] },
      { text: 'both', media: [street] },
      {
        text: 'clip',
        media: [
          {
            kind: 'video',
            frames: [
              {
                kind: 'image',
                url: `https://video.bsky.app/watch/${encodeURIComponent(did)}/bafkreiclip/thumbnail.jpg`,
                alt: 'waves',
              },
            ],
          },
        ],
      },
      { text: 'card\n\nBridge closed\nUntil May\nhttps://news.example/1', media: undefined },
      { text: 'quote', media: undefined },
    ])
    for (const { topic: _, key: __, ...one } of sent) expect(postMessage.parse(one).odd).toBeUndefined()
    expect(planned([embed('images', images)], { cdn: '' }).sent[0]).not.toHaveProperty('media')
  })

  it('leaves no words standing that an edit took away', () => {
    const { sent } = planned([POST, written({ rkey: 'p1', at: 9, operation: 'update', text: ' '.repeat(0) })])
    expect(sent.at(-1)).toMatchObject({ id: ROOT, text: '[no words]' })
    expect(planned([written({ rkey: 'p2', at: 0, text: '' })]).outcomes).toEqual({ passed: 1 })
  })

  it('has an account erased of which it took something, once it is gone, and no other', () => {
    const { gone, outcomes } = planned([
      POST,
      accountOf('ann', 5, 'deactivated'),
      accountOf('bob', 6, 'deleted'),
      accountOf('ann', 7),
      accountOf('ann', 8, 'deleted'),
    ])
    expect([...gone]).toEqual([didOf('ann')])
    expect(outcomes).toEqual({ post: 1, passed: 3, erasure: 1 })
  })

  it('dates by the revision, no later than it was seen, and no earlier than an hour before', () => {
    const at = (rev: number) => {
      const event = written({ rkey: 'p', at: 0 })
      return planned([{ ...event, commit: { ...event.commit, rev: tidOf(rev) } as RelayedEvent['commit'] & object }])
        .sent[0]?.createdAt
    }
    expect(at(BEGIN - 70_000)).toBe('2026-05-01T09:59:59.930Z')
    expect(at(BEGIN + 9e9)).toBe('2026-05-01T10:00:00.000Z')
    expect(at(0)).toBe('2026-05-01T09:00:00.000Z')
    expect(timeOfRev(tidOf(BEGIN))).toBe(BEGIN / 1_000)
  })
})

describe('what strangers write', () => {
  it('is one outcome each, whatever it is, and never a message that intake refuses', () => {
    const anything = fc.anything({ withNullPrototype: false, maxDepth: 4 })
    const record = fc.record(
      {
        text: fc.oneof(fc.string({ unit: 'binary' }), anything),
        langs: fc.oneof(fc.array(fc.string()), anything),
        reply: anything,
        embed: anything,
      },
      { requiredKeys: [] },
    )
    const address = fc.oneof(fc.constant('p1'), fc.string(), fc.constant('a\u0000b'), fc.constant('x'.repeat(600)))
    fc.assert(
      fc.property(fc.array(fc.tuple(record, address)), (some) => {
        const events = some.map(
          ([one, rkey], at): RelayedEvent => ({
            did: didOf('eve'),
            time: BEGIN + at,
            commit: {
              rev: tidOf(BEGIN + at),
              operation: 'create',
              collection: 'app.bsky.feed.post',
              rkey,
              record: one,
            },
          }),
        )
        const { sent, outcomes } = planned(events)
        expect(Object.values(outcomes).reduce((sum, count) => sum + count, 0)).toBe(events.length)
        expect(namedIn(events.map(bare)).every((name) => typeof name === 'string')).toBe(true)
        for (const one of sent)
          expect((one.topic === 'posts' ? postMessage : commentMessage).safeParse(one).success).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  it.each(
    [
      [
        '',
        '{',
        'null',
        '[]',
        '{"kind":"commit"}',
        '{"$type":"message"}',
        '['.repeat(100_000),
        JSON.stringify({ kind: 'commit', did: 'did:plc:a\u0007', time_us: 1 }),
      ].map((text) => [text.slice(0, 40), text] as const),
    ].flat(),
  )('a frame of %j is invalid', (_, text) => {
    expect(readFrame('v1', text)).toEqual({ kind: 'invalid' })
    expect(readFrame('v2', text)).toEqual({ kind: 'invalid' })
  })

  it.each(['time_us', 'did', 'rev', 'rkey', 'operation'])('an event whose %s is odd is invalid', (field) => {
    for (const odd of [null, {}, -1, 'a b', '', '\u0000', 1e300]) {
      const change = {
        rev: tidOf(BEGIN),
        operation: 'create',
        collection: 'app.bsky.feed.post',
        rkey: 'p',
        record: { text: 'x' },
      }
      const event = {
        did: didOf('eve'),
        time_us: BEGIN,
        kind: 'commit',
        commit: { ...change, ...(field in change ? { [field]: odd } : {}) },
        ...(field in change ? {} : { [field]: odd }),
      }
      expect(readFrame('v1', JSON.stringify(event)), JSON.stringify(odd)).toEqual({ kind: 'invalid' })
    }
  })
})
