import type { Settings } from '../../../config/schema.ts'
import { judgeFileSubjects } from '../../app/commands/judging/file-judging.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { estimateTokens } from '../../contracts/facts/token-estimate.ts'
import { transcript } from '../../contracts/facts/verdict.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { BadLine, FileMessage } from '../../data-files/file-message.ts'
import { type Format, fileMessages } from '../../data-files/formats.ts'
import type { ProtocolKind } from '../../protocols/kind.ts'
import { PROTOCOLS } from '../../protocols/registry.ts'
import { understudyModel } from './model.ts'
import { paddedAnswer } from './padded-answers.ts'
import { type PromptShares, promptShares, type RecordedPrompt } from './prompt-parts.ts'

/** What verdicts of a protocol take in one way of asking, mean over verdicts. */
export interface PromptCost {
  readonly protocol: string
  /** `default`, `debate always`, `thrifty`, `paper`, or a single saving. */
  readonly way: string
  readonly verdicts: number
  readonly calls: number
  readonly sequence: number
  readonly promptTokens: number
  readonly answerTokens: number
  readonly usd: number
  readonly shares: PromptShares
}

/**
 * What a verdict of each protocol costs by default, with every debate, under each preset and with each saving alone: a file's subjects, each judged once
 * with all its comments, by the understudy in this process, its texts as long as models write them. Nothing is remembered from
 * one verdict to the next.
 */
export async function promptsBench(
  given: Settings,
  data: { readonly file: string; readonly format: Format },
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<PromptCost[]> {
  const costs: PromptCost[] = []
  for (const kind of PROTOCOLS) {
    const { name } = kind
    for (const [way, switches] of waysOf(kind)) {
      say(`${name}, ${way}…`)
      const own = { ...entryOf(given.protocols, name), ...switches, enabled: true }
      const settings = {
        ...given,
        memo: { ...given.memo, enabled: false },
        protocols: { ...given.protocols, [name]: own } as Settings['protocols'],
      }
      const cost = await costOf(settings, name, data, signal)
      if (cost === null) {
        say(`${name}: no row, because it judges no subject of ${data.file}; --data takes another file.`)
        break
      }
      costs.push({ protocol: name, way, ...cost })
    }
  }
  return costs
}

function waysOf({ settings, savings = {} }: ProtocolKind): (readonly [way: string, switches: object])[] {
  if (!('preset' in settings.shape)) return [['default', {}]]
  return [
    ['default', { preset: 'none' }],
    ...('debateWhen' in settings.shape ? [['debate always', { preset: 'none', debateWhen: 'always' }] as const] : []),
    ['thrifty', { preset: 'thrifty' }],
    ...Object.entries(savings).map(([saving, switches]) => [saving, { preset: 'none', ...switches }] as const),
    ['paper', { preset: 'paper' }],
  ]
}

async function costOf(
  settings: Settings,
  protocol: string,
  { file, format }: { readonly file: string; readonly format: Format },
  signal: AbortSignal,
): Promise<Omit<PromptCost, 'protocol' | 'way'> | null> {
  const asked: RecordedPrompt[] = []
  const sum = { verdicts: 0, calls: 0, sequence: 0, promptTokens: 0, answerTokens: 0, usd: 0 }
  async function* messages(bad: (line: BadLine) => void): AsyncGenerator<FileMessage> {
    for await (const message of fileMessages(file, format, bad)) if (message.type !== 'feedback') yield message
  }
  await judgeFileSubjects(
    settings,
    { protocol, file, format, messages, finalAge: Number.POSITIVE_INFINITY, secret: 'bench', model: padded(asked) },
    {
      signal,
      judged({ usage }, json) {
        const { turns } = transcript.parse(JSON.parse(json.transcript))
        sum.verdicts++
        sum.calls += usage.calls
        sum.sequence += new Set(turns.filter(({ calls }) => calls.length > 0).map(({ round }) => round)).size
        sum.promptTokens += usage.promptTokens
        sum.answerTokens += usage.completionTokens
        sum.usd += usage.costUsd
      },
      refused: () => {},
      corrected: () => {},
      unrouted: () => {},
      failed: () => {},
    },
  )
  if (sum.verdicts === 0) return null
  const mean = (of: number) => of / sum.verdicts
  return {
    verdicts: sum.verdicts,
    calls: mean(sum.calls),
    sequence: mean(sum.sequence),
    promptTokens: mean(sum.promptTokens),
    answerTokens: mean(sum.answerTokens),
    usd: mean(sum.usd),
    shares: promptShares(asked),
  }
}

/** The understudy, or another, its answers padded; it answers by the name that it was asked by, so that prices are found. */
export function padded(asked: RecordedPrompt[], inner: Model = understudyModel()): Model {
  return {
    async complete(request) {
      asked.push({ model: request.model, messages: request.messages, answer: request.answer })
      const reply = await inner.complete(request)
      const text = paddedAnswer(reply.text ?? '')
      return { ...reply, text, model: request.model, completionTokens: estimateTokens(text) }
    },
  }
}

/** For docs/cost.md, in Markdown. */
export function promptsTable(costs: readonly PromptCost[]): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const head = ['protocol', 'way', 'calls', 'in sequence', 'prompt', 'answers', '$ a thousand']
  const caches = ['cached in blocks', 'cached from 1,024', 'packaging']
  return [
    row([...head, ...caches]),
    row([...head, ...caches].map(() => '---')),
    ...costs.map(({ protocol, way, calls, sequence, promptTokens, answerTokens, usd, shares }) =>
      row([
        `\`${protocol}\``,
        way,
        calls.toFixed(1),
        sequence.toFixed(1),
        promptTokens.toFixed(0),
        answerTokens.toFixed(0),
        (usd * 1_000).toFixed(2),
        ...[shares.inBlocks, shares.fromThousand, shares.fences + shares.form].map(percent),
      ]),
    ),
  ].join('\n')
}
