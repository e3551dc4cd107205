import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { judgeFile } from '../../../src/app/commands/judge.ts'
import { type Verdict, verdict } from '../../../src/contracts/facts/verdict.ts'
import { EVERY_DEBATE } from '../../protocols/drive.ts'
import { type Misbehaviour, startMisbehaving } from '../../support/misbehaving.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { png } from '../../support/pictures.ts'

// Public reports of tools of this kind, as small inputs of our own: each kind with its right outcome.

const folder = ownFolder('judge-reports')
const NORMAL: Misbehaviour = () => null
let files = 0

/** Judges these lines against a model server that misbehaves; resolves to the last verdict by subject. */
/** Every question is asked. */
const debating = ({ protocols }: ReturnType<typeof loadSettings>) => ({
  protocols: Object.fromEntries(
    Object.entries(protocols).map(([name, own]) => [name, { ...own, ...EVERY_DEBATE[name] }]),
  ),
})

async function judged(
  protocol: string,
  lines: readonly object[],
  misbehave: Misbehaviour = NORMAL,
  change: (settings: ReturnType<typeof loadSettings>) => object = () => ({}),
  out: string[] = [],
) {
  const server = await startMisbehaving(misbehave)
  onTestFinished(() => server.close())
  const loaded = loadSettings(server.settings)
  const own = { ...loaded, stages: { default: { concurrency: 16, attempts: 2, backoff: 1 } } } as typeof loaded
  const settings = { ...own, ...change(own) } as typeof loaded
  const file = join(folder, `${++files}.jsonl`)
  // As text, so that a number keeps its digits.
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line).replace(/"RAW:(\d+)"/g, '$1')}\n`).join(''))
  const said: string[] = []
  const terminal = {
    out: (line: unknown) => void out.push(String(line)),
    say: (line: unknown) => void said.push(String(line)),
    progress: () => {},
  }
  await judgeFile(
    settings,
    file,
    { protocol, format: 'gavel', finalAge: Number.POSITIVE_INFINITY, transcript: false, json: true },
    { terminal, signal: AbortSignal.timeout(60_000) },
  )
  const verdicts = out.map((line) => verdict.parse(JSON.parse(line)))
  return { verdicts: new Map(verdicts.map((one) => [one.subjectId, one])), said, asked: server.asked }
}

const under =
  (protocol: string, over: object) =>
  ({ protocols }: ReturnType<typeof loadSettings>) => ({
    protocols: { ...protocols, [protocol]: { ...protocols[protocol as 'hate'], ...over } },
  })
const chain = ({ models }: ReturnType<typeof loadSettings>, over: object = {}) => ({
  models: { ...models, roles: { default: ['small', 'large'] }, ...over },
})

const TIME = '2025-01-01T12:00:00Z'
const post = (id: string, change: object = {}) => ({
  type: 'post',
  id,
  text: `about ${id}`,
  createdAt: TIME,
  ...change,
})
const comment = (id: string, postId: string, change: object = {}) => ({
  type: 'comment',
  id,
  postId,
  text: `comment ${id} on it`,
  createdAt: '2025-01-01T12:05:00Z',
  ...change,
})
const HATE = 'Lowtiders are vermin, drive them out of every street'
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const asPng = (width: number, height: number) => `data:image/png;base64,${png(width, height).toString('base64')}`
const image = (url = PIXEL, change: object = {}) => ({ kind: 'image', url, ...change })

const azure = (category: string, severity: string) => ({
  status: 400,
  body: {
    error: {
      message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { [category]: { filtered: true, severity } },
      },
    },
  },
})
const refusedInWords = (message: string) => ({ status: 400, body: { error: { message, code: '400' } } })
const noChoices = { status: 200, body: { id: 'x', object: 'chat.completion', model: 'g', choices: [] } }

describe('an image that nobody looked at is never safe', () => {
  const HARMLESS = 'our street this morning'
  const ways: [string, object, Misbehaviour][] = [
    ['refused by a filter', { media: [image()] }, ({ hasImage }) => (hasImage ? azure('sexual', 'high') : null)],
    [
      'refused by the model',
      { media: [image()] },
      ({ hasImage }) =>
        hasImage
          ? ({ choices: [first] }) => Object.assign(first?.message ?? {}, { content: null, refusal: "I can't help." })
          : null,
    ],
    [
      'answered in prose',
      { media: [image()] },
      ({ hasImage }) =>
        hasImage
          ? ({ choices: [first] }) => Object.assign(first?.message ?? {}, { content: 'A lovely street.' })
          : null,
    ],
    [
      'said not to be seen',
      { media: [image()] },
      ({ hasImage }) =>
        hasImage
          ? ({ choices: [first] }) =>
              Object.assign(first?.message ?? {}, { content: '{"seen":"no","description":"I cannot view images."}' })
          : null,
    ],
    [
      'not taken by the server',
      { media: [image()] },
      ({ hasImage }) =>
        hasImage
          ? { status: 404, body: { error: { code: '404', message: 'No endpoints found that support image input' } } }
          : null,
    ],
    ['in another format', { media: [image('data:image/heic;base64,AAAAGGZ0eXBoZWlj')] }, NORMAL],
    ['AVIF', { media: [image('data:image/avif;base64,AAAAGGZ0eXBhdmlm')] }, NORMAL],
    ['of more pixels than its model’s server may have to hold', { media: [image(asPng(65_535, 65_535))] }, NORMAL],
    ['on a host that is gone', { media: [image('https://no.such.host.invalid/x.png')] }, NORMAL],
    ['the ninth of nine', { media: Array.from({ length: 9 }, () => image()) }, NORMAL],
    ['the seventeenth', { media: Array.from({ length: 17 }, () => image()) }, NORMAL],
    ['known by its author’s words alone', { media: [{ kind: 'image', alt: 'a street' }] }, NORMAL],
    ['a video', { media: [{ kind: 'video', url: 'https://cdn.example/a.mp4' }] }, NORMAL],
    ['at an http address', { media: [image('http://cdn.example/a.png')] }, NORMAL],
    ['in a field that is no list', { media: image() }, NORMAL],
  ]

  test.each(ways)('that is %s', async (_, change, misbehave) => {
    const text = { text: HARMLESS, ...change }
    const { verdicts } = await judged(
      'safety',
      [post('words', text), post('alone', { ...text, text: undefined })],
      misbehave,
    )
    expect(verdicts.get('words')).toMatchObject({ label: null, decidedBy: 'none' })
    expect(verdicts.get('words')?.degraded.at(-1)).toMatch(/^no label: what was seen looks safe, but not all of it was/)
    expect(verdicts.get('alone')?.label ?? null).toBeNull()
  })

  test('but one that was seen is, and one beside a threat is unsafe all the same', async () => {
    const filter: Misbehaviour = ({ hasImage }) => (hasImage ? azure('sexual', 'high') : null)
    const seen = await judged('safety', [post('p', { text: HARMLESS, media: [image()] })])
    expect(seen.verdicts.get('p')?.label).toBe('safe')
    const threat = 'I will kill you with this bomb, kill you all, burn and stab them, poison and shoot them'
    const { verdicts } = await judged('safety', [post('p', { text: threat, media: [image()] })], filter)
    expect(verdicts.get('p')).toMatchObject({
      label: 'unsafe',
      filtered: [{ stage: 'describe', calls: 1, found: [{ category: 'sexual', severity: 'high' }] }],
    })
  })

  test('but where the settings say so, as under `paper`, it is judged by what was seen', async () => {
    for (const over of [{ unseen: 'judged' }, { preset: 'paper' }]) {
      const lines = [post('p', { text: HARMLESS, media: [image('data:image/heic;base64,AAAAGGZ0eXBoZWlj')] })]
      const { verdicts } = await judged('safety', lines, NORMAL, under('safety', over))
      expect(verdicts.get('p')?.label).toBe('safe')
    }
  })
})

describe('a filter is evidence', () => {
  const filters: [string, ReturnType<Misbehaviour>, object[]][] = [
    ['with an error code', azure('hate', 'high'), [{ category: 'hate', severity: 'high' }]],
    ['in a proxy’s words', refusedInWords('litellm.ContentPolicyViolationError: AzureException'), []],
    ['in words alone', refusedInWords('Content Exists Risk'), []],
    ['without choices', noChoices, []],
    [
      'without a message',
      { status: 200, body: { object: 'chat.completion', choices: [{ finish_reason: 'stop', message: null }] } },
      [],
    ],
    [
      'by a finish reason',
      {
        status: 200,
        body: {
          object: 'chat.completion',
          choices: [{ finish_reason: 'PROHIBITED_CONTENT', message: { content: '' } }],
        },
      },
      [],
    ],
    [
      'by a moderation’s flag',
      { status: 403, body: { error: { code: 403, message: 'flagged', metadata: { reasons: ['violence'] } } } },
      [{ category: 'violence' }],
    ],
  ]
  const flagged =
    (
      response: ReturnType<Misbehaviour>,
      of: (question: { text: string; model: string }) => boolean = () => true,
    ): Misbehaviour =>
    (question) =>
      question.text.includes('FLAGGED') && of(question) ? response : null

  test.each(filters)(
    'and no outage, %s: the verdict names it, innocent posts are judged, the breaker stays closed',
    async (_, response, found) => {
      const posts = Array.from({ length: 40 }, (_, at) =>
        post(`p${at}`, { text: at % 2 === 0 ? `FLAGGED ${at}` : `ferry ${at}` }),
      )
      const { verdicts, asked } = await judged(
        'hate',
        posts,
        flagged(response),
        under('hate', { debateWhen: 'contested', perspectives: ['kold'], show: 'criteria' }),
      )
      for (const [id, one] of verdicts) {
        const isFlagged = Number(id.slice(1)) % 2 === 0
        expect(one.label).toBe(isFlagged ? null : 'non-hate')
        if (!isFlagged) expect(one.filtered).toBeUndefined()
        else expect(one.filtered?.[0]).toMatchObject({ stage: 'perspective', found })
      }
      // Nothing is asked twice: a filter refuses the same again.
      expect(new Set(asked.map(({ text }) => text)).size).toBe(asked.length)
    },
  )

  test.each(filters)('and the next model is asked only where the settings say so: %s', async (_, response) => {
    const misbehave = flagged(response, ({ model }) => model === 'small')
    const lines = [post('p', { text: `FLAGGED. ${HATE}` })]
    const stop = await judged('hate', lines, misbehave, (settings) => chain(settings))
    expect(stop.verdicts.get('p')?.label).toBeNull()
    expect(stop.asked.some(({ model }) => model === 'large')).toBe(false)
    const next = await judged('hate', lines, misbehave, (settings) => chain(settings, { onFiltered: 'next' }))
    expect(next.verdicts.get('p')?.label).toBe('hate')
    expect(next.verdicts.get('p')?.filtered?.every(({ model }) => model === 'small')).toBe(true)
  })

  test('and withholds a benign label, whichever question it refused', async () => {
    const stages = {
      hate: ['perspective', 'debate', 'judge'],
      safety: ['brief', 'strict', 'loose', 'arbitrate'],
    } as const
    for (const [protocol, names] of Object.entries(stages))
      for (const stage of names) {
        const misbehave: Misbehaviour = ({ text }) =>
          text.includes(`Answer format (${stage})`) ? azure('violence', 'low') : null
        const { verdicts } = await judged(protocol, [post('p', { text: 'Bring soup tonight' })], misbehave, debating)
        expect(verdicts.get('p')).toMatchObject({ label: null, filtered: [{ stage }] })
      }
  })
})

describe('a question that is too long for one model goes to the next', () => {
  test.each([
    ["This model's maximum context length is 512 tokens."],
    ['Trying to keep the first 6547 tokens. However, the model is loaded with a context length of only 4096 tokens'],
    ['prompt is too long: 210000 tokens > 200000 maximum'],
    ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length'],
    ['Input is too long for requested model.'],
    ['Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096'],
    ['The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).'],
  ])('%s', async (message) => {
    const small: Misbehaviour = ({ model }) =>
      model === 'small' ? { status: 400, body: { error: { message } } } : null
    const { verdicts } = await judged('hate', [post('p', { text: HATE })], small, (settings) => chain(settings))
    expect(verdicts.get('p')?.label).toBe('hate')
  })
})

describe('one odd field lets nobody escape', () => {
  test.each<[string, object, RegExp | null]>([
    ['a long display name', { author: `${'Z\u0335'.repeat(300)}` }, /^author: longer than 512 bytes/],
    [
      'seventeen images',
      { media: Array.from({ length: 17 }, () => image()) },
      /^media: 1 beyond the first 16 left out/,
    ],
    ['a video', { media: [{ kind: 'video', url: 'https://cdn.example/a.mp4' }] }, /^media\.0\.transcript: /],
    ['a gif', { media: [{ kind: 'gifv', url: 'https://cdn.example/a.mp4' }] }, /^media\.0: not an image/],
    ['an http image', { media: [image('http://cdn.example/a.png')] }, /^media\.0\.url: neither an https/],
    ['a relative image', { media: [image('/system/1.png')] }, /^media\.0\.url: neither an https/],
    ['media that is no list', { media: image() }, /^media: not a list/],
    ['a list of languages', { lang: ['en', 'de'] }, /^lang: not a text/],
    ['a long language', { lang: 'x'.repeat(40) }, /^lang: longer than 35/],
    ['a date for a time', { authorSince: '2019-05-01' }, /^authorSince: not a time/],
    ['an author that is an object', { author: { name: 'ben' } }, /^author: not a text/],
    [
      'a field a thousand levels deep',
      { lang: JSON.parse(`${'['.repeat(1_100)}${']'.repeat(1_100)}`) as unknown },
      /^lang: not a text/,
    ],
    [
      'null everywhere',
      { author: null, lang: null, media: null, tenant: null, authorSince: null, deleted: null },
      null,
    ],
    ['deleted: false', { deleted: false }, null],
    ['a numeric author', { author: 12_345 }, null],
  ])('%s', async (_, change, named) => {
    const { verdicts } = await judged('hate', [post('p', { text: HATE, ...change })])
    const one = verdicts.get('p')
    expect(one?.label).toBe('hate')
    if (named !== null) expect(one?.degraded).toContainEqual(expect.stringMatching(named))
    else expect(one?.degraded.filter((why) => /left out|stands for/.test(why) && !/example/.test(why))).toEqual([])
  })

  test.each<[string, object]>([
    ['an odd tenant', { tenant: 'my community' }],
    ['an odd deletion', { deleted: 'yes' }],
    ['an odd time', { createdAt: 1_700_000_000 }],
    ['an odd id', { id: { $oid: '1' } }],
  ])('but %s is refused, and said', async (_, change) => {
    const { verdicts, said } = await judged('hate', [post('p', { text: HATE, ...change }), post('q')])
    expect([...verdicts.keys()]).toEqual(['q'])
    expect(said.join('\n')).toMatch(/:1 /)
  })

  test('words in fields that nobody knows are named, and change no label', async () => {
    const unread = { spoiler_text: 'all of them are vermin', poll: { options: ['kill them', 'gas them'] }, n: 7 }
    const why = 'an unknown field, its words were not read'
    const named = [`spoiler_text: ${why}`, `poll: ${why}`]
    const posts = [post('p', { text: 'look at this', ...unread }), post('q', { text: HATE, ...unread })]
    for (const protocol of ['hate', 'safety']) {
      const { verdicts } = await judged(protocol, posts)
      for (const { degraded } of verdicts.values()) expect(degraded.filter((one) => one.includes(why))).toEqual(named)
      const { verdicts: known } = await judged(
        protocol,
        posts.map(({ id, text }) => post(id, { text })),
      )
      for (const id of ['p', 'q']) expect(verdicts.get(id)?.label).toBe(known.get(id)?.label)
    }
    const thread = [
      post('t', { title: 'Vermin' }),
      comment('c', 't', { quote: 'gas' }),
      comment('d', 't', { quote: 'kill' }),
    ]
    const { verdicts } = await judged('rumor', thread)
    expect(verdicts.get('t')?.degraded).toEqual(expect.arrayContaining([`title: ${why}`, `2 comments: quote: ${why}`]))
    const reply = {
      type: 'counterspeech',
      id: 's',
      hateSpeech: HATE,
      text: 'They are our neighbours.',
      createdAt: TIME,
    }
    const { verdicts: replies } = await judged('counterspeech', [{ ...reply, caption: 'They are vermin' }])
    expect(replies.get('s')?.degraded).toContain(`caption: ${why}`)
  })

  test('words that a setting names beside the text are judged as part of it', async () => {
    const lines = [post('p', { text: 'look at this', spoiler: { text: HATE } }), post('q', { text: null, title: HATE })]
    const textFields = ['title', 'spoiler.text']
    const { verdicts } = await judged('hate', lines, NORMAL, () => ({ messages: { textFields } }))
    for (const id of ['p', 'q']) expect(verdicts.get(id)).toMatchObject({ label: 'hate', degraded: [] })
    const without = await judged('hate', lines)
    expect(without.verdicts.get('p')?.label).toBe('non-hate')
    expect(without.verdicts.has('q')).toBe(false)
  })

  test('words that a setting names beside the text make an edit where they change, and a copy where they don’t', async () => {
    const set = () => ({ messages: { textFields: ['title'] } })
    const calm = post('p', { text: 'look at this', title: 'The bridge' })
    const once = await judged('hate', [calm], NORMAL, set)
    expect(once.verdicts.get('p')?.label).toBe('non-hate')
    const copied = await judged('hate', [calm, { ...calm, createdAt: '2025-01-01T13:00:00+01:00' }], NORMAL, set)
    expect([copied.verdicts.get('p')?.label, copied.asked]).toEqual(['non-hate', once.asked])
    const edited = await judged('hate', [calm, { ...calm, title: HATE }], NORMAL, set)
    expect(edited.verdicts.get('p')).toMatchObject({ label: 'hate', degraded: [] })
    // Without the setting nothing of it differs.
    const unset = await judged('hate', [calm, { ...calm, title: HATE }])
    expect(unset.verdicts.get('p')?.label).toBe('non-hate')
  })

  test('numeric ids are read as they are written, beyond what a double holds', async () => {
    const lines = [
      post('RAW:267081518403440641', { text: 'the bridge is down' }),
      comment('RAW:267081518403440642', 'RAW:267081518403440641', { text: 'fake, it stands' }),
      comment('RAW:267081518403440643', 'RAW:267081518403440641', { text: 'true, I saw it' }),
      post('RAW:267081518403440644', { text: 'the bridge stands' }),
    ]
    const { verdicts } = await judged('rumor', lines)
    expect([...verdicts.keys()].sort()).toEqual(['267081518403440641', '267081518403440644'])
    expect(verdicts.get('267081518403440641')?.counts).toMatchObject({ accepted: 2 })
  })
})

describe('one hostile comment takes no thread its verdict', () => {
  const thread = [
    post('p', { text: 'the bridge is down' }),
    ...Array.from({ length: 30 }, (_, at) =>
      comment(`c${at}`, 'p', {
        author: `a${at}`,
        text: at % 2 === 0 ? `fake, it stands ${'ab'[at % 2]}${at}` : `true, I saw it ${at}`,
      }),
    ),
    ...Array.from({ length: 10 }, (_, at) =>
      comment(`x${at}`, 'p', { author: 'x', text: `HOSTILE ${at} ${'w'.repeat(at)}` }),
    ),
  ]
  test.each<[string, ReturnType<Misbehaviour>]>([
    ['a filter with a code', azure('hate', 'high')],
    ['a filter without a code', refusedInWords('Content Exists Risk')],
    ['a server that fails at it', { status: 500, body: { error: { message: 'Internal error' } } }],
    ['a context that is too small for it', refusedInWords("This model's maximum context length is 512 tokens.")],
    ['an answer without choices', noChoices],
  ])('with %s', async (_, response) => {
    const { verdicts, asked } = await judged('rumor', thread, ({ text }) =>
      text.includes('HOSTILE') ? response : null,
    )
    const one = verdicts.get('p') as Verdict
    expect(one.label).not.toBeNull()
    expect(one.counts.judged).toBe(30)
    expect(one.counts.leftOut.unscored).toBe(10)
    expect(asked.length).toBeLessThan(150)
  })
})

describe('who counts in a thread', () => {
  const says = (id: string, author: string | undefined, at: number) =>
    comment(id, 'p', {
      text: `I am on the bridge, it stands, this is fake number ${at}`,
      ...(author === undefined ? {} : { author }),
    })

  test.each([
    ['[deleted]'],
    ['  [Deleted] '],
    ['ghost'],
    ['Удалённый аккаунт'],
    ['已注销用户'],
    [''],
    [undefined],
    ['\u200b'],
    ['\u202e[dele\u00adted]'],
  ])('thirty people who are all called %j are not one, and share a cap', async (author) => {
    const nobody = Array.from({ length: 30 }, (_, at) => says(`d${at}`, author, at))
    const named = ['ann', 'ben', 'eve'].map((name, at) => says(name, name, 100 + at))
    const { verdicts } = await judged('rumor', [post('p', { text: 'the bridge is down' }), ...nobody, ...named])
    const one = verdicts.get('p')
    expect(one?.counts).toMatchObject({ judged: 23, leftOut: { author: 10 } })
    expect(one?.evidence.oppose).toHaveLength(20)
    expect(one?.degraded).toContain('30 comments without an author: at most 20 weighed')
  })

  test('and nobody gains by an odd name: it is one author, whatever it is', async () => {
    const odd = Array.from({ length: 10 }, (_, at) => ({ ...says(`o${at}`, undefined, at), author: { is: 'me' } }))
    const long = Array.from({ length: 10 }, (_, at) => says(`l${at}`, 'x'.repeat(600), 50 + at))
    const { verdicts } = await judged('rumor', [post('p', { text: 'the bridge is down' }), ...odd, ...long])
    expect(verdicts.get('p')?.counts).toMatchObject({ judged: 6, leftOut: { author: 14 } })
  })
})

describe('before an endpoint that can’t answer', () => {
  const body = (message: string, code: string | null = null) => ({ error: { message, code } })
  test.each<[string, ReturnType<Misbehaviour>, RegExp]>([
    [
      'a wrong key',
      { status: 401, body: body('Incorrect API key provided.', 'invalid_api_key') },
      /401 \(invalid_api_key\): the key is not accepted.*OPENAI_API_KEY/,
    ],
    [
      'a wrong key, as Gemini says it',
      { status: 400, body: [body('API key not valid. Please pass a valid API key.')] },
      /the key is not accepted/,
    ],
    [
      'no quota',
      { status: 429, body: body('You exceeded your current quota.', 'insufficient_quota') },
      /429 \(insufficient_quota\): the account has no quota/,
    ],
    ['no credit', { status: 402, body: body('Insufficient Balance') }, /402: the account has no quota or credit/],
    [
      'a model that isn’t there',
      { status: 404, body: body('The model `x` does not exist.', 'model_not_found') },
      /there is no such model.*models\.roles/,
    ],
    [
      'a page of HTML',
      { status: 404, body: '<html><body>Not found</body></html>' },
      /404: there is no such model, or no such address.*OPENAI_BASE_URL/,
    ],
    [
      'another address',
      { status: 308, body: '' },
      /308: it sends to another address, which is not followed.*OPENAI_BASE_URL/,
    ],
    ['HTML with a good status', { status: 200, body: '<html></html>' }, /does not answer: .*OPENAI_BASE_URL/],
  ])('it ends within ten seconds with one line: %s', async (_, response, line) => {
    const posts = Array.from({ length: 30 }, (_, at) => post(`p${at}`))
    const started = Date.now()
    await expect(
      judged(
        'hate',
        posts,
        () => response,
        ({ stages }) => ({ stages: { ...stages, default: { concurrency: 16, attempts: 5, backoff: 500 } } }),
      ),
    ).rejects.toThrow(line)
    expect(Date.now() - started).toBeLessThan(10_000)
  })

  test('it ends with the same line where a bad gateway, which may be a model’s loading, outlasts the time of a case', async () => {
    const posts = Array.from({ length: 30 }, (_, at) => post(`p${at}`))
    const started = Date.now()
    const gateway: Misbehaviour = () => ({ status: 502, body: '<html></html>' })
    const short = ({ cases }: ReturnType<typeof loadSettings>) => ({ cases: { ...cases, deadline: 6_000 } })
    await expect(judged('hate', posts, gateway, short)).rejects.toThrow(/does not answer: status 502/)
    expect(Date.now() - started).toBeLessThan(10_000)
  })

  test('it ends if one role’s only model is dead, and earlier verdicts stay', async () => {
    const judge: Misbehaviour = ({ model }) =>
      model === 'gone' ? { status: 404, body: body('no', 'model_not_found') } : null
    const roles = (settings: ReturnType<typeof loadSettings>) => ({
      ...debating(settings),
      models: { ...settings.models, roles: { default: ['small'], judge: ['gone'] } },
    })
    const printed: string[] = []
    await expect(judged('hate', [post('p'), post('q')], judge, roles, printed)).rejects.toThrow(
      /The model gone cannot be asked/,
    )
    expect(printed).toEqual([])
    const chained = (settings: ReturnType<typeof loadSettings>) => ({
      ...debating(settings),
      models: { ...settings.models, roles: { default: ['small'], judge: ['gone', 'small'] } },
    })
    const { verdicts } = await judged('hate', [post('p', { text: HATE })], judge, chained)
    expect(verdicts.get('p')?.label).toBe('hate')
  })
})
