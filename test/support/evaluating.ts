import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSettings } from '../../config/load.ts'
import { protocolsOf } from '../../src/app/composition/protocols.ts'
import type { Model, ModelRequest } from '../../src/contracts/ports/model.ts'
import type { Format } from '../../src/data-files/formats.ts'
import { openRecording } from '../../src/data-files/recordings.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { fill, type LooseSchema } from '../../src/kit/understudy/json-schema.ts'
import { evaluate } from '../../src/lab/commands/eval/evaluation.ts'
import type { DataSet, EvaluationCell } from '../../src/lab/evaluation/evaluation.ts'
import { goldOf } from '../../src/lab/evaluation/gold.ts'
import type { RowPlan } from '../../src/lab/evaluation/rows.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import type { ProtocolKind } from '../../src/protocols/kind.ts'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { ownFolder } from './own-folder.ts'

/** A new empty folder, which is gone after the file's tests. */
export function scratch(): string {
  return ownFolder('evaluating')
}

export function kindOf(name: string): ProtocolKind {
  const kind = PROTOCOLS.find((one) => one.name === name)
  if (kind === undefined) throw new Error(`no protocol ${name}`)
  return kind
}

const LABELS: Readonly<Record<string, readonly string[]>> = {
  rumor: ['rumor', 'non-rumor', 'unverified'],
  hate: ['hate', 'non-hate'],
  safety: ['unsafe', 'safe'],
  counterspeech: [],
}

/** By aspect the lowest and the highest score, under the shipped settings. */
export function scalesOf(protocol: string): NonNullable<Protocol['scales']> {
  return protocolsOf(loadSettings({}), 'scales', [kindOf(protocol)]).protocols[0]?.scales ?? {}
}

/** A file's labelled items, all of them. */
export async function dataSetOf(file: string, format: Format, protocol: string): Promise<DataSet> {
  const judged = { name: protocol, labels: LABELS[protocol] ?? [], scales: scalesOf(protocol) }
  const items = await goldOf(file, format, judged, () => {})
  return { name: 'data', file, format, items: items.filter(({ why }) => why === undefined), leftOut: {}, unreadable: 0 }
}

/** A model whose answers fit their schema: what `say` says, by property, and the rest filled in. It keeps what it was shown. */
export function standIn(say: (request: ModelRequest) => Record<string, unknown>): Model & { shown: ModelRequest[] } {
  const shown: ModelRequest[] = []
  return {
    shown,
    async complete(request) {
      shown.push(request)
      const text = JSON.stringify(fill(request.answer.schema as LooseSchema, { seed: 1, known: say(request) }))
      return { text, finish: 'stop', model: 'stand-in', promptTokens: 100, cachedTokens: 0, completionTokens: 10 }
    },
  }
}

/** Evaluates rows on a data set with a stand-in; the answers are kept in a folder that is thrown away. */
export async function evaluated(
  protocol: string,
  data: DataSet,
  model: Model,
  rows: readonly RowPlan[],
  over: { kind?: ProtocolKind; library?: string; keepNearDuplicates?: boolean; folder?: string } = {},
): Promise<EvaluationCell[]> {
  const shipped = loadSettings({})
  const library = { ...shipped.library, path: over.library ?? join(scratch(), 'library') }
  const recording = await openRecording(over.folder ?? scratch())
  try {
    return await evaluate(
      { ...shipped, library },
      {
        kind: over.kind ?? kindOf(protocol),
        labels: LABELS[protocol] ?? [],
        parts: [{ data, rows }],
        recording,
        model,
        paper: () => ({}),
        shelf: '',
        maxCost: Number.POSITIVE_INFINITY,
        seed: '1',
        keepNearDuplicates: over.keepNearDuplicates ?? false,
      },
      { signal: new AbortController().signal, progress: () => {}, say: () => {} },
    )
  } finally {
    await recording.close()
  }
}

/** The protocol alone, with some of its switches set. */
export function rowBy(name: string, switches: Readonly<Record<string, unknown>> = {}): RowPlan {
  return { name, how: { by: 'protocol', switches } }
}

/** Posts of twelve words each that no other has; every second is hateful, and every fourth is in Korean. */
export function hateFile(items: number): string {
  const lines = Array.from({ length: items }, (_, at) => ({
    type: 'post',
    id: `p${at}`,
    createdAt: '2025-01-01T12:00:00Z',
    lang: at % 4 < 2 ? 'en' : 'ko',
    text: textOf(at),
    label: at % 2 === 0 ? 'hate' : 'non-hate',
  }))
  const file = join(scratch(), 'posts.jsonl')
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}

export function textOf(at: number): string {
  return `${at % 2 === 0 ? 'vile' : 'mild'} ${Array.from({ length: 12 }, (_, word) => `t${at}w${word}`).join(' ')}`
}

/** A judge that is right on this share of texts, by seed: the same on the same text. */
export function noisy(right: number, seed: string | number): (text: string) => boolean {
  return (text) => {
    const [word = ''] = /t\d+w0/.exec(text) ?? []
    const vile = text.includes('vile ')
    return seededRandom(`${seed} ${word}`).unit() < right ? vile : !vile
  }
}

/** All that a request shows, as one text. */
export function textIn({ messages }: ModelRequest): string {
  return messages.map(({ content }) => content).join('\n')
}
