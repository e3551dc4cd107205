import { afterEach, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { modelFindings } from '../../../src/app/commands/doctor-models.ts'
import { judgeFileSubjects } from '../../../src/app/commands/judging/file-judging.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { message } from '../../../src/data-files/file-message.ts'
import { T0 } from '../../contracts/samples.ts'
import { startMisbehaving } from '../../support/misbehaving.ts'

let server: Awaited<ReturnType<typeof startMisbehaving>> | undefined
afterEach(() => server?.close())

const signal = new AbortController().signal
const SCORES = /"(score|harassment\w*|hate\w*|illicit\w*|selfHarm\w*|sexual\w*|violence\w*)":(-?[\d.]+)/g

/** The settings of a model whose scores are changed on their way. */
async function scoring(change: (score: number, name: string) => number, scores = SCORES): Promise<Settings> {
  server = await startMisbehaving(() => (completion) => {
    const said = completion.choices[0]?.message
    const changed = (_: string, name: string, score: string) => `"${name}":${change(Number(score), name)}`
    if (said !== undefined) said.content = String(said.content).replace(scores, changed)
  })
  const settings = loadSettings(server.settings)
  return { ...settings, models: { ...settings.models, roles: { default: ['small'] } } }
}

async function faultsOf(settings: Settings): Promise<string[]> {
  const found = await modelFindings(settings, signal)
  return found.flatMap(({ state, detail, todo = '' }) =>
    detail.includes('another scale') ? [`${state}: ${detail} → ${todo}`] : [],
  )
}

test('a model that keeps to the scales, in their order, is not named', async () => {
  expect(await faultsOf(await scoring((score) => score))).toEqual([])
})

test.each([
  ['gives shares of a hundred', (score: number, name: string) => (name === 'score' ? score * 100 : score)],
  ['gives a high score to what is low', (score: number, name: string) => (name === 'score' ? 1 - score : score)],
])('a model that %s where 0 to 1 is asked for is broken, with the setting that keeps this', async (_, change) => {
  const [line, ...more] = await faultsOf(await scoring(change))
  expect(more).toEqual([])
  expect(line).toMatch(/^broken: scores on another scale.*safety\.strict.*safety\.arbiter/)
  expect(line).toMatch(/models\.dialects: \{ "small": \{ withoutScales: \[.*"0 to 1".*\] \} \}/)
  expect(line).toMatch(/these roles:\n *models\.roles: \{.*"safety\.strict": .*"safety\.arbiter": .*\}$/)
})

test('a reason that several forms of a role have is named once', async () => {
  const [line = ''] = await faultsOf(await scoring((score) => score / 100, /"(\w+)":(-?[\d.]+)/g))
  const reasons = line.match(/as moderator \(.*?\)/g) ?? []
  expect(reasons).toHaveLength(new Set(reasons).size)
  expect(reasons.join()).toContain('fractions of 1')
})

test('a model that gives readers of ten where a hundred are asked for is broken', async () => {
  const settings = await scoring((score, name) => (name === 'score' ? score : Math.round(score / 10)))
  expect((await modelFindings(settings, signal)).map(({ detail }) => detail).join('\n')).toMatch(
    /threat of murder at most \d of 100 as moderator/,
  )
})

test('no label rests on scores of a model that was met on another scale', async () => {
  const settings = await scoring((score) => Math.min(1, score * 100))
  const judged = async (withoutScales: string[]) => {
    const verdicts: Verdict[] = []
    const models = { ...settings.models, dialects: { small: { withoutScales } } }
    const file = {
      protocol: 'safety',
      file: 'f',
      format: 'gavel',
      finalAge: Number.POSITIVE_INFINITY,
      async *messages() {
        yield message('post', 'p', 1, T0, { id: 'p', text: 'They are an idiot, and I will hit you with a knife.' })
        yield message('post', 'q', 2, T0, { id: 'q', text: 'Good morning!' })
      },
    } as const
    await judgeFileSubjects({ ...settings, models }, file, {
      signal,
      refused() {},
      corrected() {},
      unrouted() {},
      failed() {},
      judged: (one) => void verdicts.push(one),
    })
    return verdicts
  }
  expect((await judged([])).map(({ label }) => label)).toContain('safe')
  const kept = await judged(['0 to 1'])
  expect(kept.map(({ label }) => label)).toEqual([null, null])
  expect(kept[0]?.degraded.join()).toContain('scores on another scale')
})

test('a scale that models.dialects keeps from a model is a warning, and no longer broken', async () => {
  const settings = await scoring((score, name) => (name === 'score' ? 1 - score : score))
  const dialects = { small: { withoutScales: ['0 to 1', '-1 to 1', '1 to 3', '1 to 5'] } }
  const [line, ...more] = await faultsOf({ ...settings, models: { ...settings.models, dialects } })
  expect(more).toEqual([])
  expect(line).toMatch(/^warning: scores on another scale.*As models\.dialects has it/)
})
