import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { positive, positiveWhole, protocolName } from '../../../cli/options.ts'
import { printable, table } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { makeFolder } from '../../../data-files/make-folder.ts'
import { version } from '../../../platform/package-folder.js'
import type { DataSet, Evaluation } from '../../evaluation/evaluation.ts'
import { isUnanswered } from '../../evaluation/unanswered.ts'
import { dataSet } from '../eval/data-sets.ts'
import { judgeTable } from '../eval/judge-table.ts'
import type { EvalOptions } from '../eval/options.ts'
import { writeReports } from '../eval/reports.ts'
import { kindNamed, ownTable, protocolOf } from '../eval/tables.ts'
import { costOf, type Proof, type ProofPart, partOf, proofPage, proofTable } from './proof-page.ts'
import { PUBLIC_SETS, type PublicSet } from './public-sets.ts'

interface Options {
  readonly budget: number
  readonly data: string
  readonly out: string
  readonly size: number
  readonly protocol?: readonly string[]
}

/** Items whose cost tells how many more the budget pays for. They are the first of the sample, so that nothing is paid twice. */
const PILOT = 10
/** Of the money that is left for a protocol, so much is planned: items differ in length. */
const PLANNED = 0.8
/** The seed of samples and intervals. */
const SEED = '1'

/** `gavel prove`: what each protocol is worth with the settings' models, over public data sets, as one page. */
export const command: Command<Options, Proof> = {
  options: [
    new Option('--budget <usd>', 'what it may cost in all, in US dollars').argParser(positive).makeOptionMandatory(),
    new Option(
      '--data <folder>',
      'where the data sets are; those that are not there are named with the way to them',
    ).default('.gavel/public-sets'),
    new Option('--out <folder>', 'record answers and write the page there; an interrupted run resumes').default(
      '.gavel/proof',
    ),
    new Option('--size <items>', 'judge at most so many items a protocol').default(200).argParser(positiveWhole),
    new Option('--protocol <name>', 'only this protocol; repeatable').argParser(
      (name: string, before: readonly string[] | undefined) => [...(before ?? []), protocolName(name)],
    ),
  ],
  json: true,
  help: 'Quality with intervals beside one zero-shot prompt, cost, latency, and what is unsure. Judges as many items as the budget pays for, the same as "gavel eval" does. See docs/evaluation.md.\n\nExample:\n  $ gavel prove --budget 20',
  async run(invocation) {
    const { options, terminal, settings: read } = invocation
    const settings = read()
    const wanted = PUBLIC_SETS.filter(({ protocol }) => options.protocol?.includes(protocol) ?? true)
    const there = wanted.filter(({ file }) => existsSync(join(options.data, file)))
    const missing = wanted.filter((set) => !there.includes(set))
    for (const { protocol, file, get, licence } of missing)
      terminal.say(`${protocol}: ${join(options.data, file)} is not there (${licence}). ${get}`)
    if (there.length === 0)
      throw new OperatorError(`No data set is in ${options.data}. Nothing was asked; get one as is said above.`)
    await makeFolder(options.out)
    const parts: ProofPart[] = []
    let spent = 0
    for (const [at, set] of there.entries()) {
      const part = await proved(settings, set, invocation, {
        share: (options.budget - spent) / (there.length - at),
        left: options.budget - spent,
      })
      spent += part.usd
      parts.push(part)
    }
    const proof: Proof = {
      schema: 1,
      gavel: version(),
      budget: options.budget,
      usd: spent,
      parts,
      missing: missing.map(({ protocol, file, get }) => ({ protocol, file, get })),
    }
    for (const [name, content] of [
      ['proof.json', `${JSON.stringify(proof)}\n`],
      ['proof.html', proofPage(proof)],
    ] as const) {
      await writeFile(join(options.out, `${name}.new`), content)
      await rename(join(options.out, `${name}.new`), join(options.out, name))
    }
    terminal.say(`Written to ${options.out}: proof.html, proof.json, and a report for each protocol.`)
    return proof
  },
  print(proof, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(proof))
    else {
      const { head, rows } = proofTable(proof)
      terminal.out(
        table(
          head,
          rows.map((cells) => cells.map((cell) => printable(cell, 80))),
        ),
      )
      for (const { protocol, unsure } of proof.parts)
        for (const sentence of unsure) terminal.out(`- ${protocol}: ${printable(sentence, 600)}`)
    }
  },
}

type Money = { readonly share: number; readonly left: number }

/** A protocol on its data set: first a few items, for what they cost, then as many as its share of the money pays for. */
async function proved(
  settings: Settings,
  set: PublicSet,
  invocation: Invocation<Options>,
  { share, left }: Money,
): Promise<ProofPart> {
  const { options, terminal } = invocation
  const out = join(options.out, set.protocol)
  const all = await itemsOf(settings, set, invocation)
  const judged = async (size: number, maxCost: number): Promise<Evaluation> => {
    const sets = [await itemsOf(settings, set, invocation, size)]
    const kind = kindNamed(set.protocol)
    const only = kind.labels === undefined ? undefined : [set.protocol, 'zero-shot']
    const given = [{ file: join(options.data, set.file), format: set.format }]
    const planned = ownTable(settings, set.protocol, protocolOf(settings, kind), given, {
      beside: 'baselines',
      added: [],
      only,
    })
    const evalOptions: EvalOptions = {
      seed: SEED,
      contradictions: 'keep',
      unverified: 'leave-out',
      profanity: 'hate',
      margin: 0,
      out,
      maxCost,
    }
    const evaluation = await judgeTable(settings, { ...planned, timed: true, costOption: '--budget' }, sets, {
      ...invocation,
      options: evalOptions,
    })
    if (evaluation === null) throw new Error('an evaluation that asks has no result')
    if (isUnanswered(evaluation.table.flatMap(({ outcomes }) => outcomes)))
      throw new OperatorError('No call was answered, so nothing is known. "gavel doctor" asks each model.')
    return evaluation
  }
  // As many of each label.
  const labels = set.balanced ? new Set(all.items.map(({ label }) => label)).size : 1
  const even = (size: number) => Math.max(labels, size - (size % labels))
  const most = Math.min(options.size, all.items.length)
  const pilot = await judged(even(Math.min(PILOT, most)), left)
  const usdAnItem = pilot.table.reduce((sum, { perItem }) => sum + perItem.costUsd, 0)
  const payable = usdAnItem === 0 ? most : Math.floor((share * PLANNED) / usdAnItem)
  const size = even(Math.min(most, Math.max(PILOT, payable)))
  terminal.say(`${set.protocol}: ${size} items, about $${(usdAnItem * size).toFixed(2)}.`)
  const evaluation = await judged(size, left - costOf(pilot.table))
  terminal.say(await writeReports(out, evaluation, { compared: [], texts: null, debates: () => null }))
  return partOf(set, evaluation)
}

/** The items of a set: of this size, or all that may be judged. */
async function itemsOf(
  settings: Settings,
  { protocol, file, format, balanced }: PublicSet,
  { options, terminal }: Invocation<Options>,
  size?: number,
): Promise<DataSet> {
  const { labels, scales } = protocolOf(settings, kindNamed(protocol))
  const wanted = { file: join(options.data, file), format, name: file, seed: SEED, contradictions: 'keep' } as const
  return dataSet(
    {
      ...wanted,
      balanced,
      unverified: 'leave-out',
      profanity: 'hate',
      labelAs: {},
      ...(size === undefined ? {} : { size }),
    },
    { name: protocol, labels, scales },
    (why) => (size === undefined ? terminal.say(printable(why, 400)) : undefined),
  )
}
