import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { judgeFileSubjects } from '../../src/app/commands/judging/file-judging.ts'
import { entryOf } from '../../src/contracts/facts/entry-of.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { type Format, fileMessages } from '../../src/data-files/formats.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'
import { padded } from '../../src/kit/bench/prompts.ts'
import { tell } from '../support/pipeline.ts'
import { agreeingOn } from '../support/planted-agreement.ts'

// What verdicts cost by why there was a debate, or none: public data sets, each subject judged once with all its comments, by the
// understudy with texts as long as a model's. A debate is held only where the answers before it are contested, or as a control.
// How often hate's perspectives agree is planted; the rest is the understudy's.
// Prints the table of docs/cost.md.

const DATA = join(PROJECT, '..', 'shared', 'data')
const AGREEMENTS = [0.6, 0.8, 0.95]

interface Run {
  readonly protocol: string
  readonly file: string
  readonly format: Format
  readonly agreement?: number
}

const RUNS: readonly Run[] = [
  ...AGREEMENTS.map(
    (agreement): Run => ({ protocol: 'hate', file: 'hatecheck/cases.jsonl', format: 'hatecheck', agreement }),
  ),
  ...AGREEMENTS.map(
    (agreement): Run => ({ protocol: 'hate', file: 'implicit-hate/posts.jsonl', format: 'gavel', agreement }),
  ),
  { protocol: 'rumor', file: 'rumoureval2017/threads.jsonl', format: 'rumoureval2017' },
  { protocol: 'rumor', file: 'covid19-rumor/threads.jsonl', format: 'covid19-rumor' },
  { protocol: 'safety', file: 'openai-moderation/samples.jsonl', format: 'openai-moderation' },
  { protocol: 'safety', file: 'airbench/text_img.jsonl', format: 'airbench-both' },
]

async function verdictsOf({ protocol, file, format, agreement }: Run): Promise<Verdict[]> {
  const given = loadSettings({})
  const own = { ...entryOf(given.protocols, protocol), enabled: true, debateWhen: 'contested' }
  const settings = {
    ...given,
    memo: { ...given.memo, enabled: false },
    protocols: { ...given.protocols, [protocol]: own } as Settings['protocols'],
  }
  const verdicts: Verdict[] = []
  const path = join(DATA, file)
  const model = padded([], agreement === undefined ? undefined : agreeingOn(agreement, understudyModel()))
  async function* messages(bad: Parameters<typeof fileMessages>[2]) {
    for await (const message of fileMessages(path, format, bad)) if (message.type !== 'feedback') yield message
  }
  await judgeFileSubjects(
    settings,
    { protocol, file: path, format, messages, finalAge: Number.POSITIVE_INFINITY, secret: 'bench', model },
    {
      signal: AbortSignal.timeout(3_600_000),
      judged: (verdict) => verdicts.push(verdict),
      refused: () => {},
      corrected: () => {},
      unrouted: () => {},
      failed: (why) => {
        throw new Error(why)
      },
    },
  )
  return verdicts
}

/** A row for each cause, the most frequent first, after one for all where there are several. */
function rowsOf({ protocol, file, agreement }: Run, verdicts: readonly Verdict[]): string[] {
  const causes = [...Map.groupBy(verdicts, ({ debated }) => debated?.why ?? 'unknown')].sort(
    ([, one], [, other]) => other.length - one.length,
  )
  const named = agreement === undefined ? '' : ` (${agreement * 100} % agree)`
  const all = causes.length === 1 ? [] : [['all', verdicts] as const]
  return [...all, ...causes].map(([cause, of]: readonly [string, readonly Verdict[]]) => {
    const sum = (what: (verdict: Verdict) => number) => of.reduce((total, verdict) => total + what(verdict), 0)
    const usd = sum(({ usage }) => usage.costUsd)
    const cells = [
      `\`${protocol}\``,
      `${file.split('/')[0]}${named}`,
      cause,
      String(of.length),
      `${Math.round((100 * of.length) / verdicts.length)} %`,
      `${Math.round((100 * sum(({ debated }) => (debated?.held === true ? 1 : 0))) / of.length)} %`,
      (sum(({ usage }) => usage.calls) / of.length).toFixed(1),
      ((usd / of.length) * 1_000).toFixed(2),
      ((usd / verdicts.length) * 1_000).toFixed(2),
    ]
    return `| ${cells.join(' | ')} |`
  })
}

const HEAD = [
  'protocol',
  'data',
  'cause',
  'verdicts',
  'share',
  'debate held',
  'calls',
  '$ a thousand of them',
  '$ a thousand of all',
]

test.skipIf(!existsSync(DATA))(
  'docs/cost.md has what verdicts cost by the cause of their debates',
  async () => {
    const rows: string[] = []
    for (const run of RUNS) {
      const verdicts = await verdictsOf(run)
      rows.push(...rowsOf(run, verdicts))
      if (run.agreement === undefined) continue
      const agreed = verdicts.filter(({ scores: { hate = 0, nonHate = 0 } }) => hate === 0 || nonHate === 0)
      expect(Math.abs(agreed.length / verdicts.length - run.agreement)).toBeLessThan(0.03)
    }
    const table = [`| ${HEAD.join(' | ')} |`, `| ${HEAD.map(() => '---').join(' | ')} |`, ...rows]
    for (const line of table) tell(line)
    const page = readFileSync(join(PROJECT, 'docs', 'cost.md'), 'utf8')
    const [there = ''] = page.split('\n\n').filter((part) => part.startsWith(table[0] ?? ''))
    expect(there.split('\n'), 'the table of docs/cost.md is what this prints').toEqual(table)
  },
  3_600_000,
)
