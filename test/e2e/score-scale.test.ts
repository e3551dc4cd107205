import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { modelFindings } from '../../src/app/commands/doctor-models.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { type Completion, startMisbehaving } from '../support/misbehaving.ts'

type Fields = Record<string, unknown>

/** An answer of either route. */
interface Scored {
  readonly results: { readonly flagged: boolean; readonly category_scores: Record<string, number> }[]
  readonly attributeScores: { readonly THREAT: { readonly summaryScore: { readonly value: number } } }
}

/** What a model answers in place of its whole numbers from 0 to 100, by its name here. */
const FORMS: Readonly<Record<string, (fields: Fields) => unknown>> = {
  'fractions of 1': (fields) => each(fields, (score) => score / 100),
  'a field too few': ({ threat: _, violence: __, ...rest }) => rest,
  'a negative number': (fields) => each(fields, (score) => score - 101),
  'more than 100': (fields) => each(fields, (score) => score + 150),
  'no number': (fields) => each(fields, () => null),
  words: (fields) => each(fields, () => 'very high'),
  'an object too deep': (fields) => ({ scores: fields }),
}

function each(fields: Fields, change: (score: number) => unknown): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'number' ? change(value) : value]),
  )
}

const rewritten =
  (change: (fields: Fields) => unknown) =>
  ({ choices }: Completion): void => {
    for (const { message } of choices) message.content = JSON.stringify(change(JSON.parse(String(message.content))))
  }

const ROUTES = {
  moderations: ['/v1/moderations', { input: 'I will kill you, you idiot' }],
  perspective: [
    '/v1alpha1/comments:analyze',
    { comment: { text: 'You idiot, I will kill you' }, requestedAttributes: { TOXICITY: {}, THREAT: {} } },
  ],
} as const

describe('a score on another scale than was asked for', { timeout: 60_000 }, () => {
  /** The form in which the model answers now, and how often it has done so. */
  let form: (fields: Fields) => unknown = (fields) => fields
  let rightAfter = Number.POSITIVE_INFINITY
  let server: Awaited<ReturnType<typeof startMisbehaving>>
  let embedded: Awaited<ReturnType<typeof startEmbedded>>
  let calls = 0
  beforeAll(async () => {
    server = await startMisbehaving(() => (++calls > rightAfter ? null : rewritten(form)))
    const settings = loadSettings({ ...server.settings, GAVEL_DOOR_PORT: '0', GAVEL_MEMO_ENABLED: 'false' })
    embedded = await startEmbedded(settings, { report: () => {} })
  })
  afterAll(async () => {
    await embedded.close()
    await server.close()
  })

  async function post(route: keyof typeof ROUTES, nth: number) {
    calls = 0
    const [path, body] = ROUTES[route]
    // Another text each time: nothing is remembered from before.
    const text = JSON.stringify(body).replace('kill you', `kill you ${nth} times`)
    const response = await fetch(`http://127.0.0.1:${embedded.doorPort}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: text,
    })
    return { status: response.status, body: (await response.json()) as Scored, calls }
  }

  let nth = 0
  for (const route of ['moderations', 'perspective'] as const) {
    it.each(Object.keys(FORMS))(`is no answer of ${route}, and is asked for once more: %s`, async (name) => {
      form = FORMS[name] ?? form
      rightAfter = Number.POSITIVE_INFINITY
      const answer = await post(route, ++nth)
      expect([answer.status, answer.calls]).toEqual([502, 2])
      expect(JSON.stringify(answer.body)).toMatch(/could not be read|no readable|unreadable/)
    })

    it(`is not seen in what ${route} may well be answered: a fraction among higher numbers, or nothing but 0 and 1`, async () => {
      rightAfter = Number.POSITIVE_INFINITY
      for (const change of [(score: number) => Math.max(0, score - 0.5), (score: number) => Number(score > 50)]) {
        form = (fields) => each(fields, change)
        const answer = await post(route, ++nth)
        expect([answer.status, answer.calls]).toEqual([200, 1])
      }
    })

    it(`is mended by the second question of ${route}`, async () => {
      form = FORMS['fractions of 1'] ?? form
      rightAfter = 1
      const answer = await post(route, ++nth)
      expect([answer.status, answer.calls]).toEqual([200, 2])
      const scores =
        route === 'moderations'
          ? [answer.body.results[0]?.category_scores['harassment/threatening'], Number(answer.body.results[0]?.flagged)]
          : [answer.body.attributeScores.THREAT.summaryScore.value]
      for (const score of scores) expect(score).toBeGreaterThan(0.5)
    })
  }

  it('is what doctor names, when it asks as moderator about a threat', async () => {
    const all = { ...loadSettings({ ...server.settings }) }
    const settings = { ...all, models: { ...all.models, roles: { default: ['small'] } } }
    const found = async () => {
      const findings = await modelFindings(settings, new AbortController().signal)
      return findings.filter(({ state }) => state === 'broken').map(({ detail, todo = '' }) => `${detail} ${todo}`)
    }
    rightAfter = Number.POSITIVE_INFINITY
    const isScore = (fields: Fields) => 'harassmentThreatening' in fields
    form = (fields) => (isScore(fields) ? FORMS['fractions of 1']?.(fields) : fields)
    expect((await found()).join('\n')).toMatch(
      /scores on another scale.*as moderator \(answer: the scores are fractions of 1/,
    )
    // A whole 1 is valid on both scales: what it is given for tells them apart.
    form = (fields) => (isScore(fields) ? each(fields, (score) => Math.round(score / 100)) : fields)
    expect((await found()).join('\n')).toMatch(/gave a threat of murder at most 1 of 100 as moderator/)
    form = (fields) => fields
    expect(await found()).toEqual([])
  })
})
