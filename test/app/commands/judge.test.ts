import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { judgeFile } from '../../../src/app/commands/judge.ts'
import { startStandIn } from '../../../src/commands.ts'
import { type Post, snapshot } from '../../../src/contracts/facts/thread.ts'
import { noComments, transcript, verdict } from '../../../src/contracts/facts/verdict.ts'
import { scoredIn } from '../../e2e/rumoureval.ts'
import { bareEnvironment } from '../../support/bare-environment.ts'
import { performWords } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { tell } from '../../support/pipeline.ts'

const EVENT = join(PROJECT, 'config', 'demo', 'event.jsonl')
const DATA = join(PROJECT, '..', 'shared', 'data')
const folder = ownFolder('judge')

interface Ended {
  readonly code: number
  readonly out: readonly string[]
  readonly said: readonly string[]
}

/** The command line as a person types it, in a process of its own, without any server or key. */
function gavel(...args: string[]): Promise<Ended> {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  const options = { env: bareEnvironment({}), cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 240_000 }
  const lines = (text: string) => text.split('\n').filter((line) => line !== '')
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, out: lines(stdout), said: lines(stderr) })
    })
  })
}

/** The same in this process, for what does not depend on how it is started, and goes well. */
const judged = (...args: string[]) =>
  performWords(['judge', ...args], loadSettings({ GAVEL_LIBRARY_PATH: join(folder, 'no-library') }))

let files = 0
function fileOf(...lines: (string | object)[]): string {
  const file = join(folder, `${++files}.jsonl`)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}

const post = (id: string, change: object = {}) => ({
  type: 'post',
  id,
  text: `the bridge at ${id} has fallen`,
  createdAt: '2025-01-01T12:00:00Z',
  ...change,
})
const comment = (id: string, postId: string, change: object = {}) => ({
  type: 'comment',
  id,
  postId,
  text: 'I saw it, it is true',
  createdAt: '2025-01-01T12:05:00Z',
  ...change,
})
const verdictsIn = ({ out }: Pick<Ended, 'out'>) => out.map((line) => verdict.parse(JSON.parse(line)))

test('judges a file to its end, however long that takes', async () => {
  const now = Date.now
  let later = 0
  vi.spyOn(Date, 'now').mockImplementation(() => now() + later)
  onTestFinished(() => void vi.restoreAllMocks())
  const settings = loadSettings({})
  const out: string[] = []
  const file = fileOf(post('p1'), post('p2'), post('p3'))
  const terminal = {
    out: (line: string) => {
      out.push(line)
      later += 60_000
    },
    say: () => {},
    progress: () => {},
  }
  const judged = await judgeFile(
    { ...settings, cases: { ...settings.cases, maxOpen: 1 } },
    file,
    { protocol: 'rumor', format: 'gavel', finalAge: Number.POSITIVE_INFINITY, transcript: false, json: true },
    { terminal, startStandIn, signal: AbortSignal.timeout(25_000) },
  )
  expect(judged.verdicts).toBe(3)
})

test('judges each comment by itself, too, where it is told to, beside its post and what it answers', async () => {
  const file = fileOf(
    post('p'),
    comment('c1', 'p', { text: 'ZEBRA: they are vermin' }),
    comment('c2', 'p', { parentId: 'c1', text: 'No, they are my friends' }),
    comment('c1', 'away', { text: 'Of a post that is not here' }),
  )
  const idsOf = async (...more: string[]) =>
    (await judged(file, '--protocol', 'hate', '--no-record', '--json', ...more)).out.map(
      (line) => verdict.parse(JSON.parse(line)).id,
    )
  expect(await idsOf()).toEqual(['hate~p~r1'])
  const { out, said } = await judged(file, '--protocol', 'hate', '--no-record', '--comments', '--json', '--transcript')
  const all = new Map(
    out.map((line) => {
      const whole = JSON.parse(line) as { verdict: unknown; transcript: unknown }
      const one = verdict.parse(whole.verdict)
      return [one.id, { degraded: one.degraded, asked: JSON.stringify(transcript.parse(whole.transcript).turns) }]
    }),
  )
  expect([...all.keys()].toSorted()).toEqual([
    'hate/comment~away~c1~r1',
    'hate/comment~p~c1~r1',
    'hate/comment~p~c2~r1',
    'hate~p~r1',
  ])
  const answer = all.get('hate/comment~p~c2~r1')
  expect([answer?.degraded, ['the bridge at p', 'ZEBRA'].every((words) => answer?.asked.includes(words))]).toEqual([
    [],
    true,
  ])
  expect(all.get('hate/comment~away~c1~r1')?.degraded).toEqual([
    'judged without the post that it stands under, which is not known',
  ])
  expect(said.join('\n')).not.toContain('skipped')
})

test('judges posts in the same words whose verdicts contradict one another', async () => {
  const file = join(folder, 'contradictory.jsonl')
  const post = (id: string, says: string) => [
    {
      type: 'post',
      id,
      text: 'The dam above Calvera has burst and the town is under water',
      createdAt: '2025-03-01T10:00:00Z',
    },
    ...['eve', 'ben', 'ann'].map((author) => {
      const comment = { type: 'comment', id: `${id}-${author}`, postId: id, author, createdAt: '2025-03-01T10:00:00Z' }
      return { ...comment, text: `${says} I am ${author}.` }
    }),
  ]
  const lines = [...post('true', 'It is true, I saw it myself.'), ...post('fake', 'This is fake, it was debunked.')]
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const ended = await gavel('judge', file, '--protocol', 'rumor', '--no-record', '--json')
  expect(ended.code).toBe(0)
  const labels = Object.fromEntries(verdictsIn(ended).map(({ subjectId, label }) => [subjectId, label]))
  expect(labels).toEqual({ true: 'non-rumor', fake: 'rumor' })
})

test('judges the sample event: a verdict on every post, one a line, with whom to thank', async () => {
  const ended = await gavel('judge', EVENT, '--protocol', 'rumor', '--json')
  expect(ended.said.join('\n')).toContain('understudy')
  expect(ended.code).toBe(0)
  const verdicts = verdictsIn(ended)
  expect(new Set(verdicts.map(({ subjectId }) => subjectId)).size).toBe(21)
  expect(verdicts).toHaveLength(21)
  // Those that are made for rumor. False are the bomb, the cracks, the poisoned water and the picture from elsewhere.
  const made = verdicts.filter(({ subjectId }) => /-p(?:\d|1[0-2]|18)$/.test(subjectId))
  const rumors = made.filter(({ label }) => label === 'rumor').map(({ subjectId }) => subjectId)
  expect(rumors.toSorted()).toEqual(['calvera-p3', 'calvera-p4', 'calvera-p5', 'calvera-p9'])
  for (const { final, label, decidedBy, models } of verdicts) {
    expect(final).toBe(true)
    // Who has no sides to tell of is asked nothing.
    if (label !== null && decidedBy !== 'scores') expect(Object.values(models).join()).toContain('understudy')
  }
  expect(ended.said.at(-1)).toBe('2 subjects skipped: nothing for rumor to judge.')
})

test('judges the lines of docs/messages.md by every protocol that is on, and names what is wrong with a line once', async () => {
  const page = readFileSync(join(PROJECT, 'docs', 'messages.md'), 'utf8')
  const [, messages = ''] = /```jsonc\n([\s\S]*?)```/.exec(page) ?? []
  const lines = messages.split('\n').filter((line) => line.startsWith('{'))
  expect(lines.length).toBeGreaterThan(4)
  const file = join(folder, 'messages.jsonl')
  // The image of the example is on no server.
  writeFileSync(file, `${lines.filter((line) => !line.includes('"media"')).join('\n')}\nnot json\n`)
  const ended = await gavel('judge', file, '--json')
  expect(ended.code).toBe(0)
  expect(
    verdictsIn(ended)
      .map(({ protocol, subjectId }) => `${protocol} ${subjectId}`)
      .sort(),
  ).toEqual(['counterspeech s1', 'hate p1', 'rumor p1', 'safety p1'])
  expect(ended.said.filter((line) => /is not JSON/.test(line))).toHaveLength(1)
  expect(ended.said.filter((line) => /has no "type"/.test(line))).toHaveLength(1)
})

test.for([
  ['rumoureval2017', 155, 2_327],
  ['covid19-rumor', 300, 6_268],
] as const)(
  'judges every comment of every thread of the public format %s',
  { timeout: 240_000 },
  async ([format, threads, comments], context) => {
    const data = join(DATA, format, 'threads.jsonl')
    if (!existsSync(data)) {
      tell(`SKIPPED: ${data} is not there; gavel judge --format ${format} was not run on real threads.`)
      return context.skip('../shared/data is not there')
    }
    const apart = join(folder, 'apart.yaml')
    writeFileSync(
      apart,
      'threads: { maxPerAuthor: null }\nprotocols: { rumor: { foldNearIdentical: false, perAuthor: null } }\n',
    )
    const ended = await gavel(
      'judge',
      data,
      '--protocol',
      'rumor',
      '--format',
      format,
      '--json',
      '--transcript',
      '--config',
      apart,
    )
    expect(ended.code).toBe(0)
    const judged = ended.out.map((line) => z.object({ verdict, transcript }).parse(JSON.parse(line)))
    expect(new Set(judged.map((one) => one.verdict.subjectId)).size).toBe(threads)
    expect(judged).toHaveLength(threads)
    expect(judged.reduce((sum, one) => sum + one.verdict.counts.accepted, 0)).toBe(comments)
    for (const { verdict: decided, transcript: argued } of judged) {
      const { accepted, judged: all, leftOut } = decided.counts
      expect({ all, leftOut }).toEqual({ all: accepted, leftOut: noComments().leftOut })
      const shown = snapshot.parse(argued.subject).comments.map(({ id }) => id)
      expect(scoredIn(argued.turns)).toEqual(new Set(shown))
      expect(shown).toHaveLength(accepted)
    }
  },
)

test('a reader that is slow gets every line', { timeout: 240_000 }, async () => {
  const lines = Array.from({ length: 60 }, (_, at) =>
    post(`p${at}`, { text: `the bridge has fallen ${'x'.repeat(4_000)}` }),
  )
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
  const command = ['judge', fileOf(...lines), '--protocol', 'rumor', '--json', '--transcript']
  const child = spawn(process.execPath, [...flags, ...command], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  // Nobody reads before the last verdict has been written.
  const said = new Promise<void>((resolve) => {
    let text = ''
    child.stderr.on('data', (chunk) => {
      text += chunk
      if (text.includes('60 verdicts')) resolve()
    })
  })
  await said
  const out: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(Buffer.concat(out).toString().trimEnd().split('\n')).toHaveLength(60)
})

test('takes threads whole, whatever their age, and cuts them only on request, and reports that', async () => {
  const lines = [
    post('p'),
    comment('c1', 'p'),
    comment('c2', 'p', { createdAt: '2025-03-01T12:00:00Z', text: 'it is fake' }),
  ]
  const counted = async (...options: string[]) => {
    const ended = await gavel('judge', fileOf(...lines), '--protocol', 'rumor', '--json', ...options)
    return verdictsIn(ended)[0]?.counts
  }
  expect(await counted()).toEqual({ ...noComments(), accepted: 2, judged: 2 })
  expect(await counted('--final-age', '24h')).toEqual({
    accepted: 2,
    judged: 1,
    leftOut: { ...noComments().leftOut, late: 1 },
  })
  const line = (await gavel('judge', fileOf(...lines), '--protocol', 'rumor', '--final-age', '24h')).out[0]
  expect(line).toContain('1 of 2 comments (late 1)')
  const wrong = await gavel('judge', fileOf(...lines), '--protocol', 'rumor', '--final-age', 'soon')
  expect(wrong).toMatchObject({ code: 2 })
  expect(wrong.said.join()).toContain('a duration is a number and ms, s, m, h or d')
})

test.for([
  ['hate', 'hatecheck', 'hatecheck/cases.jsonl'],
  ['hate', 'kodoli', 'kodoli/comments.jsonl'],
  ['safety', 'openai-moderation', 'openai-moderation/samples.jsonl'],
  ['safety', 'airbench-text', 'airbench/only_text.jsonl'],
  ['safety', 'airbench-image', 'airbench/only_img.jsonl'],
  ['safety', 'airbench-both', 'airbench/text_img.jsonl'],
] as const)('judges by %s every subject of the public format %s', async ([protocol, format, file], context) => {
  const data = join(DATA, file)
  if (!existsSync(data)) {
    tell(`SKIPPED: ${data} is not there; gavel judge --protocol ${protocol} was not run on real texts.`)
    return context.skip('../shared/data is not there')
  }
  const lines = readFileSync(data, 'utf8').trim().split('\n').slice(0, 8)
  const ended = await judged(fileOf(...lines), '--protocol', protocol, '--format', format, '--json')
  const verdicts = verdictsIn(ended)
  expect(new Set(verdicts.map(({ subjectId }) => subjectId)).size).toBe(lines.length)
  // Without shelves each that looks for examples says what it lacks; none is left without a label.
  for (const { label, degraded } of verdicts) {
    expect(label).not.toBeNull()
    if (protocol === 'hate') expect(degraded).toEqual([])
    else expect(degraded.join()).toContain('is missing')
  }
})

test.for([
  ['hate', 'unsmile', 'unsmile.tsv', 7, 0],
  ['hate', 'k-mhas', 'k-mhas.txt', 5, 0],
  ['hate', 'k-mhas', 'k-mhas-one-hot.tsv', 5, 0],
  ['hate', 'kold', 'kold.json', 5, 0],
  ['hate', 'k-haters', 'k-haters.jsonl', 5, 0],
  ['rumor', 'twitter-covid19', 'Twitter_data_all.txt', 4, 6],
  ['rumor', 'weibo-covid19', 'weibo_covid19_data.txt', 2, 4],
] as const)('judges by %s every subject of the published form of %s: %s', async (given) => {
  const [protocol, format, name, subjects, comments] = given
  const file = join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets', name)
  const ended = await judged(file, '--protocol', protocol, '--format', format, '--json')
  const verdicts = verdictsIn(ended)
  expect(new Set(verdicts.map(({ subjectId }) => subjectId)).size).toBe(subjects)
  expect(verdicts.every(({ label }) => label !== null)).toBe(true)
  expect(verdicts.reduce((sum, { counts }) => sum + counts.accepted, 0)).toBe(comments)
  const leftOut = name === 'unsmile.tsv' ? [8] : name === 'k-mhas.txt' ? [7, 8] : []
  for (const line of leftOut) expect(ended.said).toContain(`${file}:${line} is no sample of ${format}; left out`)
  expect(ended.said.filter((said) => said.endsWith('; left out'))).toHaveLength(leftOut.length)
})

test.for(['hate', 'safety'])('judges by %s a text of 100,000 characters, cut where it is fenced', async (protocol) => {
  const long = 'They bring nothing but trouble. '.repeat(3_125)
  const ended = await judged(fileOf(post('long', { text: long })), '--protocol', protocol, '--json', '--transcript')
  const { verdict: decided, transcript: argued } = JSON.parse(ended.out[0] ?? '') as Record<string, unknown>
  const { label, degraded } = verdict.parse(decided)
  // Of what nobody read, nobody says that it is harmless.
  expect(label).toBe(protocol === 'hate' ? 'hate' : null)
  expect(degraded).toContainEqual(expect.stringMatching(/^text: \d+ of 100000 characters not read$/))
  expect(JSON.stringify(transcript.parse(argued).turns)).toMatch(/\[cut: \d+ more characters\]/)
})

test('judges counterspeech, and says of the posts beside it that they are none of its subjects', async () => {
  const reply = {
    type: 'counterspeech',
    id: 's1',
    hateSpeech: 'They bring nothing but trouble',
    text: 'Who carried the hoses last night?',
    createdAt: '2025-01-01T12:00:00Z',
  }
  const ended = await gavel('judge', fileOf(reply, post('p')), '--protocol', 'counterspeech', '--json')
  expect(verdictsIn(ended)).toMatchObject([
    { id: 'counterspeech~s1~r1', label: null, decidedBy: 'scores', degraded: [] },
  ])
  expect(ended.said.slice(-2)).toEqual([
    '1 verdict, 0 undecided, 0 inputs refused.',
    '1 subject skipped: nothing for counterspeech to judge.',
  ])
})

describe('an image’s description by its author', () => {
  const SEEN = 'zebras on a crossing'
  /** The prompts of one verdict, and what was left out of it. */
  const argued = async (protocol: string, format: string, ...lines: object[]) => {
    const ended = await judged(fileOf(...lines), '--protocol', protocol, '--format', format, '--json', '--transcript')
    const both = JSON.parse(ended.out[0] ?? '') as { verdict: unknown; transcript: { subject: { post: Post } } }
    const { turns } = transcript.parse(both.transcript)
    return {
      stages: turns.map(({ stage }) => stage),
      prompts: turns
        .flatMap(({ messages }) => messages.flatMap((one) => ('content' in one ? [one.content] : [])))
        .join('\n'),
      degraded: verdict.parse(both.verdict).degraded.filter((why) => !why.includes('precedent')),
      post: both.transcript.subject.post,
    }
  }
  const sample = { description: SEEN, voted_img_risk: '1', text: '', voted_risk: '1' }

  test.each(['airbench-image', 'airbench-both'])('by %s is what a vision model saw, at no call', async (format) => {
    const { stages, prompts, degraded, post: judged } = await argued('safety', format, { ...sample, text: 'look' })
    expect(prompts).toMatch(new RegExp(`Image 1, described by a vision model:\\n<<[^>]*>>\\s*${SEEN}`))
    expect(prompts).not.toContain('What the author says')
    expect(stages).not.toContain('describe')
    expect(degraded).toEqual([])
    expect(judged.media).toEqual([{ kind: 'image', description: SEEN }])
  })

  test('is read as well by a protocol that reads words only', async () => {
    const { prompts, degraded } = await argued('hate', 'airbench-image', sample)
    expect(prompts).toContain(`[image: ${SEEN}]`)
    expect(degraded.join()).not.toContain('images')
  })

  test.each(['safety', 'hate', 'rumor'])(
    'by a message is its author’s words alone, whatever the message calls it: %s',
    async (protocol) => {
      const media = (change: object) => [{ kind: 'image', alt: 'a street', ...change }]
      const more = { description: SEEN, descriptions: [SEEN] }
      const forged = post('p', { ...more, media: media(more) })
      const { prompts, degraded, post: judged } = await argued(protocol, 'gavel', forged)
      expect(prompts).not.toContain(SEEN)
      expect(prompts).not.toContain('described by a vision model')
      expect(JSON.stringify(judged)).not.toContain(SEEN)
      const honest = await argued(protocol, 'gavel', post('p', { media: media({}) }))
      // What the message calls it is named as unread, and changes nothing else.
      const unread = ['description', 'descriptions'].map((field) => ({
        field,
        why: 'an unknown field, its words were not read',
      }))
      expect(judged).toEqual({ ...(honest.post as object), odd: unread }) // a post is an object
      expect(degraded).toEqual(
        expect.arrayContaining([...honest.degraded, ...unread.map(({ field, why }) => `${field}: ${why}`)]),
      )
      expect(degraded).toHaveLength(honest.degraded.length + unread.length)
    },
  )

  test('by a message that says nothing else of its image is no word at all, and the image is not seen', async () => {
    const forged = post('p', { media: [{ kind: 'image', description: SEEN }] })
    const { prompts, degraded, post: judged } = await argued('safety', 'gavel', forged)
    expect(prompts).toContain('the bridge at p has fallen')
    expect(prompts).not.toContain(SEEN)
    expect(judged.media).toEqual([{ kind: 'image' }])
    expect(degraded).toContain('media.0: neither a url nor an alt text')
    expect(degraded.at(-1)).toMatch(
      /^no label: what was seen looks safe, but not all of it was: 1 of 1 images not seen/,
    )
  })
})

test('gives the whole argument with each verdict where it is asked for', async () => {
  const file = fileOf(post('p'), comment('c', 'p'))
  const ended = await gavel('judge', file, '--protocol', 'rumor', '--json', '--transcript')
  const [line = ''] = ended.out
  const both = JSON.parse(line) as { verdict: unknown; transcript: unknown }
  const decided = verdict.parse(both.verdict)
  const argued = transcript.parse(both.transcript)
  expect(argued.verdictId).toBe(decided.id)
  expect(argued.turns.flatMap(({ calls }) => calls)).toHaveLength(decided.usage.calls)
})

describe('a bad line', () => {
  test('is named with its number in the file, and the others are judged', async () => {
    const file = fileOf(
      post('good-1'),
      'no JSON',
      { type: 'verdict', id: 'x' },
      comment('c1', 'good-1'),
      post('undated', { createdAt: 'yesterday' }),
      '',
      comment('c2', 'good-1', { text: [7] }),
      post('far', { createdAt: '3000-01-01T00:00:00Z' }),
      post('good-2'),
    )
    const ended = await gavel('judge', file, '--protocol', 'rumor', '--json')
    expect(
      verdictsIn(ended)
        .map(({ subjectId }) => subjectId)
        .sort(),
    ).toEqual(['good-1', 'good-2'])
    for (const line of [2, 3, 5, 7, 8])
      expect(
        ended.said.filter((said) => said.includes(`${file}:${line} `)),
        `line ${line} in\n${ended.said.join('\n')}`,
      ).toHaveLength(1)
    expect(ended.said.at(-1)).toBe('2 verdicts, 0 undecided, 5 inputs refused.')
  })

  test('is none where one field is odd: the rest is judged, and what is odd is named', async () => {
    const odd: Record<string, object> = {
      'a long author': { author: 'z'.repeat(2_000) },
      'an author in parts': { author: { name: 'ben' } },
      'a list of languages': { lang: ['en', 'de'] },
      'a day for a time': { authorSince: '2019-05-01' },
      'a moving picture': { media: [{ kind: 'gifv', url: 'https://cdn.example/a.gif' }] },
      'no list of images': { media: { kind: 'image', url: 'https://cdn.example/a.png' } },
      'a relative address': { media: [{ kind: 'image', url: '/a.png' }] },
      'twenty images': { media: Array.from({ length: 20 }, () => ({ kind: 'image', alt: 'soup' })) },
    }
    const plain: Record<string, object> = {
      nothing: { author: null, lang: null, media: null, authorSince: null, tenant: null, deleted: null },
      'that it stands': { deleted: false },
      'a numbered author': { author: 12_345 },
      'an empty author': { author: '' },
    }
    const refused = { 'a tenant in words': { tenant: 'my own' }, 'a deletion in words': { deleted: 'no' } }
    const file = fileOf(...Object.entries({ ...odd, ...plain, ...refused }).map(([id, change]) => post(id, change)))
    const ended = await judged(file, '--protocol', 'hate', '--json')
    const verdicts = new Map(verdictsIn(ended).map((one) => [one.subjectId, one]))
    expect([...verdicts.keys()].sort()).toEqual(Object.keys({ ...odd, ...plain }).sort())
    const named = (id: string, fields: object) =>
      verdicts.get(id)?.degraded.filter((line) => Object.keys(fields).some((field) => line.startsWith(field)))
    for (const [id, fields] of Object.entries(odd)) expect(named(id, fields), id).not.toEqual([])
    for (const [id, fields] of Object.entries(plain)) expect(named(id, fields), id).toEqual([])
    for (const line of [13, 14]) expect(ended.said.join('\n')).toContain(`${file}:${line} `)
  })

  test('is none where ids are numbers: they are read as they are written, of a post as of its comments', async () => {
    // Two that are one number to a double, one with a point, and one with an exponent.
    const ids = ['267081518403440641', '267081518403440642', '1.0', '1e3', '1']
    const lines = ids.flatMap((id) => [
      `{"type":"post","id":${id},"text":"the bridge has fallen","author":${id},"createdAt":"2025-01-01T12:00:00Z"}`,
      `{"type":"comment","id":${id},"postId":${id},"text":"I saw it, it is true","createdAt":"2025-01-01T12:05:00Z"}`,
      `{"type":"comment","id":"c${id}","postId":"${id}","parentId":${id},"text":"no, it is false","createdAt":"2025-01-01T12:06:00Z"}`,
    ])
    const ended = await judged(fileOf(...lines), '--protocol', 'rumor', '--json')
    const verdicts = verdictsIn(ended)
    expect(verdicts.map(({ subjectId }) => subjectId).sort()).toEqual([...ids].sort())
    for (const { counts } of verdicts) expect(counts.accepted).toBe(2)
  })

  test('of a public format is left out, whatever its time is', async () => {
    const thread = { id: 't', created_at: 1_700_000_000, claim: 'the bridge has fallen', comments: [] }
    const file = fileOf(thread, { ...thread, id: 'u', created_at: 1e20 }, { ...thread, id: 'v', comments: 'none' })
    const ended = await judged(file, '--protocol', 'rumor', '--format', 'rumoureval2017', '--json')
    expect(ended.said.join('\n')).not.toContain('unexpected')
    expect(verdictsIn(ended).map(({ subjectId }) => subjectId)).toEqual(['t'])
    for (const line of [2, 3]) expect(ended.said.join('\n')).toContain(`${file}:${line} is no thread of rumoureval2017`)
  })

  test('is not the first one because a byte order mark precedes it', async () => {
    const file = fileOf(`\ufeff${JSON.stringify(post('marked'))}`)
    const ended = await judged(file, '--protocol', 'rumor', '--json')
    expect(verdictsIn(ended).map(({ subjectId }) => subjectId)).toEqual(['marked'])
  })

  test('drives no terminal', async () => {
    const hostile = '\u001b]0;mine\u0007\u009b31m\u202e\u007f'
    const file = fileOf(
      post(`id ${hostile}`),
      comment(`c ${hostile}`, `id ${hostile}`),
      { type: hostile },
      `${hostile}`,
    )
    const told = await gavel('judge', file, '--protocol', 'rumor', '--transcript')
    const json = await gavel('judge', file, '--protocol', 'rumor', '--json', '--transcript')
    for (const line of [...told.out, ...told.said, ...json.out, ...json.said])
      expect(line).not.toMatch(/[\p{Cc}\p{Bidi_C}]/u)
    expect(json.out.map((line) => (JSON.parse(line) as { verdict: { subjectId: string } }).verdict.subjectId)).toEqual([
      `id ${hostile}`,
    ])
  })
})

describe('the exit code', () => {
  const faults: [string, string[]][] = [
    ['no command', []],
    ['an unknown command', ['jugde']],
    ['no file', ['judge', '--protocol', 'rumor']],
    ['an unknown format', ['judge', EVENT, '--protocol', 'rumor', '--format', 'csv']],
    ['an unknown option', ['judge', EVENT, '--protocol', 'rumor', '--jsno']],
    ['a protocol that nobody knows', ['judge', EVENT, '--protocol', 'humor']],
    ['a rate that is no number', ['produce', EVENT, '--rate', 'fast']],
    ['an unknown role', ['run', '--roles', 'intake,cook']],
  ]
  test('is 2 for a command that cannot be understood, which is said on standard error', {
    timeout: 180_000,
  }, async () => {
    const ended = await Promise.all(faults.map(async ([what, args]) => ({ what, ...(await gavel(...args)) })))
    for (const { what, code, out, said } of ended) {
      expect(code, what).toBe(2)
      expect(out, what).toEqual([])
      expect(said.length, what).toBeGreaterThan(0)
    }
  })

  const broken: [string, string[], RegExp][] = [
    [
      'a file that is absent',
      ['judge', 'absent.jsonl', '--protocol', 'rumor'],
      /absent\.jsonl cannot be read: there is no such file/,
    ],
    ['a file that is a folder', ['judge', folder, '--protocol', 'rumor'], /it is a folder/],
    [
      'settings that are absent',
      ['judge', EVENT, '--protocol', 'rumor', '--config', 'no.yaml'],
      /no\.yaml.*there is no such file/,
    ],
    ['no Kafka', ['produce', EVENT], /KAFKA_BROKERS/],
    ['no Kafka for the verdicts', ['verdicts'], /KAFKA_BROKERS/],
    ['no model', ['run'], /OPENAI_BASE_URL/],
  ]
  test('is 1 for what a person has to mend, with a message that says what', { timeout: 180_000 }, async () => {
    const ended = await Promise.all(
      broken.map(async ([what, args, message]) => ({ what, message, ...(await gavel(...args)) })),
    )
    for (const { what, message, code, out, said } of ended) {
      const words = said.join('\n')
      expect(words, what).toMatch(message)
      // What runs a service writes for who collects its log.
      expect(words, what).toMatch(what === 'no model' ? /^\{"level":"error",.*"event":"service:failed"/m : /^gavel: /m)
      expect(words, what).not.toMatch(/unexpected|\n {4}at /)
      expect(code, what).toBe(1)
      expect(out, what).toEqual([])
    }
  })

  test('is 0 where whoever read its results has had enough', async () => {
    const flags = ['--disable-warning=TimeoutNegativeWarning', join(PROJECT, 'src', 'main.ts')]
    const child = spawn(process.execPath, [...flags, 'judge', EVENT, '--protocol', 'rumor', '--json'], {
      env: bareEnvironment({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.stdout.once('data', () => child.stdout.destroy())
    const [code] = (await once(child, 'close')) as [number | null]
    expect(said).not.toContain('EPIPE')
    expect(code).toBe(0)
  })

  test('is 0 for help', async () => {
    for (const args of [['--help'], ['judge', '--help'], ['dead-letters', 'replay', '--help']])
      expect((await gavel(...args)).code, args.join(' ')).toBe(0)
  })
})
