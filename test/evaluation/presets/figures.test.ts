import { describe, expect, it } from 'vitest'
import { presetNamed } from '../../../src/lab/evaluation/presets/all.ts'
import type { Measure, PresetTable } from '../../../src/lab/evaluation/presets/preset.ts'

// The papers' figures read a second time and typed again, down the columns where the presets go along the rows.

type Column = readonly [data: string, measure: Measure, figures: readonly (number | null)[]]

const TWITTER = 'Twitter-COVID19'
const WEIBO = 'Weibo-COVID19'
const [A, B, C, D, E] = ['A (K-HATERS)', 'B (K-MHaS)', 'C (KOLD)', 'D (KODOLI)', 'E (UnSmile)']
const [TEXT, IMAGE, PAIR] = ['Text Only', 'Image Only', 'Text + Image']

const SECOND_READING: Record<string, { readonly rows: readonly string[]; readonly columns: readonly Column[] }> = {
  's2mad-table-1': {
    rows: ['BiGCN', 'ACLRL-BiGCN', 'RPL', 'T³RD', 'Qwen1.5', 'Qwen1.5 + S2MAD', 'GPT3.5', 'GPT3.5 + S2MAD'],
    columns: [
      [TWITTER, 'accuracy', [0.593, 0.692, 0.727, 0.735, 0.565, 0.645, 0.643, 0.765]],
      [TWITTER, 'macroF1', [0.557, 0.614, 0.697, 0.701, 0.565, 0.645, 0.567, 0.737]],
      [TWITTER, 'f1:rumor', [0.647, 0.785, 0.793, 0.808, 0.58, 0.634, 0.749, 0.827]],
      [TWITTER, 'f1:non-rumor', [0.468, 0.444, 0.601, 0.593, 0.549, 0.655, 0.384, 0.647]],
      [WEIBO, 'accuracy', [0.619, 0.67, 0.745, 0.797, 0.698, 0.737, 0.762, 0.81]],
      [WEIBO, 'macroF1', [0.534, 0.594, 0.719, 0.788, 0.67, 0.757, 0.682, 0.764]],
      [WEIBO, 'f1:rumor', [0.72, 0.754, 0.804, 0.832, 0.762, 0.765, 0.843, 0.869]],
      [WEIBO, 'f1:non-rumor', [0.349, 0.435, 0.634, 0.743, 0.578, 0.748, 0.52, 0.658]],
    ],
  },
  's2mad-table-2': {
    rows: ['Full Model', 'w/o Stance', 'w/o Non-Sub', 'w/o Sub', 'w/o Debate'],
    columns: [
      [TWITTER, 'accuracy', [0.765, 0.648, 0.575, 0.703, 0.645]],
      [WEIBO, 'accuracy', [0.81, 0.674, 0.801, 0.706, 0.737]],
    ],
  },
  's2mad-figure-2': { rows: ['1 round', '2 rounds', '3 rounds', '4 rounds', '5 rounds'], columns: [] },
  's2mad-figure-3': {
    rows: [
      ...['first 5 comments', 'first 10 comments', 'first 20 comments', 'first 40 comments'],
      ...['after 15 minutes', 'after 1 hour', 'after 6 hours', 'after 24 hours', 'whole thread'],
      'the other models’ lines',
    ],
    columns: [],
  },
  'predict-table-1': {
    rows: ['Agent_Base', 'Agent_A', 'Agent_B', 'Agent_C', 'Agent_D', 'Agent_E', '5-Agents majority vote'],
    columns: [
      [A, 'accuracy', [0.755, 0.766, 0.657, 0.659, 0.702, 0.648, 0.743]],
      [B, 'accuracy', [0.747, 0.627, 0.831, 0.753, 0.758, 0.738, 0.794]],
      [C, 'accuracy', [0.75, 0.624, 0.662, 0.808, 0.741, 0.659, 0.767]],
      [D, 'accuracy', [0.881, 0.726, 0.809, 0.86, 0.916, 0.838, 0.907]],
      [E, 'accuracy', [0.761, 0.612, 0.747, 0.732, 0.781, 0.796, 0.808]],
      [A, 'kappa:repeats', [0.947, 0.939, 0.903, 0.879, 0.906, 0.892, null]],
      [B, 'kappa:repeats', [0.976, 0.983, 0.987, 0.964, 0.972, 0.961, null]],
      [C, 'kappa:repeats', [0.974, 0.936, 0.936, 0.97, 0.943, 0.944, null]],
      [D, 'kappa:repeats', [0.978, 0.989, 0.962, 0.961, 0.973, 0.951, null]],
      [E, 'kappa:repeats', [0.966, 0.977, 0.962, 0.964, 0.982, 0.971, null]],
      ...[0.334, 0.441, 0.358, 0.53, 0.363].map(
        (kappa, at): Column => [
          [A, B, C, D, E][at] ?? '',
          'kappa:perspectives',
          [null, null, null, null, null, null, kappa],
        ],
      ),
    ],
  },
  'predict-table-2': {
    rows: [
      ...['In-dataset', 'Majority voting', 'Round 1', 'Rounds 1 & 2'],
      ...['Round 1, by the published code', 'Rounds 1 & 2, by the published code'],
    ],
    columns: [
      [A, 'accuracy', [0.766, 0.743, 0.745, 0.794, 0.745, 0.794]],
      [B, 'accuracy', [0.831, 0.794, 0.794, 0.85, 0.794, 0.85]],
      [C, 'accuracy', [0.808, 0.767, 0.753, 0.851, 0.753, 0.851]],
      [D, 'accuracy', [0.916, 0.907, 0.91, 0.949, 0.91, 0.949]],
      [E, 'accuracy', [0.796, 0.808, 0.795, 0.837, 0.795, 0.837]],
      [A, 'accuracySd', [0.003, 0.002, 0.007, 0.003, 0.007, 0.003]],
      [B, 'accuracySd', [0.002, 0.003, 0.011, 0.002, 0.011, 0.002]],
      [C, 'accuracySd', [0.004, 0.001, 0.01, 0.004, 0.01, 0.004]],
      [D, 'accuracySd', [0.002, 0.002, 0.009, 0.004, 0.009, 0.004]],
      [E, 'accuracySd', [0.002, 0.002, 0.005, 0.009, 0.005, 0.009]],
    ],
  },
  'predict-table-4': {
    rows: ['A', 'B', 'C', 'D', 'E'].flatMap((base) =>
      ['similar context alone', 'labeling criteria alone', 'both'].map((part) => `${base}, ${part}`),
    ),
    columns: [
      [
        A,
        'accuracy',
        [
          ...[0.614, 0.747, 0.766, 0.68, 0.699, 0.657, 0.72, 0.731],
          ...[0.659, 0.67, 0.726, 0.702, 0.667, 0.683, 0.648],
        ],
      ],
      [
        B,
        'accuracy',
        [
          ...[0.647, 0.805, 0.627, 0.808, 0.819, 0.831, 0.75, 0.791],
          ...[0.753, 0.775, 0.805, 0.758, 0.755, 0.797, 0.738],
        ],
      ],
      [
        C,
        'accuracy',
        [
          ...[0.638, 0.708, 0.624, 0.702, 0.685, 0.662, 0.785, 0.761],
          ...[0.808, 0.72, 0.717, 0.741, 0.682, 0.697, 0.659],
        ],
      ],
      [
        D,
        'accuracy',
        [
          ...[0.733, 0.892, 0.726, 0.827, 0.868, 0.809, 0.857, 0.895],
          ...[0.86, 0.844, 0.906, 0.916, 0.862, 0.865, 0.838],
        ],
      ],
      [
        E,
        'accuracy',
        [
          ...[0.597, 0.775, 0.612, 0.752, 0.767, 0.747, 0.801, 0.784],
          ...[0.732, 0.793, 0.793, 0.781, 0.775, 0.793, 0.796],
        ],
      ],
    ],
  },
  'predict-table-6': {
    rows: ['4-Agents', '5-Agents'],
    columns: [
      [A, 'accuracy', [0.787, 0.794]],
      [B, 'accuracy', [0.851, 0.85]],
      [C, 'accuracy', [0.842, 0.851]],
      [D, 'accuracy', [0.935, 0.949]],
      [E, 'accuracy', [0.822, 0.837]],
      [A, 'accuracySd', [0.002, 0.003]],
      [B, 'accuracySd', [0.002, 0.002]],
      [C, 'accuracySd', [0.003, 0.004]],
      [D, 'accuracySd', [0.003, 0.004]],
      [E, 'accuracySd', [0.004, 0.009]],
    ],
  },
  'aetheria-table-2': {
    rows: [
      ...['ShieldGemma-9B', 'ShieldGemma-2B', 'ShieldLM-6B-chatglm', 'Vicuna-7B', 'llama-1B-guard'],
      ...['Aetheria (Ours)', 'Azure Content Safety', 'OpenAI Moderation'],
    ],
    columns: [
      [TEXT, 'precision:unsafe', [0.88, 0.85, 0.94, 0.8, 0.55, 0.92, 0.85, 0.87]],
      [TEXT, 'recall:unsafe', [0.93, 0.89, 0.68, 0.92, 0.96, 0.91, 0.4, 0.46]],
      [TEXT, 'f1:unsafe', [0.9, 0.87, 0.79, 0.85, 0.7, 0.92, 0.55, 0.6]],
      [IMAGE, 'precision:unsafe', [0.94, 0.9, 0.51, 0.57, 0.53, 0.9, 0.73, 0.74]],
      [IMAGE, 'recall:unsafe', [0.72, 0.61, 0.97, 0.76, 0.74, 0.85, 0.15, 0.17]],
      [IMAGE, 'f1:unsafe', [0.82, 0.73, 0.67, 0.65, 0.62, 0.87, 0.25, 0.28]],
      [PAIR, 'precision:unsafe', [0.66, 0.66, 0.44, 0.67, 0.48, 0.83, 0.72, 0.81]],
      [PAIR, 'recall:unsafe', [0.84, 0.88, 0.99, 0.56, 0.88, 0.85, 0.46, 0.67]],
      [PAIR, 'f1:unsafe', [0.74, 0.75, 0.61, 0.61, 0.62, 0.84, 0.5, 0.73]],
    ],
  },
  'aetheria-table-3': {
    rows: [
      ...['Full Model', 'w/o RAG Retrieval', 'w/o Supporter Agent', 'All GPT-4o', 'All GPT-4o-mini'],
      ...['w/o Loose Debater', 'w/o Strict Debater', 'Arbiter Only (No Debate)'],
    ],
    columns: [
      [TEXT, 'precision:unsafe', [0.92, 0.94, 0.93, 0.93, 0.91, 0.91, 0.95, 0.98]],
      [TEXT, 'recall:unsafe', [0.91, 0.88, 0.87, 0.89, 0.92, 0.92, 0.86, 0.78]],
      [TEXT, 'f1:unsafe', [0.92, 0.91, 0.9, 0.91, 0.92, 0.92, 0.9, 0.87]],
      [IMAGE, 'precision:unsafe', [0.9, 0.89, 0.83, 0.94, 0.75, 0.94, 0.9, 0.6]],
      [IMAGE, 'recall:unsafe', [0.85, 0.84, 0.83, 0.62, 0.95, 0.65, 0.76, 0.96]],
      [IMAGE, 'f1:unsafe', [0.87, 0.86, 0.83, 0.75, 0.84, 0.77, 0.82, 0.74]],
      [PAIR, 'precision:unsafe', [0.83, 0.86, 0.9, 0.82, 0.76, 0.77, 0.86, 0.57]],
      [PAIR, 'recall:unsafe', [0.85, 0.75, 0.7, 0.85, 0.86, 0.9, 0.8, 0.88]],
      [PAIR, 'f1:unsafe', [0.84, 0.8, 0.79, 0.84, 0.81, 0.83, 0.83, 0.7]],
    ],
  },
  'aetheria-table-4': {
    rows: ['1', '2', '3'],
    columns: [
      [PAIR, 'precision:unsafe', [0.82, 0.828, 0.827]],
      [PAIR, 'recall:unsafe', [0.882, 0.874, 0.866]],
      [PAIR, 'f1:unsafe', [0.8501, 0.8502, 0.8459]],
      [PAIR, 'seconds', [615, 662, 676]],
      [PAIR, 'timeIncrease', [null, 0.076, 0.099]],
    ],
  },
}

const FOUR = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const
/** Columns of one measure, an aspect after the other. */
const ofAspects = (measure: string, ...columns: (readonly (number | null)[])[]): Column[] =>
  columns.map((figures, at) => ['CSEval', `${measure}:${FOUR[at] ?? 'mean'}` as Measure, figures])

Object.assign(SECOND_READING, {
  'cseval-table-1': {
    rows: ['Llama3', 'Mistral', 'GPT-4'].flatMap((base) =>
      ['zero-shot', 'G-EVAL', 'Auto-CSEval'].map((variant) => `${base} (${variant})`),
    ),
    columns: [
      ...ofAspects(
        'spearman',
        [0.33, 0.318, 0.34, 0.322, 0.36, 0.372, 0.532, 0.626, 0.687],
        [0.199, 0.136, 0.171, 0.278, 0.315, 0.291, 0.349, 0.379, 0.447],
        [0.328, 0.318, 0.326, 0.339, 0.366, 0.349, 0.435, 0.582, 0.6],
        [0.163, 0.263, 0.278, 0.302, 0.35, 0.363, 0.414, 0.524, 0.567],
        [0.255, 0.259, 0.279, 0.31, 0.348, 0.344, 0.433, 0.527, 0.575],
      ),
      ...ofAspects(
        'kendall',
        [0.286, 0.271, 0.293, 0.284, 0.319, 0.332, 0.476, 0.572, 0.637],
        [0.185, 0.126, 0.159, 0.254, 0.289, 0.268, 0.328, 0.351, 0.425],
        [0.279, 0.269, 0.278, 0.284, 0.313, 0.293, 0.377, 0.488, 0.506],
        [0.15, 0.239, 0.252, 0.277, 0.319, 0.333, 0.383, 0.464, 0.504],
        [0.225, 0.226, 0.246, 0.275, 0.31, 0.306, 0.391, 0.469, 0.518],
      ),
    ],
  },
  'cseval-table-2': {
    rows: [
      ...['LLama-3 (GEval)', 'Mistral (GEval)', 'GPT-4 (GEval)'],
      ...['LLama-3 (Auto-CSEval)', 'Mistral (Auto-CSEval)', 'GPT-4 (Auto-CSEval)'],
    ],
    columns: [['CSEval', 'statementNdcg:unified', [0.874, 0.862, 0.894, 0.89, 0.891, 0.898]]],
  },
  'cseval-table-3': {
    rows: [
      ...['GPT-4 (zeroshot)', 'GPT-4 (GEval)'],
      ...['Auto-CSEval - Best Traditional Metric', 'Auto-CSEval - Best Method'],
    ],
    columns: ofAspects(
      'trialGain',
      [null, null, 0.415, 0.058],
      [null, null, 0.189, 0.069],
      [null, null, 0.202, 0.019],
      [null, null, 0.317, 0.044],
    ),
  },
  'cseval-table-4': {
    rows: ['BertScore', 'BartScore', 'GPT-4 (zeroshot)', 'GPT-4 (G-Eval)', 'GPT-4 (Auto-CSEval)'],
    columns: [
      ...ofAspects(
        'spearmanP',
        [5.08e-74, 1.44e-114, 0, 0, 0],
        [1.43e-9, 5.67e-58, 1.91e-186, 1.04e-221, 0],
        [1.41e-184, 1.98e-234, 1.44e-299, 0, 0],
        [6.7e-94, 9.12e-98, 7.06e-269, 0, 0],
      ),
      ...ofAspects(
        'kendallP',
        [5.7e-73, 3.41e-112, 0, 0, 0],
        [1.9e-9, 5.19e-57, 5.03e-175, 1.63e-228, 0],
        [1.3e-183, 3.66e-224, 0, 0, 0],
        [3.74e-91, 5.03e-97, 2.14e-253, 0, 0],
      ),
    ],
  },
  'cseval-table-5': {
    rows: [
      ...['BLEU_1', 'ROUGE_1', 'METEOR_score', 'BERT_score', 'Toxicity', 'BART_score'],
      ...['GPT-4 (zeroshot)', 'GPT-4 (GEval)', 'GPT-4 (Auto-CSEval)'],
    ],
    columns: [
      ...ofAspects(
        'trialMean',
        [-0.007, 0.213, 0.178, 0.227, -0.019, 0.272, 0.529, 0.629, 0.687],
        [-0.147, -0.167, -0.207, -0.077, 0.272, -0.198, 0.336, 0.392, 0.461],
        [0.115, 0.354, 0.355, 0.342, -0.184, 0.394, 0.444, 0.578, 0.597],
        [0.005, 0.2, 0.169, 0.249, -0.107, 0.249, 0.422, 0.522, 0.566],
      ),
      ...ofAspects(
        'trialSd',
        [0.022, 0.037, 0.032, 0.027, 0.03, 0.024, 0.031, 0.012, 0.01],
        [0.043, 0.02, 0.02, 0.027, 0.018, 0.023, 0.061, 0.03, 0.035],
        [0.04, 0.027, 0.025, 0.02, 0.037, 0.024, 0.025, 0.031, 0.032],
        [0.025, 0.027, 0.023, 0.014, 0.028, 0.021, 0.039, 0.014, 0.014],
      ),
    ],
  },
} satisfies typeof SECOND_READING)

function cellsOf(table: PresetTable): string[] {
  return table.rows.flatMap(({ name, figures }) =>
    Object.entries(figures).flatMap(([data, cells]) =>
      Object.entries(cells).map(([measure, figure]) => `${name} | ${data} | ${measure} | ${figure}`),
    ),
  )
}

function figure(table: string, row: string, data: string, measure: Measure): number {
  const found = presetNamed(table).rows.find(({ name }) => name === row)?.figures[data]?.[measure]
  if (found === undefined) throw new Error(`${table} has no ${measure} of ${row} on ${data}`)
  return found
}

describe('a preset has the figures that its paper prints', () => {
  it.each(Object.entries(SECOND_READING))('%s, read a second time', (name, { rows, columns }) => {
    const table = presetNamed(name)
    expect(table.rows.map((row) => row.name)).toEqual(rows)
    const again = columns.flatMap(([data, measure, figures]) => {
      expect(figures, `${data}, ${measure}`).toHaveLength(rows.length)
      return figures.flatMap((value, at) => (value === null ? [] : [`${rows[at]} | ${data} | ${measure} | ${value}`]))
    })
    expect(cellsOf(table).toSorted()).toEqual(again.toSorted())
  })

  it('those of the debate that are known from elsewhere', () => {
    const pairs = [TWITTER, WEIBO].map((data) =>
      ['GPT3.5', 'GPT3.5 + S2MAD'].map((row) => figure('s2mad-table-1', row, data, 'accuracy')),
    )
    expect(pairs).toEqual([
      [0.643, 0.765],
      [0.762, 0.81],
    ])
    const both = [A, B, C, D, E].map((data) => figure('predict-table-2', 'Rounds 1 & 2', data ?? '', 'accuracy'))
    expect(both).toEqual([0.794, 0.85, 0.851, 0.949, 0.837])
    const full = [TEXT, IMAGE, PAIR].map((data) =>
      figure('aetheria-table-2', 'Aetheria (Ours)', data ?? '', 'f1:unsafe'),
    )
    expect(full).toEqual([0.92, 0.87, 0.84])
  })
})

describe('figures agree with what else the papers print', () => {
  it('Auto-CSEval: Table 1’s averages are those of its four aspects, and Table 3 is Table 5’s rows subtracted', () => {
    for (const { name } of presetNamed('cseval-table-1').rows)
      for (const kind of ['spearman', 'kendall'] as const) {
        const four = FOUR.map((aspect) => figure('cseval-table-1', name, 'CSEval', `${kind}:${aspect}`))
        const mean = four.reduce((sum, value) => sum + value, 0) / 4
        expect(figure('cseval-table-1', name, 'CSEval', `${kind}:mean`), name).toBeCloseTo(mean, 2)
      }
    for (const aspect of FOUR) {
      const trial = (row: string) => figure('cseval-table-5', row, 'CSEval', `trialMean:${aspect}`)
      const gained = (row: string) => figure('cseval-table-3', row, 'CSEval', `trialGain:${aspect}`)
      const now = trial('GPT-4 (Auto-CSEval)')
      expect(gained('Auto-CSEval - Best Method')).toBeCloseTo(now - trial('GPT-4 (GEval)'), 12)
      const traditional = ['BLEU_1', 'ROUGE_1', 'METEOR_score', 'BERT_score', 'Toxicity', 'BART_score'].map(trial)
      // The paper's difference; of coherence it is 0.203 by Table 5 and printed as 0.202.
      expect(gained('Auto-CSEval - Best Traditional Metric')).toBeCloseTo(now - Math.max(...traditional), 2)
    }
  })

  const f1s = ['accuracy', 'macroF1', 'f1:rumor', 'f1:non-rumor'] as const

  it.each<[string, string, readonly number[]]>([
    ['Qwen1.5', TWITTER, [0.08, 0.08, 0.054, 0.106]],
    ['Qwen1.5', WEIBO, [0.039, 0.087, 0.003, 0.17]],
    ['GPT3.5', TWITTER, [0.122, 0.17, 0.078, 0.263]],
    ['GPT3.5', WEIBO, [0.048, 0.082, 0.026, 0.138]],
  ])('what S2MAD adds to %s on %s is the printed gain', (model, data, gains) => {
    const added = f1s.map(
      (measure) =>
        figure('s2mad-table-1', `${model} + S2MAD`, data, measure) - figure('s2mad-table-1', model, data, measure),
    )
    expect(added.map((gain) => gain.toFixed(3))).toEqual(gains.map((gain) => gain.toFixed(3)))
  })

  it('a macro-F1 is the mean of the two F1, and the one that exceeds its accuracy is told', () => {
    const table = presetNamed('s2mad-table-1')
    const above: string[] = []
    for (const { name } of table.rows)
      for (const data of [TWITTER, WEIBO]) {
        const [accuracy = 0, macro = 0, rumor = 0, nonRumor = 0] = f1s.map((one) => figure(table.name, name, data, one))
        expect(Math.abs(macro - (rumor + nonRumor) / 2), `${name} on ${data}`).toBeLessThan(0.00101)
        if (macro > accuracy) above.push(`${name} on ${data}`)
      }
    expect(above).toEqual(['Qwen1.5 + S2MAD on Weibo-COVID19'])
    expect(table.notes.join('\n')).toContain(above[0])
  })

  it('an F1 is that of its precision and recall, and the one that is not is told', () => {
    const off: string[] = []
    for (const name of ['aetheria-table-2', 'aetheria-table-3', 'aetheria-table-4']) {
      const { rows, decimals, decimalsOf = {} } = presetNamed(name)
      const half = 0.5 * 10 ** -decimals
      const halfF1 = 0.5 * 10 ** -(decimalsOf['f1:unsafe'] ?? decimals)
      for (const row of rows)
        for (const [data, cells] of Object.entries(row.figures)) {
          const { 'precision:unsafe': p = 0, 'recall:unsafe': r = 0, 'f1:unsafe': f1 = 0 } = cells
          const [low, high] = [-half, half].map((by) => (2 * (p + by) * (r + by)) / (p + r + 2 * by))
          if (f1 + halfF1 < (low ?? 0) || f1 - halfF1 > (high ?? 0)) off.push(`${row.name}, ${data}`)
        }
    }
    expect(off).toEqual(['Azure Content Safety, Text + Image'])
    expect(presetNamed('aetheria-table-2').notes.join('\n')).toContain(off[0])
  })

  it('rows that two tables share are the same', () => {
    for (const [at, data = ''] of [A, B, C, D, E].entries()) {
      const letter = 'ABCDE'[at]
      const shared = (measure: Measure, ...rows: readonly (readonly [string, string])[]) =>
        expect(new Set(rows.map(([table, row]) => figure(table, row, data, measure))).size, `${rows}`).toBe(1)
      for (const base of ['A', 'B', 'C', 'D', 'E'])
        shared('accuracy', ['predict-table-1', `Agent_${base}`], ['predict-table-4', `${base}, both`])
      shared('accuracy', ['predict-table-1', `Agent_${letter}`], ['predict-table-2', 'In-dataset'])
      shared('accuracy', ['predict-table-1', '5-Agents majority vote'], ['predict-table-2', 'Majority voting'])
      for (const measure of ['accuracy', 'accuracySd'] as const)
        shared(measure, ['predict-table-2', 'Rounds 1 & 2'], ['predict-table-6', '5-Agents'])
    }
    for (const data of [TWITTER, WEIBO])
      expect(figure('s2mad-table-1', 'GPT3.5 + S2MAD', data, 'accuracy')).toBe(
        figure('s2mad-table-2', 'Full Model', data, 'accuracy'),
      )
  })

  it('the time that a round more costs is the printed share', () => {
    const time = (rounds: string) => figure('aetheria-table-4', rounds, PAIR ?? '', 'seconds')
    for (const rounds of ['2', '3'])
      expect(time(rounds) / time('1') - 1).toBeCloseTo(
        figure('aetheria-table-4', rounds, PAIR ?? '', 'timeIncrease'),
        3,
      )
  })
})
