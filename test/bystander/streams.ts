import { randomBytes } from 'node:crypto'
import { T0 } from '../contracts/samples.ts'

/** Messages of one topic that arrive together. */
export interface Arriving {
  readonly topic: 'posts' | 'comments' | 'counterspeech'
  readonly values: readonly { readonly id: string; readonly [field: string]: unknown }[]
}

/** A worst case of messages that each are as they should be: `make` gives what arrives, step by step, of so many of them. */
export interface WorstStream {
  readonly name: string
  readonly protocol: 'rumor' | 'counterspeech' | 'safety'
  readonly make: (messages: number) => readonly Arriving[]
  /** As many bytes of as many accounts that mean no harm, where the bytes alone take their time to be read and written. */
  readonly ordinary?: (messages: number) => readonly Arriving[]
  /** Most calls to models, for so many messages. */
  readonly most: (messages: number) => number
}

const at = (ms: number) => new Date(T0 + ms).toISOString()
const POST = { id: 'p', text: 'The bridge has fallen.', author: 'op', createdAt: at(0) }
const posts = (...values: Arriving['values']): Arriving => ({ topic: 'posts', values })
const comments = (...values: Arriving['values']): Arriving => ({ topic: 'comments', values })
const comment = (nth: number, author: string, change: object = {}) => ({
  id: `c${nth}`,
  postId: 'p',
  text: `I saw number ${nth} of it myself.`,
  author,
  createdAt: at(1_000 + nth),
  ...change,
})
const gone = (nth: number) => ({ id: `c${nth}`, postId: 'p', text: '', createdAt: at(1_000 + nth), deleted: true })
const times = <Made>(count: number, make: (nth: number) => Made) => Array.from({ length: count }, (_, nth) => make(nth))
const pictured = (nth: number, pixels: string) => ({
  ...POST,
  id: `p${nth}`,
  media: [{ kind: 'image', url: `data:image/png;base64,iVBORw0KGgo${String(nth).padStart(9, 'A')}${pixels}` }],
})
/** Of one debate with its judge, and what is asked beside it. */
const DEBATE = 9

export const STREAMS: readonly WorstStream[] = [
  {
    name: 'an account that comments and takes back its comment before',
    protocol: 'rumor',
    make: (messages) => [
      posts(POST),
      comments(...times(10, (nth) => comment(10_000 + nth, `other ${nth}`))),
      ...times(Math.floor(messages / 2), (nth) =>
        comments(comment(nth, 'mallory'), ...(nth === 0 ? [] : [gone(nth - 1)])),
      ),
    ],
    most: (messages) => DEBATE + 2 * messages,
  },
  {
    name: 'a thread of which one comment after the other is taken back',
    protocol: 'rumor',
    make: (messages) => [
      posts(POST),
      comments(...times(messages + 10, (nth) => comment(nth, `account ${nth}`))),
      ...times(messages, (nth) => comments(gone(nth))),
    ],
    most: (messages) => DEBATE + 3 * messages,
  },
  {
    name: 'edits of one comment',
    protocol: 'rumor',
    make: (messages) => [
      posts(POST),
      comments(...times(10, (nth) => comment(nth, `other ${nth}`))),
      ...times(messages, (nth) => comments(comment(0, 'other 0', { text: `Edited for the time ${nth}.` }))),
    ],
    most: (messages) => DEBATE + 5 * messages,
  },
  {
    name: 'edits of one post',
    protocol: 'safety',
    make: (messages) => times(messages, (nth) => posts({ ...POST, text: `Edited for the time ${nth}.` })),
    most: (messages) => 6 * messages,
  },
  {
    name: 'replies to one text of hate',
    protocol: 'counterspeech',
    make: (messages) => [
      {
        topic: 'counterspeech',
        values: times(messages, (nth) => ({
          id: `r${nth}`,
          postId: 'p',
          hateSpeech: 'They should all go.',
          text: `Number ${nth} says that nobody should.`,
          createdAt: at(nth),
        })),
      },
    ],
    most: (messages) => 4 * messages,
  },
  {
    name: 'images of one account at hosts that are silent',
    protocol: 'safety',
    make: (messages) => [
      posts(
        ...times(Math.ceil(messages / 10), (nth) => ({
          ...POST,
          id: `p${nth}`,
          media: times(64, (image) => ({ kind: 'image', url: `https://${nth}-${image}.silent.example/` })),
        })),
      ),
    ],
    most: (messages) => messages,
  },
  {
    name: 'posts of one account with an image of most of a megabyte in their address',
    protocol: 'safety',
    make: (messages) => [posts(...times(Math.ceil(messages / 2), (nth) => pictured(nth, 'A'.repeat(900_000))))],
    ordinary: (messages) => [
      posts(
        ...times(Math.ceil(messages / 2), (nth) => ({
          ...pictured(nth, randomBytes(675_000).toString('base64')),
          author: `op ${nth}`,
        })),
      ),
    ],
    most: (messages) => 6 * messages,
  },
]
