import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { judgeFileSubjects } from '../../src/app/commands/judging/file-judging.ts'
import { entryOf } from '../../src/contracts/facts/entry-of.ts'
import { type Transcript, transcript, type Verdict } from '../../src/contracts/facts/verdict.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import { type Format, fileMessages } from '../../src/data-files/formats.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'
import { padded } from '../../src/kit/bench/prompts.ts'
import { textIn } from '../support/evaluating.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { drawn } from '../support/planted-debate.ts'
import { type LaneProtocol, plantedLane, writtenLane } from '../support/planted-lane.ts'

// What a first lane saves by the share that it settles: the first posts of public data sets, judged by the understudy with texts as
// long as a model's, without a lane and with one. Of how much its decider is sure is planted. Prints the table of docs/lane.md.

const DATA = join(PROJECT, '..', 'shared', 'data')
const POSTS = 500
const COVERAGES = Array.from({ length: 11 }, (_, at) => at / 10)
/** A decider at the price of the model that judges by default, and one at a tenth of it. */
const DECIDERS = { same: 'gpt-6-luna', tenth: 'a-tenth' } as const

interface Run {
  readonly protocol: LaneProtocol
  readonly file: string
  readonly format: Format
  readonly debateWhen: 'never' | 'contested'
}

const RUNS: readonly Run[] = (['never', 'contested'] as const).flatMap((debateWhen): Run[] => [
  { protocol: 'hate', file: 'hatecheck/cases.jsonl', format: 'hatecheck', debateWhen },
  { protocol: 'safety', file: 'openai-moderation/samples.jsonl', format: 'openai-moderation', debateWhen },
])

const folder = ownFolder('cost-by-lane')

/** The understudy, which as a decider is sure of this share of texts, by a hash of each. */
function sureOf(coverage: number): Model {
  const inner = understudyModel()
  return {
    async complete(request) {
      const reply = await inner.complete(request)
      if (request.answer.name !== 'decide') return reply
      const { label } = JSON.parse(reply.text ?? '{}') as { label: string } // It answers by the form.
      const sure = drawn(textIn(request), 'lane') < coverage ? 0.95 : 0.6
      const other = label.startsWith('non') || label === 'safe' ? 'unsafe' : 'safe'
      const first = label.startsWith('non') ? 'non' : label
      const beginnings = {
        label: [
          [first, sure],
          [label === 'hate' ? 'non' : label === 'non-hate' ? 'hate' : other, 1 - sure],
        ],
      } as const
      return { ...reply, beginnings }
    },
  }
}

/** In the language that a data set names, and in none. */
function laneOf(protocol: LaneProtocol, decider: string) {
  const [lane, unnamed] = [plantedLane(protocol, decider), plantedLane(protocol, decider, 'und')]
  return { ...lane, thresholds: [...lane.thresholds, ...unnamed.thresholds] }
}

async function judged({ protocol, file, format, debateWhen }: Run, coverage: number | null, decider: string) {
  const given = loadSettings({})
  const price = entryOf(given.models.prices, DECIDERS.same)
  if (price === undefined) throw new Error('the default model has no price')
  const tenth = { ...price, prompt: price.prompt / 10, cached: price.cached / 10, completion: price.completion / 10 }
  const lane = coverage === null ? [] : [writtenLane(join(folder, 'lane.json'), laneOf(protocol, decider))]
  const own = { ...entryOf(given.protocols, protocol), enabled: true, debateWhen, lane }
  const settings = {
    ...given,
    memo: { ...given.memo, enabled: false },
    models: {
      ...given.models,
      roles: { ...given.models.roles, decider: [decider] },
      // The planted lane's decider answered a chat.
      dialects: { ...given.models.dialects, [decider]: { decisions: 'chat' as const } },
      prices: { ...given.models.prices, [DECIDERS.tenth]: tenth },
    },
    protocols: { ...given.protocols, [protocol]: own } as Settings['protocols'],
  }
  const verdicts: { readonly verdict: Verdict; readonly transcript: Transcript }[] = []
  const path = join(DATA, file)
  async function* messages(bad: Parameters<typeof fileMessages>[2]) {
    let count = 0
    for await (const message of fileMessages(path, format, bad)) {
      if (message.type !== 'feedback' && count++ < POSTS) yield message
    }
  }
  await judgeFileSubjects(
    settings,
    {
      protocol,
      file: path,
      format,
      messages,
      finalAge: Number.POSITIVE_INFINITY,
      secret: 'bench',
      model: padded([], sureOf(coverage ?? 0)),
    },
    {
      signal: AbortSignal.timeout(3_600_000),
      judged: (verdict, json) => verdicts.push({ verdict, transcript: transcript.parse(JSON.parse(json.transcript)) }),
      refused: () => {},
      corrected: () => {},
      unrouted: () => {},
      failed: (why) => {
        throw new Error(why)
      },
    },
  )
  const mean = (of: (one: (typeof verdicts)[number]) => number) =>
    verdicts.reduce((sum, one) => sum + of(one), 0) / verdicts.length
  return {
    settled: mean(({ verdict }) => Number(verdict.decidedBy === 'lane')),
    usd: 1_000 * mean(({ verdict }) => verdict.usage.costUsd),
    depth: mean(
      ({ transcript: { turns } }) =>
        new Set(turns.filter(({ role }) => role !== 'library').map(({ round }) => round)).size,
    ),
  }
}

const HEAD = [
  'protocol',
  'debate',
  'settled',
  'calls in sequence',
  '$ a thousand',
  'by a decider at a tenth of the price',
]

test.skipIf(!existsSync(DATA))(
  'docs/lane.md has what a lane saves by what it settles',
  async () => {
    const rows: string[] = []
    for (const run of RUNS) {
      const without = await judged(run, null, DECIDERS.same)
      const name = [`\`${run.protocol}\``, run.debateWhen]
      const cells = (settled: string, depth: number, usd: readonly number[]) =>
        `| ${[...name, settled, depth.toFixed(2), ...usd.map((one) => one.toFixed(3))].join(' | ')} |`
      rows.push(cells('no lane', without.depth, [without.usd, without.usd]))
      for (const coverage of COVERAGES) {
        const [same, tenth] = [await judged(run, coverage, DECIDERS.same), await judged(run, coverage, DECIDERS.tenth)]
        expect(Math.abs(same.settled - coverage)).toBeLessThan(0.06)
        rows.push(cells(`${Math.round(100 * same.settled)} %`, same.depth, [same.usd, tenth.usd]))
      }
    }
    const table = [`| ${HEAD.join(' | ')} |`, `| ${HEAD.map(() => '---').join(' | ')} |`, ...rows]
    for (const line of table) tell(line)
    const page = readFileSync(join(PROJECT, 'docs', 'lane.md'), 'utf8')
    const [there = ''] = page.split('\n\n').filter((part) => part.startsWith(table[0] ?? ''))
    expect(there.split('\n'), 'the table of docs/lane.md is what this prints').toEqual(table)
  },
  3_600_000,
)
