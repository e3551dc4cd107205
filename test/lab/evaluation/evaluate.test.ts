import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { asRead } from '../../../src/contracts/facts/as-read.ts'
import { compare } from '../../../src/lab/evaluation/against.ts'
import type { EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import type { ProtocolKind } from '../../../src/protocols/kind.ts'
import { sameWords } from '../../../src/protocols/rumor/near-identical.ts'
import { parentsIn } from '../../../src/protocols/rumor/parents.ts'
import { libraryOf } from '../../../src/shelves/lancedb/library.ts'
import { EVERY_DEBATE } from '../../protocols/drive.ts'
import {
  dataSetOf,
  evaluated,
  hateFile,
  kindOf,
  noisy,
  rowBy,
  scratch,
  standIn,
  textIn,
  textOf,
} from '../../support/evaluating.ts'
import { tell } from '../../support/pipeline.ts'

const RUMOUREVAL = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')
const ITEMS = 80
/** Fewer where each is searched for on a shelf. */
const LEAKED = 24
const ZERO_SHOT = [rowBy('hate', { decide: 'zero-shot' })]

/** A stand-in that answers the base agent's question by what it believes of the text. */
function believing(isHate: (text: string) => boolean) {
  return standIn((request) => ({ label: isHate(textIn(request)) ? 'hate' : 'non-hate' }))
}
const runOf = ({ outcomes, counts }: EvaluationCell) => ({
  outcomes,
  counts: { items: counts.items, comments: counts.comments, judged: counts.commentsJudged },
})
async function cellBy(
  model: ReturnType<typeof standIn>,
  over: Parameters<typeof evaluated>[4] = {},
): Promise<EvaluationCell> {
  const [cell] = await evaluated('hate', await dataSetOf(hateFile(ITEMS), 'gavel', 'hate'), model, ZERO_SHOT, over)
  return cell as EvaluationCell
}
/** Scores every comment that it is asked about, and takes the claim for true. */
function scoring(request: Parameters<typeof textIn>[0]): Record<string, unknown> {
  const asked = textIn(request).match(/^\d+: "/gm) ?? []
  const scores = asked.map((_, at) => ({ comment: at + 1, reason: 'so', score: 0.5 }))
  return { answer: 'Real', ...(request.answer.name === 'stance' ? { scores } : {}) }
}
const MARGIN = { margin: 0.03, seed: '1' }

describe('what the model is shown', () => {
  it.skipIf(!existsSync(RUMOUREVAL))(
    'is every comment of RumourEval, to the scorer, or it is named why not',
    async () => {
      const model = standIn(scoring)
      const data = await dataSetOf(RUMOUREVAL, 'rumoureval2017', 'rumor')
      const rows = [rowBy('rumor', { batchSize: 10 })]
      const [cell] = await evaluated('rumor', data, model, rows)
      const scored = model.shown.filter(({ answer }) => answer.name === 'stance').map(textIn)
      const blocks = scored.flatMap((text) => text.match(/^\d+: "/gm) ?? [])
      const { comments, commentsJudged, commentsLeftOut } = (cell as EvaluationCell).counts
      const threads = readFileSync(RUMOUREVAL, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const chosen = threads.filter(({ id }) => data.items.some((item) => item.id === id))
      expect(data.items).toHaveLength(107)
      expect(comments).toBe(chosen.reduce((sum, thread) => sum + thread.comments.length, 0))
      expect(commentsJudged + Object.values(commentsLeftOut).reduce((sum, count) => sum + count, 0)).toBe(comments)
      // Comments with the same words are asked about once; what is a copy in disguise is folded after its score alone.
      const asked = chosen.map(({ comments: of }) => {
        const own = of.map((one: { parent?: string }) => ({ ...one, parentId: one.parent }))
        return sameWords(own, parentsIn(own)).length
      })
      expect(blocks.length).toBe(asked.reduce((sum, count) => sum + count, 0))
      expect(blocks.length + (commentsLeftOut.folded ?? 0)).toBeGreaterThanOrEqual(comments)
      // Words, not only counts: only what was folded into the same words of another comment is in no question.
      const all = scored.join('\n')
      const longestOf = (text: string) =>
        text.split(/[\s<>|[\]:"\\]+/).sort((one, other) => other.length - one.length)[0] ?? ''
      const unseen = chosen
        .flatMap(({ comments: of }) => of)
        .filter(({ text }) => !all.includes(longestOf(asRead('comment', text))))
      expect(unseen.length).toBeLessThanOrEqual(commentsLeftOut.folded ?? 0)
      tell(
        `RumourEval: ${blocks.length} comments shown, ${commentsLeftOut.folded} folded, ${unseen.length} unseen words`,
      )
    },
  )

  it('is only the first comments by time, where a row says so', async () => {
    const minute = (at: number) => `2025-01-01T12:${String(at).padStart(2, '0')}:00Z`
    const lines = [
      { type: 'comment', id: 'c9', postId: 'p', text: 'said ninth', createdAt: minute(9) },
      { type: 'post', id: 'p', text: 'the bridge has fallen', createdAt: minute(0), label: 'rumor' },
      ...[3, 1, 2].map((at) => ({
        type: 'comment',
        id: `c${at}`,
        postId: 'p',
        text: `said ${at}`,
        createdAt: minute(at),
      })),
    ]
    const file = join(scratch(), 'thread.jsonl')
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const model = standIn(() => ({ answer: 'Fake' }))
    const data = await dataSetOf(file, 'gavel', 'rumor')
    const [cell] = await evaluated('rumor', data, model, [{ ...rowBy('two'), firstComments: 2 }])
    const all = model.shown.map(textIn).join('\n')
    expect(all).toContain('said 1')
    expect(all).toContain('said 2')
    expect(all).not.toMatch(/said (3|ninth)/)
    expect((cell as EvaluationCell).counts).toMatchObject({ comments: 4, commentsJudged: 2 })
  })

  it('is asked once where several rows ask it, and counts in the cost of each', async () => {
    const data = await dataSetOf(hateFile(4), 'gavel', 'hate')
    const one = { reason: 'r', label: 'Not hateful' }
    const each = { annotator1: one, annotator2: one, annotator3: one }
    const model = standIn(({ answer }) =>
      JSON.stringify(answer.schema).includes('"hate"') ? { label: 'non-hate', probability: 0.8 } : { ...one, ...each },
    )
    const [whole, saved, together] = await evaluated('hate', data, model, [
      rowBy('hate', EVERY_DEBATE.hate),
      rowBy('no debate where all agree', { debateWhen: 'contested', controlShare: 0, cites: false }),
      rowBy('in one call', { batchSize: 5, debateWhen: 'contested', controlShare: 0, cites: false }),
    ])
    expect(model.shown).toHaveLength(4 * 8 + 4)
    expect((whole as EvaluationCell).perItem).toMatchObject({ calls: 8, sequence: 6 })
    // After a debate the judge says how sure it is; without one the perspectives are.
    const sure = (cell: EvaluationCell | undefined) => cell?.outcomes.map(({ confidence }) => confidence)
    expect([sure(whole), sure(saved)]).toEqual([Array(4).fill(0.8), Array(4).fill(1)])
    expect((saved as EvaluationCell).perItem).toMatchObject({ calls: 3, sequence: 1 })
    expect(Object.keys((saved as EvaluationCell).outcomes[0]?.voices ?? {})).toEqual([
      'as-worded',
      'as-meant',
      'as-received',
    ])
    for (const [at, { voices, label }] of (together as EvaluationCell).outcomes.entries()) {
      expect(voices).toEqual((whole as EvaluationCell).outcomes[at]?.voices)
      expect(label).toBe((saved as EvaluationCell).outcomes[at]?.label)
    }
  })

  it('is the same for a row that leaves out what was not there, which is said; and not for one that leaves out more', async () => {
    const data = await dataSetOf(hateFile(4), 'gavel', 'hate')
    const one = { reason: 'r', label: 'Not hateful' }
    const model = standIn(() => one)
    const contested = { debateWhen: 'contested', controlShare: 0, cites: false }
    const cells = await evaluated('hate', data, model, [
      rowBy('hate', contested),
      // The three readings have no shelf.
      rowBy('criteria alone', { ...contested, show: 'criteria' }),
      rowBy('two readings', { ...contested, perspectives: ['as-worded', 'as-meant'] }),
    ])
    expect(cells.map(({ sameAs }) => sameAs)).toEqual([undefined, 'hate', undefined])
  })

  it('is asked once for all items where it is about none: steps that the model writes', async () => {
    const lines = Array.from({ length: 4 }, (_, at) => ({
      id: `r${at}`,
      hateSpeech: `They lie ${at}.`,
      text: `Name one of ${at}.`,
      ratings: { relevance: (at % 4) + 1 },
    }))
    const file = join(scratch(), 'replies.jsonl')
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const model = standIn(({ answer }) =>
      answer.name === 'steps' ? { steps: ['Look.'] } : { reasoning: 'r', score: 2 },
    )
    const data = await dataSetOf(file, 'gavel', 'counterspeech')
    const [cell] = await evaluated('counterspeech', data, model, [rowBy('G-EVAL', { steps: 'model-written' })])
    expect(model.shown.filter(({ answer }) => answer.name === 'steps')).toHaveLength(4)
    expect((cell as EvaluationCell).perItem).toMatchObject({ calls: 4 + 4 / 4 })
  })

  it('is a question of its own for each draw and each repeat, and the same one only once', async () => {
    const data = await dataSetOf(hateFile(4), 'gavel', 'hate')
    const model = believing((text) => text.includes('vile '))
    const [first, consistent, again] = await evaluated('hate', data, model, [
      { name: 'chain of thought', how: { by: 'one-prompt', ask: 'chain-of-thought' } },
      { name: 'self-consistency', how: { by: 'self-consistency', draws: 3 } },
      { ...rowBy('twice', { decide: 'zero-shot' }), repeats: 2 },
    ])
    expect(model.shown).toHaveLength(4 + 4 * 3 + 4 * 2)
    expect((first as EvaluationCell).perItem).toMatchObject({ calls: 1, tokens: 110 })
    expect((consistent as EvaluationCell).perItem).toMatchObject({ calls: 3, tokens: 330 })
    expect((consistent as EvaluationCell).outcomes.map(({ confidence }) => confidence)).toEqual([1, 1, 1, 1])
    expect((again as EvaluationCell).counts.items).toBe(4)
    expect((again as EvaluationCell).repeats).toMatchObject({ repeats: 2, sd: { accuracy: 0 }, kappa: 1 })
  })
})

describe('a comparison with an earlier run', () => {
  it('stays silent on an unchanged run whose stand-in answers by seed, in at least 18 of 20 seeds', async () => {
    const cells = await Promise.all(Array.from({ length: 21 }, (_, seed) => cellBy(believing(noisy(0.8, seed)))))
    const alarms = cells
      .slice(1)
      .filter((cell, at) => compare(runOf(cells[at] as EvaluationCell), runOf(cell), MARGIN).alarm)
    tell(`A/A: ${alarms.length} alarms in 20 pairs of runs`)
    expect(alarms.length).toBeLessThanOrEqual(2)
  })

  it('finds a prompt that says the opposite, obeyed by the stand-in', async () => {
    const obeying = standIn((request) => {
      const text = textIn(request)
      const believed = noisy(0.8, 1)(text)
      return { label: believed === text.includes('Is this text hateful?') ? 'hate' : 'non-hate' }
    })
    const hate = kindOf('hate')
    const turned: ProtocolKind = {
      ...hate,
      make: (parts) =>
        hate.make({
          ...parts,
          prompts: new Map(
            [...parts.prompts].map(([name, text]) => [
              name,
              text.replace('Is this text hateful?', 'Is this text harmless?'),
            ]),
          ),
        }),
    }
    const [before, now] = [await cellBy(obeying), await cellBy(obeying, { kind: turned })]
    const { differences, alarm } = compare(runOf(before), runOf(now), MARGIN)
    expect(alarm).toBe(true)
    const others = differences.filter(({ of }) => !of.startsWith('first in the form: '))
    expect(others.map(({ of, alarm: told }) => [of, told])).toEqual([
      ['all', true],
      ['language: en', true],
      ['language: ko', true],
    ])
    expect(differences[0]?.change.value).toBeLessThan(-0.4)
  })

  it('finds a loss in one language, and says in which', async () => {
    const before = await cellBy(believing(noisy(0.8, 1)))
    const deaf = believing((text) => /t\d*[02468]?[37]w0|t\d*[13579]?[26]w0/.test(text) && noisy(0.8, 1)(text))
    const { differences, alarm } = compare(runOf(before), runOf(await cellBy(deaf)), MARGIN)
    expect(alarm).toBe(true)
    expect(differences.find(({ of }) => of === 'language: en')?.alarm).toBe(true)
  })

  it('finds a loader that drops comments, though no verdict changed', () => {
    const outcomes: EvaluationCell['outcomes'] = []
    const compared = compare({ outcomes, counts: { comments: 40 } }, { outcomes, counts: { comments: 1 } }, MARGIN)
    expect(compared).toMatchObject({ alarm: true, shown: ['comments: 40 before, 1 now'] })
  })

  it('finds a shelf that leaks where guards are off, which is a gain; with guards on it is passed over and counted', async () => {
    const library = join(scratch(), 'library')
    const settings = loadSettings({})
    const shelf = libraryOf({ ...settings, library: { ...settings.library, path: library } }, Date.now)
    const items = Array.from({ length: LEAKED }, (_, at) => ({
      text: `${textOf(at)} indeed`,
      label: at % 2 === 0 ? 'OFFEN' : 'NOT',
      metadata: {},
      subject: null,
      sourceId: `leak ${at}`,
    }))
    await shelf.add('kodoli', items, 'test', new AbortController().signal)
    // It copies the label of an example that holds the text's own words, else it is right on 6 of 10: a gain that so few items can show.
    const copying = standIn((request) => {
      const text = textIn(request)
      const [, own = ''] = /<<text:[^>]*>>\n\w+ (t\d+w0) /.exec(text) ?? []
      const [, label] = new RegExp(`^\\d+ \\(([^)]+)\\): "\\w+ ${own} `, 'm').exec(text) ?? []
      const believed = label === undefined ? noisy(0.6, 1)(text.slice(text.indexOf('<<text:'))) : label === 'Offensive'
      return { label: believed ? 'Offensive' : 'Not Offensive' }
    })
    const data = await dataSetOf(hateFile(LEAKED), 'gavel', 'hate')
    const rows = [rowBy('one perspective', { decide: 'majority', perspectives: ['kodoli'] })]
    const guarded = { ...data, format: 'gavel' as const }
    const [before] = await evaluated('hate', guarded, copying, rows, { library, keepNearDuplicates: false })
    const [now] = await evaluated('hate', guarded, copying, rows, { library, keepNearDuplicates: true })
    expect((before as EvaluationCell).counts.heldOutNearDuplicates).toBeGreaterThanOrEqual(LEAKED)
    expect((now as EvaluationCell).counts.heldOutNearDuplicates).toBe(0)
    expect((now as EvaluationCell).labels?.accuracy.value).toBe(1)
    const { differences, alarm } = compare(runOf(before as EvaluationCell), runOf(now as EvaluationCell), MARGIN)
    expect(alarm).toBe(true)
    expect(differences[0]?.change.value).toBeGreaterThan(0.1)
  }, 120_000)
})
