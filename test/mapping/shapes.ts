/** A record of a public shape, as its platform would send it. */
export interface ShapeRecord {
  readonly topic: string
  readonly value: unknown
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a platform sends of a post with its replies, by the documents of its shape: written, edited and deleted. */
export interface Shape {
  /** Of its mapping in config/mappings/. */
  readonly name: string
  readonly records: readonly ShapeRecord[]
  /** The post's id, its words after the edit, and the comments that its thread has in the end. */
  readonly post: { readonly id: string; readonly text: string; readonly comments: readonly string[] }
  /** A second post, which was deleted. */
  readonly deleted: string
}

const WORDS = 'The bridge at the mill is closed, they say.'
const EDITED = 'The bridge at the mill is closed until Sunday.'
const REPLY = 'I crossed it an hour ago.'
const GONE = 'Never mind what I said here.'

export const SHAPES: readonly Shape[] = [
  {
    name: 'mastodon',
    records: [
      status('111', WORDS, 'status.created', {
        media_attachments: [
          { id: '5', type: 'image', url: 'https://files.example/5.png', description: 'a bridge' },
          { id: '6', type: 'gifv', url: 'https://files.example/6.mp4' },
        ],
      }),
      status('111', EDITED, 'status.updated', { edited_at: '2026-05-01T10:04:00.000Z' }),
      status('112', GONE, 'status.created', { in_reply_to_id: '111' }),
      status('113', GONE, 'status.created', { visibility: 'direct' }),
      { topic: 'mastodon.events', value: { event: 'status.deleted', object: { id: '112' } } },
    ],
    post: { id: '111', text: EDITED, comments: [] },
    deleted: '112',
  },
  {
    name: 'bluesky',
    records: [
      commit('create', '3k1', { text: WORDS, langs: ['en'] }),
      // Authors write what they like there.
      commit('update', '3k1', { text: EDITED, langs: ['en'], createdAt: 'yesterday' }),
      commit('create', '3k2', { text: REPLY, reply: { root: { uri: uriOf('3k1') }, parent: { uri: uriOf('3k1') } } }),
      commit('create', '3k3', { text: GONE, langs: ['en'] }),
      commit('delete', '3k3'),
      { topic: 'bluesky.jetstream', value: { did: 'did:plc:ana', time_us: 1_777_629_600_000_000, kind: 'identity' } },
    ],
    post: { id: uriOf('3k1'), text: EDITED, comments: [uriOf('3k2')] },
    deleted: uriOf('3k3'),
  },
  {
    name: 'reddit',
    records: [
      submission('1abc', 'Bridge closed?', WORDS),
      submission('1abc', 'Bridge closed?', EDITED),
      redditComment('k1', 't3_1abc', REPLY),
      redditComment('k2', 't1_k1', GONE),
      redditComment('k2', 't1_k1', '[deleted]'),
      submission('1abd', 'Gone', GONE),
      submission('1abd', 'Gone', '[removed]'),
    ],
    post: { id: 't3_1abc', text: `Bridge closed?\n\n${EDITED}`, comments: ['t1_k1'] },
    deleted: 't3_1abd',
  },
  {
    name: 'discourse',
    records: [
      discoursePost('post_created', 40, 1, `<p>${WORDS}</p>`),
      discoursePost('post_edited', 40, 1, `<p>${EDITED}</p>`),
      discoursePost('post_created', 40, 2, `<p>${REPLY}</p>`),
      discoursePost('post_created', 40, 3, `<p>${GONE}</p>`, 2),
      discoursePost('post_destroyed', 40, 3, `<p>${GONE}</p>`, 2),
      discoursePost('post_created', 41, 1, `<p>${GONE}</p>`),
      discoursePost('post_destroyed', 41, 1, `<p>${GONE}</p>`),
    ],
    post: { id: '40', text: `The bridge\n\n${EDITED}`, comments: ['40/2'] },
    deleted: '41',
  },
  {
    name: 'lemmy',
    records: [
      lemmyPost(9, WORDS),
      lemmyPost(9, EDITED),
      lemmyComment(70, '0.70', REPLY),
      lemmyComment(71, '0.70.71', GONE),
      lemmyComment(71, '0.70.71', GONE, true),
      lemmyPost(10, GONE),
      lemmyPost(10, GONE, true),
    ],
    post: { id: 'https://lemmy.example/post/9', text: `The bridge\n\n${EDITED}`, comments: ['70'] },
    deleted: 'https://lemmy.example/post/10',
  },
  {
    name: 'zulip',
    records: [
      zulipMessage(501, WORDS),
      {
        topic: 'zulip.events',
        value: {
          type: 'update_message',
          id: 8,
          message_id: 501,
          user_id: 17,
          stream_id: 3,
          edit_timestamp: 1_777_629_900,
          orig_subject: 'bridge',
          rendered_content: `<p>${EDITED}</p>`,
        },
      },
      zulipMessage(502, GONE),
      // A direct message's edit names no stream.
      {
        topic: 'zulip.events',
        value: {
          type: 'update_message',
          id: 11,
          message_id: 503,
          user_id: 17,
          edit_timestamp: 1_777_629_900,
          rendered_content: `<p>${GONE}</p>`,
        },
      },
      { topic: 'zulip.events', value: { type: 'delete_message', id: 9, message_id: 502, message_type: 'stream' } },
      { topic: 'zulip.events', value: { type: 'heartbeat', id: 10 } },
    ],
    post: { id: '501', text: `bridge\n\n${EDITED}`, comments: [] },
    deleted: '502',
  },
  {
    name: 'debezium',
    records: [
      row('posts', 'c', null, postRow(1, WORDS)),
      row('posts', 'u', postRow(1, WORDS), postRow(1, EDITED)),
      row('comments', 'c', null, commentRow(5, 1, REPLY)),
      row('comments', 'c', null, commentRow(6, 1, GONE)),
      row('comments', 'd', commentRow(6, 1, GONE), null),
      { topic: 'shop.public.comments', key: '{"id":6}', value: null },
      // As the converter writes it that sends its schema along.
      {
        topic: 'shop.public.posts',
        value: { schema: { type: 'struct' }, payload: change('r', null, postRow(2, GONE)) },
      },
      {
        topic: 'shop.public.posts',
        value: { schema: { type: 'struct' }, payload: change('d', postRow(2, GONE), null) },
      },
    ],
    post: { id: '1', text: EDITED, comments: ['5'] },
    deleted: '2',
  },
  {
    name: 'cloudevents',
    records: [
      structured('post.created', { id: 'p1', text: WORDS, author: 'ana', createdAt: '2026-05-01T10:00:00Z' }),
      binary('post.edited', { id: 'p1', text: EDITED, author: 'ana', createdAt: '2026-05-01T10:00:00Z' }),
      binary('comment.created', {
        id: 'c1',
        postId: 'p1',
        text: REPLY,
        author: 'ben',
        createdAt: '2026-05-01T10:01:00Z',
      }),
      structured('comment.created', { id: 'c2', postId: 'p1', text: GONE, createdAt: '2026-05-01T10:02:00Z' }),
      structured('comment.deleted', { id: 'c2', postId: 'p1' }),
      binary('post.created', { id: 'p2', text: GONE, author: 'ana', createdAt: '2026-05-01T10:03:00Z' }),
      binary('post.deleted', { id: 'p2' }),
    ],
    post: { id: 'p1', text: EDITED, comments: ['c1'] },
    deleted: 'p2',
  },
]

function status(id: string, text: string, event: string, more: object = {}): ShapeRecord {
  const account = { id: '7', acct: 'ana', username: 'ana', created_at: '2020-01-01T00:00:00.000Z' }
  const object = {
    id,
    created_at: '2026-05-01T10:00:00.000Z',
    content: `<p>${text}</p>`,
    spoiler_text: '',
    visibility: 'public',
    language: 'en',
    in_reply_to_id: null,
    account,
    media_attachments: [],
    ...more,
  }
  return { topic: 'mastodon.events', value: { event, created_at: '2026-05-01T10:00:01.000Z', object } }
}

function uriOf(rkey: string): string {
  return `at://did:plc:ana/app.bsky.feed.post/${rkey}`
}

function commit(operation: string, rkey: string, record?: object): ShapeRecord {
  const made = record && { $type: 'app.bsky.feed.post', createdAt: '2026-05-01T10:00:00.000Z', ...record }
  const value = {
    did: 'did:plc:ana',
    time_us: 1_777_629_600_000_000,
    kind: 'commit',
    commit: {
      rev: '3k',
      operation,
      collection: 'app.bsky.feed.post',
      rkey,
      ...(made && { record: made, cid: 'bafy' }),
    },
  }
  return { topic: 'bluesky.jetstream', value, key: 'did:plc:ana' }
}

function submission(id: string, title: string, selftext: string): ShapeRecord {
  const value = { id, title, selftext, author: 'ana', author_fullname: 't2_a', created_utc: 1_777_629_600, score: 4 }
  return { topic: 'reddit.submissions', value }
}

function redditComment(id: string, parent: string, body: string): ShapeRecord {
  const value = { id, link_id: 't3_1abc', parent_id: parent, body, author: 'ben', created_utc: '1777629660' }
  return { topic: 'reddit.comments', value }
}

function discoursePost(event: string, topicId: number, number: number, cooked: string, replyTo?: number): ShapeRecord {
  const post = {
    id: topicId * 10 + number,
    topic_id: topicId,
    post_number: number,
    reply_to_post_number: replyTo ?? null,
    topic_title: 'The bridge',
    cooked,
    raw: cooked,
    username: 'ana',
    created_at: '2026-05-01T10:00:00.000Z',
  }
  return { topic: 'discourse.posts', value: { post }, headers: { 'x-discourse-event': event } }
}

function lemmyPost(id: number, body: string, deleted = false): ShapeRecord {
  const post = {
    id,
    name: 'The bridge',
    body,
    ap_id: `https://lemmy.example/post/${id}`,
    published: '2026-05-01T10:00:00.123456Z',
    deleted,
    removed: false,
  }
  return { topic: 'lemmy.views', value: { post_view: { post, creator: { actor_id: 'https://lemmy.example/u/ana' } } } }
}

function lemmyComment(id: number, path: string, content: string, deleted = false): ShapeRecord {
  // Before its release 0.19 times had no offset.
  const comment = { id, post_id: 9, path, content, published: '2026-05-01T10:01:00.5', deleted, removed: false }
  const post = { id: 9, ap_id: 'https://lemmy.example/post/9' }
  const creator = { actor_id: 'https://lemmy.example/u/ben' }
  return { topic: 'lemmy.views', value: { comment_view: { comment, post, creator } } }
}

function zulipMessage(id: number, text: string): ShapeRecord {
  const message = {
    id,
    type: 'stream',
    sender_id: 17,
    sender_full_name: 'Ana',
    display_recipient: 'general',
    stream_id: 3,
    subject: 'bridge',
    content: `<p>${text}</p>`,
    content_type: 'text/html',
    timestamp: 1_777_629_600,
  }
  return { topic: 'zulip.events', value: { type: 'message', id: 7, message } }
}

function postRow(id: number, body: string) {
  return { id, body, user_id: 3, created_at: 1_777_629_600_000_000 }
}

function commentRow(id: number, postId: number, body: string) {
  return { ...postRow(id, body), post_id: postId }
}

function change(op: string, before: object | null, after: object | null) {
  return { before, after, source: { connector: 'postgresql', table: 'posts' }, op, ts_ms: 1_777_629_600_123 }
}

function row(table: string, op: string, before: object | null, after: object | null): ShapeRecord {
  return { topic: `shop.public.${table}`, value: change(op, before, after), key: '{"id":1}' }
}

function structured(type: string, data: object): ShapeRecord {
  const event = {
    specversion: '1.0',
    id: 'e1',
    source: '/forum',
    type: `com.example.${type}`,
    time: '2026-05-01T10:05:00Z',
  }
  return {
    topic: 'forum.events',
    value: { ...event, datacontenttype: 'application/json', data },
    headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
  }
}

function binary(type: string, data: object): ShapeRecord {
  const attributes = { ce_specversion: '1.0', ce_id: 'e2', ce_source: '/forum', ce_time: '2026-05-01T10:05:00Z' }
  return {
    topic: 'forum.events',
    value: data,
    headers: { ...attributes, ce_type: `com.example.${type}`, 'content-type': 'application/json' },
  }
}
