// `npm run chaos`: the service under a seeded plan of faults, and the account of what came of every message and every call.

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { table } from '../../src/cli/terminal.ts'
import { UnavailableError } from '../../src/kit/stack/servers/local-server.ts'
import { KINDS, type Kind, kindsOf } from './plan.ts'
import { type Outcome, runSeed } from './run.ts'
import { SABOTAGE } from './sabotage.ts'

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.on(name, () => {
    if (stopping.signal.aborted) process.exit(130)
    say('stopping; once more ends at once')
    stopping.abort(new Error('stopped'))
  })

const say = (line: string) => void process.stderr.write(`${line}\n`)
const out = (line: string) => void process.stdout.write(`${line}\n`)

function whole(least: number) {
  return (text: string): number => {
    const number = Number(text)
    if (!Number.isInteger(number) || number < least) throw new InvalidArgumentError(`a whole number from ${least} on`)
    return number
  }
}

function seedsOf(text: string): number[] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? []
  if (first === undefined || Number(last) < Number(first))
    throw new InvalidArgumentError('one number or a range, as in 1-20')
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index)
}

function kindsNamed(text: string): Kind[] {
  return text.split(',').map((name) => {
    const kind = KINDS.find((known) => known === name)
    if (kind === undefined) throw new InvalidArgumentError(`the kinds are ${KINDS.join(', ')}`)
    return kind
  })
}

interface Options {
  readonly seed: number
  readonly seeds?: readonly number[]
  readonly posts: number
  readonly faults: number
  readonly kinds?: readonly Kind[]
  readonly comments?: true
  readonly appeals?: true
  readonly json?: true
  readonly sabotage?: string
}

const program = new Command('npm run chaos --')
  .description('The whole service under a seeded plan of faults; ends with 1 if a promise was broken.')
  .addOption(new Option('--seed <n>', 'which plan and stream').argParser(whole(0)).default(1))
  .addOption(new Option('--seeds <a-b>', 'several, one after the other').argParser(seedsOf))
  .addOption(new Option('--posts <n>', 'posts in the stream').argParser(whole(1)).default(500))
  .addOption(new Option('--faults <n>', 'faults in the plan').argParser(whole(0)).default(18))
  .addOption(new Option('--kinds <a,b>', 'these faults alone, in the order of the seed').argParser(kindsNamed))
  .addOption(new Option('--comments', 'three in twenty posts have comments that hate judges by themselves'))
  .addOption(new Option('--appeals', 'every plan has actions and appeals'))
  .addOption(new Option('--json', 'one JSON object a seed'))
  .addOption(new Option('--sabotage <name>', 'break an invariant on purpose').choices(Object.keys(SABOTAGE)))
  .exitOverride()

async function main(): Promise<number> {
  const {
    posts,
    faults,
    kinds,
    sabotage,
    comments = false,
    appeals = false,
    ...options
  } = program.parse().opts<Options>()
  let breached = 0
  for (const seed of options.seeds ?? [options.seed]) {
    const wanted = kinds ?? kindsOf(seed, faults)
    const more: readonly Kind[] = appeals && !wanted.includes('appeals') ? ['appeals'] : []
    const outcome = await runSeed(
      { seed, posts, comments, sabotage, kinds: [...wanted, ...more] },
      { say, signal: stopping.signal },
    ).catch((error: unknown) => {
      if (stopping.signal.aborted || error instanceof UnavailableError) throw error
      say(`BREACH ${error instanceof Error ? `${error.message}: ${String(error.cause)}` : String(error)}`)
    })
    if (outcome === undefined) {
      breached++
      continue
    }
    out(options.json === true ? JSON.stringify(outcome) : ledgerOf(outcome))
    if (outcome.breaches.length > 0) breached++
  }
  return breached > 0 ? 1 : 0
}

function ledgerOf({
  seed,
  posts,
  inputs,
  verdicts,
  repeats,
  calls,
  faults,
  deaths,
  cutOff,
  seconds,
  breaches,
  logs,
}: Outcome): string {
  const { logged, journaled, failed, orphaned, erased, neverArrived } = calls
  const numbers = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, number]) => `${number} ${what}`)
      .join(', ')
  return [
    table(
      ['fault', 'to', 'at', 'for', 'messages', 'calls', ''],
      faults.map(({ kind, worker, at, seconds: lasted, messages, calls: made, note }) => [
        kind,
        worker,
        `${at.toFixed(1)} s`,
        `${lasted.toFixed(1)} s`,
        String(messages),
        String(made),
        note,
      ]),
    ),
    table(
      ['ledger', `seed ${seed}, ${posts} posts, ${faults.length} faults, ${seconds} s`],
      [
        [
          'inputs',
          Object.values(inputs)
            .reduce((sum, number) => sum + number, 0)
            .toString(),
        ],
        ...Object.entries(Object.groupBy(Object.entries(inputs), ([name]) => name.split(' ')[0] ?? '')).map(
          ([topic, own = []]) => [
            `  ${topic}`,
            numbers(Object.fromEntries(own.map(([name, number]) => [name.slice(topic.length + 1), number]))),
          ],
        ),
        ['verdicts', `${verdicts.records} records, ${verdicts.distinct} distinct: ${numbers(verdicts.byProtocol)}`],
        [
          '',
          `${verdicts.decided} decided, ${verdicts.undecided} undecided with their reason, ${verdicts.deleted} retracted`,
        ],
        [
          '',
          `${verdicts.human} by people, ${verdicts.restored} withdrawn again; ${verdicts.proposals} proposals beneath them`,
        ],
        ['repeats', repeats.length === 0 ? 'none' : `${repeats.length}, byte-identical: ${repeats.join(', ')}`],
        [
          'calls',
          `${logged} logged = ${journaled} journaled + ${failed} failed + ${orphaned} orphaned + ${erased} erased with their subject`,
        ],
        ['', `${neverArrived} more were lost by the network on their way`],
        ...(deaths.length === 0 ? [] : [['ended by themselves', deaths.join('; ')]]),
        ...(cutOff === 0 ? [] : [['stops cut off', `${cutOff}, of processes that the machine kept waiting`]]),
        ['breaches', breaches.length === 0 ? 'none' : String(breaches.length)],
      ],
    ),
    ...breaches.map((line) => `BREACH ${line}`),
    ...(logs === null ? [] : [`The processes' logs, the model's and the topics are in ${logs}`]),
  ].join('\n')
}

try {
  process.exitCode = await main()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else if (stopping.signal.aborted) process.exitCode = 130
  else if (error instanceof UnavailableError) {
    say(error.message)
    process.exitCode = 1
  } else throw error
}

// Whatever a client of the suite's own may still hold open, it ends here, with what it has said.
process.stdout.write('', () => process.exit())
