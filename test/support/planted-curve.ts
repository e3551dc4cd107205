import { loadFiles, loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import type { Ask } from '../../src/contracts/facts/ask.ts'
import { noComments, type Ruling } from '../../src/contracts/facts/verdict.ts'
import type { Script } from '../../src/judging/engine/script.ts'
import { rowsBeside } from '../../src/lab/commands/eval/rows.ts'
import { cellOf, type DataSet, type EvaluationCell } from '../../src/lab/evaluation/evaluation.ts'
import type { ItemOutcome } from '../../src/lab/evaluation/outcomes.ts'
import type { RowPlan } from '../../src/lab/evaluation/rows.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { hate } from '../../src/protocols/hate/index.ts'
import type { ProtocolKind } from '../../src/protocols/kind.ts'
import { onePrompt } from '../../src/protocols/one-prompt.ts'
import { EVERY_DEBATE, plainFence, plainRank } from '../protocols/drive.ts'

// A planted model, by which it is known which row of hate's is the cheapest that is as good as the best: it is right with a known
// probability by an item's difficulty, and its perspectives agree by a known rule.

/** How often each is right on easy and on hard items. */
const RIGHT = {
  /** All perspectives at once, on an easy item; of most of them, on a hard one. */
  perspectives: { easy: 0.97, hard: 0.5 },
  /** On an easy item the debate ends as the perspectives said. */
  judge: { hard: 0.75, hardAfterOneCall: 0.5 },
  'zero-shot': { easy: 0.88, hard: 0.5 },
  'chain-of-thought': { easy: 0.9, hard: 0.55 },
  'self-consistency': { easy: 0.9, hard: 0.55 },
} as const
/** On the others two perspectives say one thing and the third another, and all what the first says where they are asked in one call. */
const EASY = 0.6

/** Of three rows the debate is saved; one of them decides otherwise than the others by it. */
export const RIGHT_ROW = 'no debate where all perspectives agree'

const LABELS = ['hate', 'non-hate'] as const
const settings = loadSettings({})

interface PlantedItem {
  readonly id: string
  readonly gold: (typeof LABELS)[number]
  readonly easy: boolean
  /** Between 0 and 1, the same for the same name. */
  drawn(name: string): number
}

function plantedItem(seed: string, at: number): PlantedItem {
  const drawn = (name: string) => seededRandom(`${seed} ${at} ${name}`).unit()
  return { id: `item-${at}`, gold: at % 2 === 0 ? 'hate' : 'non-hate', easy: drawn('difficulty') < EASY, drawn }
}

function other(side: string): string {
  return side === 'hate' ? 'non-hate' : 'hate'
}

/** The side of each of three perspectives, asked alone or in one call. */
export function sidesOf({ gold, easy, drawn }: PlantedItem, together: boolean): string[] {
  const right = drawn('perspectives') < (easy ? RIGHT.perspectives.easy : RIGHT.perspectives.hard)
  const most = right ? gold : other(gold)
  const odd = easy ? -1 : Math.floor(drawn('odd') * 3)
  const alone = [0, 1, 2].map((nth) => (nth === odd ? other(most) : most))
  return together ? alone.map(() => alone[0] as string) : alone
}

/** Answers to the asks of one case, in the order in which they come. */
function answering(item: PlantedItem): (ask: Ask) => unknown {
  let together = false
  const named = (side: string) => ({ reason: 'r', label: side === 'hate' ? 'Hateful' : 'Not hateful' })
  let asked = 0
  return (ask) => {
    if (ask.stage === 'perspective') {
      together = ask.label?.includes(', ') === true
      const sides = sidesOf(item, together)
      if (!together) return named(sides[asked++] as string)
      return Object.fromEntries(sides.map((side, at) => [`annotator${at + 1}`, named(side)]))
    }
    if (ask.stage === 'debate') return { argument: 'a', holds: 'yes' }
    if (ask.stage === 'judge') {
      const { hard, hardAfterOneCall } = RIGHT.judge
      const [first = ''] = sidesOf(item, false)
      const isRight = item.drawn('judge') < (together ? hardAfterOneCall : hard)
      return { reason: 'r', label: item.easy ? first : isRight ? item.gold : other(item.gold) }
    }
    const often = RIGHT[ask.stage as 'zero-shot'][item.easy ? 'easy' : 'hard']
    const label = item.drawn(`${ask.stage} ${ask.draw ?? ''}`) < often ? item.gold : other(item.gold)
    return ask.stage === 'zero-shot' ? { label } : { reasoning: 'r', label }
  }
}

/** The protocol of a row. */
function kindOf({ how }: RowPlan): ProtocolKind {
  if (how.by === 'one-prompt') return onePrompt(hate, { ask: how.ask })
  return how.by === 'self-consistency' ? onePrompt(hate, { ask: 'self-consistency', draws: 3 }) : hate
}

const TOKEN = 4
const PRICE = { prompt: 0.1e-6, completion: 0.5e-6 }

function ended(script: Script, answer: (ask: Ask) => unknown): { ruling: Ruling; usage: ItemOutcome['usage'] } {
  let [calls, sequence, prompt, completion] = [0, 0, 0, 0]
  let step = script.next()
  while (!step.done) {
    sequence++
    step = script.next(
      step.value.map((ask) => {
        const said = answer(ask)
        calls++
        prompt += ask.messages.reduce((sum, { content }) => sum + content.length, 0) / TOKEN
        completion += JSON.stringify(said).length / TOKEN
        return { ok: true as const, answer: ask.answer.parse(said), model: 'planted' }
      }),
    )
  }
  const costUsd = prompt * PRICE.prompt + completion * PRICE.completion
  return { ruling: step.value.ruling, usage: { calls, sequence, tokens: prompt + completion, costUsd } }
}

/** All rows of `--rows thrifty`, judged by the planted model on so many items. */
export function plantedCells(seed: string, count: number): { cells: EvaluationCell[]; items: PlantedItem[] } {
  const items = Array.from({ length: count }, (_, at) => plantedItem(seed, at))
  const data: DataSet = {
    name: 'planted',
    file: 'planted',
    format: 'gavel',
    leftOut: {},
    unreadable: 0,
    items: items.map(({ id, gold }, line) => ({ id, line, unit: id, slices: {}, label: gold })),
  }
  const { enabled: _, ...given } = settings.protocols.hate as Record<string, unknown> & { enabled: boolean }
  const gate: RowPlan = { name: RIGHT_ROW, how: { by: 'protocol', switches: { debateWhen: 'contested' } } }
  const cells = [...rowsBeside(hate, { labels: LABELS, subject: 'post' }, 'thrifty'), gate].map((row) => {
    const own = row.how.by === 'protocol' ? row.how.switches : {}
    // Without its gate the first row debates all, and the curve shows what the gate and each saving are worth.
    const switches = { ...EVERY_DEBATE.hate, ...(row.name === 'thrifty' ? { debateWhen: 'contested' } : {}), ...own }
    const protocol = kindOf(row).make({
      settings: { ...given, ...switches },
      prompts: promptsOf('hate'),
      files: loadFiles,
      fence: plainFence,
      samplingRank: plainRank,
    })
    const outcomes = items.map((item): ItemOutcome => {
      const post = { id: item.id, text: `the words of ${item.id}`, createdAt: 0 }
      const { ruling, usage } = ended(protocol.script({ post, comments: [], leftOut: 0 }, null), answering(item))
      return {
        id: item.id,
        unit: item.id,
        slices: {},
        gold: item.gold,
        label: ruling.label,
        scores: ruling.scores,
        usage,
        confidence: null,
        rationale: '',
        degraded: ruling.degraded,
        comments: noComments(),
        heldOut: { own: 0, nearDuplicates: 0 },
        shelves: { searched: 0, bare: {} },
      }
    })
    return cellOf({ row, data, draws: null, outcomes, models: [], refused: 0, comments: 0 }, LABELS, seed)
  })
  return { cells, items }
}
