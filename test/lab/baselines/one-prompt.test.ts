import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'
import type { EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import type { RowPlan } from '../../../src/lab/evaluation/rows.ts'
import { onePrompt } from '../../../src/protocols/one-prompt.ts'
import { dataSetOf, evaluated, kindOf, scratch, standIn, textIn } from '../../support/evaluating.ts'

const ZERO: RowPlan = { name: 'zero-shot', how: { by: 'one-prompt', ask: 'zero-shot' } }
const THOUGHT: RowPlan = { name: 'chain of thought', how: { by: 'one-prompt', ask: 'chain-of-thought' } }
const consistent = (draws: number): RowPlan => ({ name: 'consistent', how: { by: 'self-consistency', draws } })

function fileOf(lines: readonly object[]): string {
  const file = join(scratch(), 'file.jsonl')
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}
const at = (minute: number) => new Date(Date.UTC(2025, 0, 1, 12, minute)).toISOString()
const hateful = { type: 'post', id: 'p', text: 'they are vermin', createdAt: at(0), label: 'hate' }

/** Judges one post by these rows, with what the stand-in says to each question. */
async function judged(
  protocol: string,
  lines: readonly object[],
  rows: readonly RowPlan[],
  say: (request: ModelRequest) => object,
) {
  const model = standIn((request) => ({ ...say(request) }))
  const cells = await evaluated(protocol, await dataSetOf(fileOf(lines), 'gavel', protocol), model, rows)
  return { cells: cells as [EvaluationCell, ...EvaluationCell[]], shown: model.shown }
}

describe('one prompt', () => {
  it('shows the text in its fence and asks for the label alone, at temperature 0', async () => {
    const { cells, shown } = await judged('hate', [hateful], [ZERO], () => ({ label: 'hate' }))
    expect(shown).toHaveLength(1)
    const [request] = shown as [ModelRequest]
    expect(textIn(request)).toMatch(/<<post:[0-9a-f]{16}>>\nthey are vermin\n<<end:/)
    expect(request.temperature).toBe(0)
    expect(Object.keys((request.answer.schema as { properties: object }).properties)).toEqual(['label'])
    const { enum: offered } = (request.answer.schema as { properties: { label: { enum: string[] } } }).properties.label
    expect(offered.toSorted()).toEqual(['hate', 'non-hate'])
    expect(cells[0].outcomes[0]).toMatchObject({ label: 'hate', gold: 'hate', confidence: null })
  })

  it('shows what is said in a clip', async () => {
    const spoken = { ...hateful, media: [{ kind: 'audio', transcript: 'said aloud' }] }
    const { shown } = await judged('hate', [spoken], [ZERO], () => ({ label: 'hate' }))
    expect(shown.map(textIn).join()).toContain('said aloud')
  })

  it('asks for reasons before the label in a chain of thought, which become the rationale', async () => {
    const { cells, shown } = await judged('hate', [hateful], [THOUGHT], () => ({
      reasoning: 'step one',
      label: 'non-hate',
    }))
    const [{ answer }] = shown as [ModelRequest]
    expect(Object.keys((answer.schema as { properties: object }).properties)).toEqual(['reasoning', 'label'])
    expect(cells[0].outcomes[0]).toMatchObject({ label: 'non-hate', rationale: 'step one' })
  })

  it('turns the labels for half of all texts, in the question and in its form, and says no form in words', async () => {
    const lines = Array.from({ length: 40 }, (_, nth) => ({ ...hateful, id: `p${nth}`, text: `text ${nth}` }))
    const { shown } = await judged('hate', lines, [ZERO], () => ({ label: 'hate' }))
    const orders = shown.map((request) => {
      const { properties } = request.answer.schema as { properties: { label: { enum: string[] } } }
      const [, first] = /Which is it: "([\w-]+)" or/.exec(textIn(request)) ?? []
      expect(textIn(request)).not.toContain('in this form')
      expect(properties.label.enum[0]).toBe(first)
      return first
    })
    const turned = orders.filter((first) => first === 'non-hate').length
    expect(turned).toBeGreaterThan(10)
    expect(turned).toBeLessThan(30)
  })

  it('shows the claim of a thread with its comments, at most 40 of them, and says how many it left out', async () => {
    const comments = Array.from({ length: 60 }, (_, nth) => ({
      type: 'comment',
      id: `c${nth}`,
      postId: 'p',
      author: `a${nth}`,
      text: `said word${nth}`,
      createdAt: at(nth + 1),
    }))
    const lines = [{ ...hateful, text: 'the dam broke', label: 'rumor' }, ...comments]
    const { cells, shown } = await judged('rumor', lines, [ZERO], () => ({ label: 'rumor' }))
    const text = textIn(shown[0] as ModelRequest)
    expect(text.match(/said word\d+/g)).toHaveLength(40)
    // Of the facts beside it, a model by itself has those that the debaters have.
    expect(text).toMatch(/\nthe dam broke\n<<end:.*\nIt was posted on 2025-01-01 \(UTC\)\.\n/s)
    expect(text).toMatch(/<<comments:(\d{16})>>\n1: "said word\d+"\n2: [\s\S]*\n40: "said word\d+"\n<<end:\1>>/)
    expect(cells[0].counts).toMatchObject({ comments: 60, commentsJudged: 40, commentsLeftOut: { cap: 20 } })
    expect(cells[0].outcomes[0]?.degraded).toEqual(['20 comments left out, by a fixed sample'])
  })

  it('takes the label of most draws, and the share of draws that chose it as its confidence', async () => {
    const votes = ['hate', 'non-hate', 'hate', 'hate', 'non-hate']
    let drawn = 0
    const { cells, shown } = await judged('hate', [hateful], [consistent(5)], () => ({
      reasoning: 'so',
      label: votes[drawn++] ?? '',
    }))
    expect(shown.map(({ temperature }) => temperature)).toEqual([0.7, 0.7, 0.7, 0.7, 0.7])
    expect(shown.map(({ draw }) => draw)).toEqual([undefined, 'draw 2', 'draw 3', 'draw 4', 'draw 5'])
    expect(new Set(shown.map(textIn)).size).toBe(1)
    expect(cells[0].outcomes[0]).toMatchObject({ label: 'hate', confidence: 0.6 })
  })

  it('gives a tie no label, and names the draws that failed', async () => {
    let drawn = 0
    const tied = await judged('hate', [hateful], [consistent(4)], () => ({
      reasoning: 'so',
      label: drawn++ % 2 ? 'hate' : 'non-hate',
    }))
    expect(tied.cells[0].outcomes[0]).toMatchObject({ label: null, confidence: null })
    expect(tied.cells[0].outcomes[0]?.degraded.join()).toMatch(/the draws are tied between/)
    const odd = await judged('hate', [hateful], [consistent(3)], ({ draw }) => ({
      reasoning: 'so',
      label: draw === 'draw 2' ? 'neither' : 'hate',
    }))
    expect(odd.cells[0].outcomes[0]).toMatchObject({ label: 'hate', confidence: 2 / 3 })
    expect(odd.cells[0].outcomes[0]?.degraded).toEqual([expect.stringMatching(/^draw 2 failed: unreadable/)])
  })

  it('is not for a protocol without labels, nor for one of whose labels no file says what they mean', () => {
    const parts = {
      settings: {},
      prompts: new Map(),
      fence: (() => '') as never,
      samplingRank: () => 0,
      files: () => new Map(),
    }
    const unlabelled = { ...kindOf('hate'), make: () => ({ labels: [] }) as never }
    expect(() => onePrompt(unlabelled, { ask: 'zero-shot' }).make(parts)).toThrow(/hate: the file is missing/)
  })
})
