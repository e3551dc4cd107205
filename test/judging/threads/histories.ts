import fc from 'fast-check'
import { PROTOCOLS, type Protocol, type Step } from './history-steps.ts'

// Random histories of a few threads, as data. Ids, texts and times come from small sets, so that messages come again, come out
// of order and meet each other.

/** Most happens to one thread, and to one protocol's cases of it. */
const thread = fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3)
const protocol = fc.constantFrom<Protocol>('rumor', 'rumor', 'rumor', 'hate')
const protocols = fc.subarray([...PROTOCOLS])
const none = fc.constant<Protocol[]>([])
const sometimes = (once: number) => fc.nat({ max: once - 1 }).map((n) => n === 0)
/** Small offsets come again and out of order, of topics that may be made anew; an earlier version did not say of which. */
const place = fc.option(
  fc.record({
    topic: fc.constantFrom(null, 'posts', 'posts', 'feed-2'),
    partition: fc.constantFrom(3, 3, 3, 4),
    offset: fc.nat({ max: 40 }),
    anew: sometimes(8),
  }),
  {
    nil: null,
    freq: 2,
  },
)
const room = fc.constantFrom(null, null, null, -500, 0, 300, 1_500, 4_000)
const change = fc.record({
  deleted: sometimes(4),
  id: fc.nat({ max: 23 }),
  text: fc.nat({ max: 2 }),
  author: fc.constantFrom(null, 'x', 'x', 'x\u200b', 'y', 'z'),
  time: fc.constantFrom('early', 'early', 'early', 'edge', 'beyond'),
  place,
})

const steps: { arbitrary: fc.Arbitrary<Step>; weight: number }[] = [
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('post'),
      thread,
      text: fc.nat({ max: 3 }),
      reach: fc.nat({ max: 2 }),
      routing: fc.constantFrom('threaded', 'threaded', 'threaded', 'both', 'alone', 'nobody'),
      place,
      room,
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant('comments'),
      thread,
      changes: fc.array(change, { minLength: 1, maxLength: 10 }),
      room,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('reach'), thread, reach: fc.nat({ max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('order due'), hold: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flood'), thread, deleted: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete'), thread, room }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('expire'), thread }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('new key') }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('open'),
      thread,
      stale: sometimes(2),
      cases: fc.oneof(fc.constant<Protocol[]>(['rumor']), protocols),
      waiting: fc.oneof(none, none, protocols),
      dormant: fc.oneof(none, none, protocols),
      absent: fc.oneof(none, none, protocols),
      next: fc.boolean(),
      final: sometimes(3),
    }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('judge'), thread, protocol, final: sometimes(2) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('decide'),
      thread,
      protocol,
      label: fc.nat({ max: 1 }),
      withdraw: sometimes(3),
      wrong: sometimes(5),
      force: sometimes(5),
      opinion: sometimes(8),
      repeated: sometimes(8),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take'), thread, protocol }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('answer'),
      thread,
      protocol,
      key: fc.nat({ max: 2 }),
      text: fc.nat({ max: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose'), thread, protocol, call: fc.nat({ max: 2 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('conclude'),
      thread,
      protocol,
      carry: fc.boolean(),
      again: sometimes(4),
      fenced: sometimes(5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart'), thread, protocol, fenced: sometimes(3) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('restart unpublished'),
      thread,
      protocol,
      changed: sometimes(4),
      unseen: sometimes(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('erase left'), thread, known: fc.boolean(), keep: fc.boolean() }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hand out'), publisher: fc.constantFrom('one', 'two') }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('done'),
      which: fc.nat({ max: 5 }),
      all: sometimes(3),
      forget: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('adopt'), publisher: fc.constantFrom('one', 'two') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause'), protocol }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resume'), protocol }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wake'), protocol }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('link'), thread, reply: fc.nat({ max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('part'), worked: protocols }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('due'),
      limit: fc.integer({ min: 1, max: 4 }),
      maxOpen: fc.integer({ min: 1, max: 6 }),
    }),
  },
]

/** Every step can become none, so that a history that fails shrinks to the steps that matter, and has a fixed number of them. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { withCrossShrink: true },
  { arbitrary: fc.record({ do: fc.constant('nothing') }), weight: 1 },
  ...steps,
)

export const rulesOf = fc.record({
  maxComments: fc.constantFrom(1, 2, 5, 100),
  maxPerAuthor: fc.constantFrom(null, 1, 2, 3),
  maxUnnamed: fc.constantFrom(null, 1, 3),
  counts: fc.constantFrom([], [2, 4], [1, 3, 6]),
  reopen: fc.boolean(),
  /** Few ranks, so that some are equal. */
  ranks: fc.constantFrom(5, 2 ** 48),
})

export const history = (length: number): fc.Arbitrary<Step[]> =>
  fc.array(step, { minLength: length, maxLength: length })
