import { type ActionTaken, actionMessage } from '../../src/contracts/facts/action-messages.ts'
import { review } from '../../src/contracts/facts/decision-messages.ts'
import { type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { puidOf } from '../../src/record/statement-words.ts'
import type { TopicRecord } from './reader.ts'
import type { Held } from './recorded.ts'

/** What was asked of the record about actions of one tenant, as its commands print it. */
export interface ActionAccount {
  readonly tenant: string
  /** `gavel report`. */
  readonly report: string
  /** `gavel reasons send --dry-run`: statements, and what has none and why. */
  readonly statements: string
}

/**
 * The record has each action once, the report counts these, each has one statement or says why it has none, and where its
 * verdict's place was taken by another label its reversal is asked for. In words what does not hold.
 */
export function actionBreaches(
  topics: {
    readonly actions: readonly TopicRecord[]
    readonly verdicts: readonly TopicRecord[]
    readonly reviews: readonly TopicRecord[]
  },
  held: Pick<Held, 'actions'>,
  { tenant, report, statements }: ActionAccount,
): string[] {
  const messages = topics.actions.map(({ value }) => actionMessage.parse(JSON.parse(value)))
  const taken = new Map<string, ActionTaken>()
  for (const one of messages) if (one.withdraw !== true && !taken.has(nameOf(one))) taken.set(nameOf(one), one)
  const over = new Set(messages.flatMap((one) => (one.withdraw === true ? [nameOf(one)] : [])))
  const inRecord = held.actions.flatMap(({ said, message }) =>
    said === 'action' ? [nameOf(actionMessage.parse(message))] : [],
  )
  const own = [...taken].filter(([, one]) => one.tenant === tenant)
  const stated = [...statements.matchAll(/"puid":"([^"]+)"/g)].map(([, puid = '']) => puid)
  const unstated = own.map(([, one]) => one).filter(({ id }) => !statements.includes(`${id}: `))
  const breaches: [string, readonly string[]][] = [
    ['not in the record', [...taken.keys()].filter((name) => !inRecord.includes(name))],
    ['in the record more than once', inRecord.filter((name, at) => inRecord.indexOf(name) !== at)],
    ['in the record, and not on the topic', inRecord.filter((name) => !taken.has(name))],
    ['stated more than once', stated.filter((puid, at) => stated.indexOf(puid) !== at)],
    [
      'neither stated nor said to lack something',
      unstated.filter(({ id }) => !stated.includes(puidOf(tenant, id))).map(nameOf),
    ],
    ['stated, and never done', stated.filter((puid) => !own.some(([, { id }]) => puidOf(tenant, id) === puid))],
    ['without its reversal', lackingReversal([...taken.values()], over, topics)],
    ...figuresThatDiffer(report, {
      actions: own.length,
      actions_withdrawn: own.filter(([name]) => over.has(name)).length,
    }),
  ]
  return breaches.flatMap(([what, all]) =>
    all.length === 0 ? [] : [`actions: ${what}: ${all.length} (${all.slice(0, 5).join('; ')})`],
  )
}

const nameOf = ({ tenant, id }: { readonly tenant: string; readonly id: string }) => `${tenant}/${id}`

/** Actions that stand, and whose verdict was followed by one with another label in the end. */
function lackingReversal(
  taken: readonly ActionTaken[],
  over: ReadonlySet<string>,
  { verdicts, reviews }: Pick<Parameters<typeof actionBreaches>[0], 'verdicts' | 'reviews'>,
): string[] {
  const byId = new Map<string, Verdict>()
  for (const { value } of verdicts) {
    const one = verdict.parse(JSON.parse(value))
    byId.set(one.id, one)
  }
  const asked = new Set(reviews.map(({ value }) => review.parse(JSON.parse(value)).id))
  return taken.flatMap((one) => {
    const rests = byId.get(one.verdictId ?? '')
    if (over.has(nameOf(one)) || rests === undefined) return []
    const chain = [...byId.values()].filter(
      ({ protocol, tenant, subjectId }) =>
        protocol === rests.protocol && tenant === rests.tenant && subjectId === rests.subjectId,
    )
    const last = chain.reduce((newest, other) => (other.revision > newest.revision ? other : newest), rests)
    if (last.label === null || rests.label === null || last.label === rests.label) return []
    return asked.has(`${last.id}~reversal~${one.id}`) ? [] : [`${nameOf(one)} at ${last.id}`]
  })
}

/** Figures of the report whose sum is another than the topic has. */
function figuresThatDiffer(report: string, wanted: Readonly<Record<string, number>>): [string, string[]][] {
  const [head = '', ...lines] = report.replace(/^\uFEFF/, '').split(/\r?\n/)
  const columns = head.split(',')
  const rows = lines.map((line) => line.split(','))
  return Object.entries(wanted).map(([indicator, number]) => {
    const sum = rows
      .filter((row) => row[columns.indexOf('indicator')] === indicator)
      .reduce((so, row) => so + Number(row[columns.indexOf('value')]), 0)
    return [
      `counted otherwise by the report (${indicator})`,
      sum === number ? [] : [`${sum}, and the topic has ${number}`],
    ]
  })
}
