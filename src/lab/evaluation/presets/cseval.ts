import type { Overlap } from '../statistics/overlap.ts'
import type { Figures, Measure, PresetData, PresetRow, PresetTable, Switches } from './preset.ts'

// Auto-CSEval: multi-dimensional counterspeech evaluation by auto-calibrated steps.

const ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const
type Four = readonly [relevance: number, aggressiveness: number, coherence: number, suitableness: number]

const CSEVAL = 'CSEval'
const DATA: readonly PresetData[] = [{ name: CSEVAL, formats: ['gavel', 'cseval'] }]
const SWITCHES = { preset: 'paper', aspects: ASPECTS, temperature: 0 }

const DATA_NOTE =
  'CSEval has 7,926 replies to 2,223 hateful statements; give its table (--format cseval), or a file of your own with ratings of the four aspects.'
const MODELS_NOTE =
  'The paper names GPT-4 as gpt-4, and of Llama 3 and Mistral neither size nor version; its authors’ files have gpt-4o, meta-llama/Llama-3-8b-chat-hf and mistralai/Mistral-7B-Instruct-v0.3. Say what your endpoint calls them with --model, or take other rows with --only.'
const STEPS_NOTE =
  'A row of Auto-CSEval needs steps that were calibrated for its model: gavel calibrate, then protocols.counterspeech.stepsFor.'
const TRIALS_NOTE =
  'A trial is a random sample of 100, 600, 1,100 … items under seed 1, 2 or 3: 39 trials on the paper’s test set, fewer on fewer items.'

/** As the endpoint names them: the paper gives neither sizes nor versions. */
const BASES = { Llama3: 'llama-3', Mistral: 'mistral', 'GPT-4': 'gpt-4' } as const
type Base = keyof typeof BASES
const VARIANTS = {
  'zero-shot': { switches: { steps: 'zero-shot' } },
  'G-EVAL': { switches: { steps: 'model-written' } },
  'Auto-CSEval': { switches: { steps: 'calibrated' }, needs: 'calibrated-steps' },
} as const satisfies Readonly<Record<string, { switches: Switches; needs?: PresetRow['needs'] }>>
type Variant = keyof typeof VARIANTS

function judged(name: string, base: Base, variant: Variant, figures: Figures[string]): PresetRow {
  const { switches, ...needs } = VARIANTS[variant]
  const model = BASES[base]
  const called = /^(LLama-3|Llama3|Mistral|GPT-4)/.exec(name)?.[0]
  return {
    name,
    ...needs,
    how: { by: 'protocol', switches },
    models: { scorer: model, 'steps-writer': model },
    ...(called === undefined ? {} : { calledBy: { name: called, model } }),
    figures: { [CSEVAL]: figures },
  }
}

function foreign(name: string, why: string, figures: Figures[string]): PresetRow {
  return { name, how: { by: 'nothing', why }, figures: { [CSEVAL]: figures } }
}

function similarity(name: string, metric: Overlap, figures: Figures[string]): PresetRow {
  return { name, how: { by: 'overlap', metric }, figures: { [CSEVAL]: figures } }
}

type Kind = 'spearman' | 'kendall' | 'spearmanP' | 'kendallP' | 'trialMean' | 'trialSd' | 'trialGain'

/** What a row prints of one measure, by aspect. */
function by(kind: Kind, four: Four) {
  return Object.fromEntries(ASPECTS.map((aspect, at) => [`${kind}:${aspect}`, four[at]])) as Partial<
    Record<Measure, number>
  >
}

function measures(...kinds: (Kind | 'statementSpearman')[]): Measure[] {
  return kinds.flatMap((kind) => ASPECTS.map((aspect): Measure => `${kind}:${aspect}`))
}

/** What Table 1 prints of a row: ρ and τ of each aspect, and their means. */
function correlated(rho: Four, tau: Four, means: readonly [rho: number, tau: number]): Figures[string] {
  return { ...by('spearman', rho), ...by('kendall', tau), 'spearman:mean': means[0], 'kendall:mean': means[1] }
}

function correlations(base: Base, variant: Variant, ...printed: Parameters<typeof correlated>) {
  return judged(`${base} (${variant})`, base, variant, correlated(...printed))
}

function similarities(name: string, metric: Overlap, ...printed: Parameters<typeof correlated>) {
  return similarity(name, metric, correlated(...printed))
}

/** A classifier of which the paper prints ρ and τ of some aspects, and two averages. */
function classifier(
  name: string,
  printed: Readonly<Partial<Record<(typeof ASPECTS)[number], readonly [rho: number, tau: number]>>>,
  means: readonly [rho: number, tau: number],
): PresetRow {
  const figures = Object.entries(printed).flatMap(([aspect, [rho, tau]]) => [
    [`spearman:${aspect}`, rho],
    [`kendall:${aspect}`, tau],
  ])
  return foreign(name, NO_METRIC, {
    ...Object.fromEntries(figures),
    'spearman:mean': means[0],
    'kendall:mean': means[1],
  })
}

const NO_METRIC = 'a metric of its own model, no language model that answers questions'

const table1: PresetTable = {
  name: 'cseval-table-1',
  of: 'Auto-CSEval, Table 1: correlation with people’s ratings',
  protocol: 'counterspeech',
  switches: SWITCHES,
  data: DATA,
  measures: [...measures('spearman', 'kendall'), 'spearman:mean', 'kendall:mean', ...measures('statementSpearman')],
  aspects: [...ASPECTS, 'mean'],
  decimals: 3,
  rows: [
    similarities('BLEU-1', 'bleu-1', [0.002, -0.137, 0.104, 0.01], [0, -0.114, 0.076, 0.008], [-0.005, -0.007]),
    similarities('BLEU-2', 'bleu-2', [-0.075, 0.155, -0.231, -0.097], [-0.055, 0.12, -0.176, -0.071], [-0.062, -0.046]),
    similarities('BLEU-3', 'bleu-3', [-0.091, 0.16, -0.251, -0.114], [-0.067, 0.123, -0.191, -0.085], [-0.074, -0.055]),
    similarities('BLEU-4', 'bleu-4', [-0.091, 0.16, -0.251, -0.114], [-0.067, 0.123, -0.191, -0.085], [-0.074, -0.055]),
    similarities('ROUGE-1', 'rouge-1', [0.2, -0.167, 0.344, 0.193], [0.15, -0.13, 0.251, 0.149], [0.143, 0.105]),
    similarities('ROUGE-2', 'rouge-2', [0.2, -0.212, 0.359, 0.221], [0.164, -0.18, 0.283, 0.186], [0.142, 0.113]),
    similarities('ROUGE-L', 'rouge-l', [0.202, -0.163, 0.352, 0.199], [0.151, -0.127, 0.257, 0.154], [0.148, 0.109]),
    similarities('METEOR', 'meteor', [0.172, -0.205, 0.353, 0.166], [0.13, -0.16, 0.26, 0.13], [0.121, 0.09]),
    foreign(
      'BERTScore',
      NO_METRIC,
      correlated([0.223, -0.075, 0.348, 0.25], [0.165, -0.058, 0.256, 0.19], [0.186, 0.139]),
    ),
    foreign(
      'BARTScore',
      NO_METRIC,
      correlated([0.276, -0.197, 0.389, 0.256], [0.206, -0.153, 0.283, 0.196], [0.181, 0.133]),
    ),
    foreign(
      'UniEval',
      NO_METRIC,
      correlated([0.197, 0.034, 0.176, 0.213], [0.143, 0.024, 0.127, 0.159], [0.155, 0.113]),
    ),
    classifier(
      'PDScore',
      { relevance: [0.019, 0.013], coherence: [-0.106, -0.074], suitableness: [-0.005, -0.004] },
      [0.033, 0.027],
    ),
    classifier('Pro-Con (PC)', { aggressiveness: [0.015, 0.012], coherence: [0.051, 0.037] }, [0.064, 0.048]),
    classifier('Argument Quality (AQ)', { coherence: [0.136, 0.098], suitableness: [0.084, 0.063] }, [0.05, 0.035]),
    classifier('Toxicity Score', { aggressiveness: [0.219, 0.283] }, [0.087, 0.068]),
    correlations('Llama3', 'zero-shot', [0.33, 0.199, 0.328, 0.163], [0.286, 0.185, 0.279, 0.15], [0.255, 0.225]),
    correlations('Llama3', 'G-EVAL', [0.318, 0.136, 0.318, 0.263], [0.271, 0.126, 0.269, 0.239], [0.259, 0.226]),
    correlations('Llama3', 'Auto-CSEval', [0.34, 0.171, 0.326, 0.278], [0.293, 0.159, 0.278, 0.252], [0.279, 0.246]),
    correlations('Mistral', 'zero-shot', [0.322, 0.278, 0.339, 0.302], [0.284, 0.254, 0.284, 0.277], [0.31, 0.275]),
    correlations('Mistral', 'G-EVAL', [0.36, 0.315, 0.366, 0.35], [0.319, 0.289, 0.313, 0.319], [0.348, 0.31]),
    correlations('Mistral', 'Auto-CSEval', [0.372, 0.291, 0.349, 0.363], [0.332, 0.268, 0.293, 0.333], [0.344, 0.306]),
    correlations('GPT-4', 'zero-shot', [0.532, 0.349, 0.435, 0.414], [0.476, 0.328, 0.377, 0.383], [0.433, 0.391]),
    correlations('GPT-4', 'G-EVAL', [0.626, 0.379, 0.582, 0.524], [0.572, 0.351, 0.488, 0.464], [0.527, 0.469]),
    correlations('GPT-4', 'Auto-CSEval', [0.687, 0.447, 0.6, 0.567], [0.637, 0.425, 0.506, 0.504], [0.575, 0.518]),
  ],
  notes: [
    DATA_NOTE,
    MODELS_NOTE,
    STEPS_NOTE,
    'Similarities compare a reply with its reference (counterspeech, or reference in a file of your own): BLEU as sacrebleu has it, ROUGE as rouge-score, METEOR as NLTK but without its synonym stage, which needs WordNet. The authors’ code gives BLEU words as single characters, so its rows will differ.',
    'Of PDScore, Pro-Con, Argument Quality and Toxicity the paper prints single aspects, and averages that are not those of what it prints.',
    'The paper calls its correlations sample-level (equation 3); its trials on random samples can only be pooled ones, as ρ and τ are here. statementSpearman is equation 3: the mean of ρ over the replies to each statement.',
  ],
}

function ranked(base: Base, variant: Variant, name: string, ndcg: number): PresetRow {
  return judged(name, base, variant, { 'statementNdcg:unified': ndcg })
}

const table2: PresetTable = {
  name: 'cseval-table-2',
  of: 'Auto-CSEval, Table 2: ranking of replies by the unified score',
  protocol: 'counterspeech',
  switches: SWITCHES,
  data: DATA,
  measures: ['statementNdcg:unified', 'statementNdcgRandom:unified'],
  decimals: 3,
  rows: [
    ranked('Llama3', 'G-EVAL', 'LLama-3 (GEval)', 0.874),
    ranked('Mistral', 'G-EVAL', 'Mistral (GEval)', 0.862),
    ranked('GPT-4', 'G-EVAL', 'GPT-4 (GEval)', 0.894),
    ranked('Llama3', 'Auto-CSEval', 'LLama-3 (Auto-CSEval)', 0.89),
    ranked('Mistral', 'Auto-CSEval', 'Mistral (Auto-CSEval)', 0.891),
    ranked('GPT-4', 'Auto-CSEval', 'GPT-4 (Auto-CSEval)', 0.898),
  ],
  notes: [
    'The paper has three people rank 372 data points; its authors’ files have 62 lists of five replies, ranked by two people (data/human_eval). Here their preference is the rating `unified` of each reply, from 1 to 5, such as 6 less its mean rank. Items without it count for nothing.',
    MODELS_NOTE,
    STEPS_NOTE,
    'statementNdcgRandom is what a random order of the same replies has on average: NDCG is high by itself, and only what lies above it says something.',
  ],
}

const table3: PresetTable = {
  name: 'cseval-table-3',
  of: 'Auto-CSEval, Table 3: what it gains over the best other method, in the mean over trials',
  protocol: 'counterspeech',
  switches: SWITCHES,
  data: DATA,
  measures: measures('trialMean', 'trialGain'),
  aspects: ASPECTS,
  decimals: 3,
  rows: [
    judged('GPT-4 (zeroshot)', 'GPT-4', 'zero-shot', {}),
    judged('GPT-4 (GEval)', 'GPT-4', 'G-EVAL', {}),
    foreign(
      'Auto-CSEval - Best Traditional Metric',
      'its best traditional metrics are BARTScore and a toxicity classifier, models of their own',
      by('trialGain', [0.415, 0.189, 0.202, 0.317]),
    ),
    judged('Auto-CSEval - Best Method', 'GPT-4', 'Auto-CSEval', by('trialGain', [0.058, 0.069, 0.019, 0.044])),
  ],
  notes: [
    DATA_NOTE,
    STEPS_NOTE,
    TRIALS_NOTE,
    'trialGain is a row’s trialMean less the highest of the rows above it. The 0.190 that the appendix has for the best traditional metric is not the mean of these four (0.281).',
  ],
}

const table4: PresetTable = {
  name: 'cseval-table-4',
  of: 'Auto-CSEval, Table 4: p-values of the correlations',
  protocol: 'counterspeech',
  switches: SWITCHES,
  data: DATA,
  measures: measures('spearmanP', 'kendallP'),
  aspects: ASPECTS,
  decimals: 2,
  rows: [
    foreign('BertScore', NO_METRIC, {
      ...by('spearmanP', [5.08e-74, 1.43e-9, 1.41e-184, 6.7e-94]),
      ...by('kendallP', [5.7e-73, 1.9e-9, 1.3e-183, 3.74e-91]),
    }),
    foreign('BartScore', NO_METRIC, {
      ...by('spearmanP', [1.44e-114, 5.67e-58, 1.98e-234, 9.12e-98]),
      ...by('kendallP', [3.41e-112, 5.19e-57, 3.66e-224, 5.03e-97]),
    }),
    judged('GPT-4 (zeroshot)', 'GPT-4', 'zero-shot', {
      ...by('spearmanP', [0, 1.91e-186, 1.44e-299, 7.06e-269]),
      ...by('kendallP', [0, 5.03e-175, 0, 2.14e-253]),
    }),
    judged('GPT-4 (G-Eval)', 'GPT-4', 'G-EVAL', {
      ...by('spearmanP', [0, 1.04e-221, 0, 0]),
      ...by('kendallP', [0, 1.63e-228, 0, 0]),
    }),
    judged('GPT-4 (Auto-CSEval)', 'GPT-4', 'Auto-CSEval', {
      ...by('spearmanP', [0, 0, 0, 0]),
      ...by('kendallP', [0, 0, 0, 0]),
    }),
  ],
  notes: [
    DATA_NOTE,
    STEPS_NOTE,
    'A p-value says how surprising the correlation would be if there were none; it falls with the number of items, and says nothing of how good a method is. 0 is what the paper prints for less than its arithmetic can hold.',
  ],
}

function trials(name: string, variant: Variant, mean: Four, sd: Four): PresetRow {
  return judged(name, 'GPT-4', variant, { ...by('trialMean', mean), ...by('trialSd', sd) })
}

function foreignTrials(name: string, mean: Four, sd: Four): PresetRow {
  return foreign(name, NO_METRIC, { ...by('trialMean', mean), ...by('trialSd', sd) })
}

function similarityTrials(name: string, metric: Overlap, mean: Four, sd: Four): PresetRow {
  return similarity(name, metric, { ...by('trialMean', mean), ...by('trialSd', sd) })
}

const table5: PresetTable = {
  name: 'cseval-table-5',
  of: 'Auto-CSEval, Table 5: ρ over trials, its mean and standard deviation',
  protocol: 'counterspeech',
  switches: SWITCHES,
  data: DATA,
  measures: measures('trialMean', 'trialSd'),
  aspects: ASPECTS,
  decimals: 3,
  rows: [
    similarityTrials('BLEU_1', 'bleu-1', [-0.007, -0.147, 0.115, 0.005], [0.022, 0.043, 0.04, 0.025]),
    similarityTrials('ROUGE_1', 'rouge-1', [0.213, -0.167, 0.354, 0.2], [0.037, 0.02, 0.027, 0.027]),
    similarityTrials('METEOR_score', 'meteor', [0.178, -0.207, 0.355, 0.169], [0.032, 0.02, 0.025, 0.023]),
    foreignTrials('BERT_score', [0.227, -0.077, 0.342, 0.249], [0.027, 0.027, 0.02, 0.014]),
    foreignTrials('Toxicity', [-0.019, 0.272, -0.184, -0.107], [0.03, 0.018, 0.037, 0.028]),
    foreignTrials('BART_score', [0.272, -0.198, 0.394, 0.249], [0.024, 0.023, 0.024, 0.021]),
    trials('GPT-4 (zeroshot)', 'zero-shot', [0.529, 0.336, 0.444, 0.422], [0.031, 0.061, 0.025, 0.039]),
    trials('GPT-4 (GEval)', 'G-EVAL', [0.629, 0.392, 0.578, 0.522], [0.012, 0.03, 0.031, 0.014]),
    trials('GPT-4 (Auto-CSEval)', 'Auto-CSEval', [0.687, 0.461, 0.597, 0.566], [0.01, 0.035, 0.032, 0.014]),
  ],
  notes: [DATA_NOTE, STEPS_NOTE, TRIALS_NOTE, 'Whether the standard deviation is that of the sample is not said.'],
}

export const CSEVAL_TABLES: readonly PresetTable[] = [table1, table2, table3, table4, table5]
