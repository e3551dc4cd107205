import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { protocolsOf } from '../../../src/app/composition/protocols.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'
import { openRecording } from '../../../src/data-files/recordings.ts'
import { evaluate } from '../../../src/lab/commands/eval/evaluation.ts'
import type { RowPlan } from '../../../src/lab/evaluation/rows.ts'
import { dataSetOf, kindOf, rowBy, scratch, standIn, textIn } from '../../support/evaluating.ts'

const settings = loadSettings({})
const shelf = protocolsOf(settings, 'shelves', [kindOf('safety')]).protocols[0]?.learns ?? ''
const LESSON = 'A lit match beside letters is arson.'

/** Items of a batch, alike but for their number: whatever is on a shelf is near to them. */
function batch(name: string, labels: readonly string[]) {
  const file = join(scratch(), name)
  const lines = labels.map((label, at) =>
    JSON.stringify({ id: `${name}-${at}`, text: `${name} number ${at}: a match over a letterbox`, label }),
  )
  writeFileSync(file, lines.join('\n'))
  return dataSetOf(file, 'gavel', 'safety').then((data) => ({ ...data, name }))
}

/** Rows over batches, with a curator that fails at what `loses` says; what was asked and said. */
async function judged(
  rows: readonly RowPlan[],
  loses: (asked: string) => boolean = () => false,
  signal = new AbortController().signal,
) {
  const parts = await Promise.all(
    [batch('first', ['unsafe', 'safe']), batch('second', ['unsafe']), batch('third', ['safe'])].map(async (data) => ({
      data: await data,
      rows,
    })),
  )
  const model = standIn((request) => {
    if (request.answer.name === 'curate' && loses(textIn(request))) throw new PermanentError('refused', 'not this one')
    return request.answer.name === 'curate' ? { summary: LESSON, keyCues: ['a lit match'] } : {}
  })
  const said: string[] = []
  const recording = await openRecording(scratch())
  try {
    const cells = await evaluate(
      { ...settings, library: { ...settings.library, path: join(scratch(), 'library') } },
      {
        kind: kindOf('safety'),
        labels: ['unsafe', 'safe'],
        parts,
        recording,
        model,
        paper: () => ({}),
        shelf,
        maxCost: Number.POSITIVE_INFINITY,
        seed: '1',
        keepNearDuplicates: true,
      },
      { signal, progress: () => {}, say: (why) => said.push(why) },
    )
    return { cells, said, shown: model.shown }
  } finally {
    await recording.close()
  }
}

const LEARNS: RowPlan = { ...rowBy('learning'), models: { curator: 'the curator' }, learns: true }
const curates = ({ answer }: ModelRequest) => answer.name === 'curate'
/** How many precedents the items of a batch were shown, by the row's cell. */
const without = (cells: Awaited<ReturnType<typeof judged>>['cells'], row: string) =>
  cells.filter((cell) => cell.row === row).map((cell) => [cell.data, cell.counts.items, cell.counts.withoutExamples])

it('a row that learns is shown the lessons of all batches before, another row none, and nothing is learnt of the last', async () => {
  const { cells, said, shown } = await judged([rowBy('debate'), LEARNS])
  expect(without(cells, 'learning')).toEqual([
    ['first', 2, 2],
    ['second', 1, 0],
    ['third', 1, 0],
  ])
  expect(without(cells, 'debate')).toEqual([
    ['first', 2, 2],
    ['second', 1, 1],
    ['third', 1, 1],
  ])
  const asked = shown.filter(curates)
  expect(asked.map(({ model }) => model)).toEqual(['the curator', 'the curator', 'the curator'])
  expect(asked.map((request) => /(first|second|third) number \d/.exec(textIn(request))?.[0]).sort()).toEqual([
    'first number 0',
    'first number 1',
    'second number 0',
  ])
  // What a case taught is read by those after it, as a precedent.
  const readers = shown.filter((request) => !curates(request) && textIn(request).includes(LESSON))
  expect(readers.length).toBeGreaterThan(0)
  for (const reader of readers) expect(textIn(reader)).toMatch(/(second|third) number 0/)
  expect(said).toEqual([])
})

it('the curator of a row under `paper` is asked in the paper’s words', async () => {
  const paper: RowPlan = { ...LEARNS, ...rowBy('learning', { preset: 'paper' }) }
  const words = async (row: RowPlan) => (await judged([row])).shown.filter(curates).map(textIn).join('\n')
  expect(await words(paper)).toContain('Answer in this form: {"reasoning"')
  expect(await words(LEARNS)).not.toContain('Answer in this form')
})

it('a case of which the curator makes nothing is said, and the others are learnt from', async () => {
  const { cells, said } = await judged([LEARNS], (asked) => asked.includes('first number 1'))
  expect(said).toEqual(['learning: the curator failed on 1 of 2 cases of first.'])
  expect(without(cells, 'learning')[1]).toEqual(['second', 1, 0])
})

it('an evaluation that is stopped while the curator is asked says that it was stopped, and of no fault', async () => {
  const stop = new AbortController()
  const cutOff = (): never => {
    stop.abort()
    throw new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false })
  }
  const stopped = judged([LEARNS], cutOff, stop.signal)
  await expect(stopped).rejects.toThrow(OperatorError)
  await expect(stopped).rejects.toThrow(/^Stopped: 2 of 4 verdicts\./)
})

it('a protocol that does not learn has no such row', async () => {
  const rows = [LEARNS]
  const data = await dataSetOf(
    join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets', 'kodoli.jsonl'),
    'kodoli',
    'hate',
  )
  const recording = await openRecording(scratch())
  const run = evaluate(
    settings,
    {
      kind: kindOf('hate'),
      labels: ['hate', 'non-hate'],
      parts: [{ data, rows }],
      recording,
      shelf: '',
      model: standIn(() => ({})),
      paper: () => ({}),
      maxCost: 1,
      seed: '1',
      keepNearDuplicates: false,
    },
    { signal: new AbortController().signal, progress: () => {}, say: () => {} },
  )
  await expect(run).rejects.toThrow('hate does not learn from its cases.')
  await recording.close()
})
