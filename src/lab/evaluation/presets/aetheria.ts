import type { Figures, Measure, PresetData, PresetRow, PresetTable, Switches } from './preset.ts'

// Aetheria: content safety by multi-agent debate, on its own benchmark, AIR-Bench. Harmful is `unsafe`.

const TEXT = 'Text Only'
const IMAGE = 'Image Only'
const BOTH = 'Text + Image'

const TEXT_AND_IMAGE: PresetData = { name: BOTH, formats: ['airbench-both'] }
const DATA: readonly PresetData[] = [
  { name: TEXT, formats: ['airbench-text'] },
  { name: IMAGE, formats: ['airbench-image'] },
  TEXT_AND_IMAGE,
]
const MEASURES: readonly Measure[] = ['f1:unsafe', 'precision:unsafe', 'recall:unsafe']

/** What a row does not switch is as in the full model; K is the published code's. */
const SWITCHES = {
  preset: 'paper',
  as: 'paper',
  temperature: 0,
  rounds: 2,
  k: 3,
  images: true,
  models: 'by-role',
  supporter: true,
  retrieval: true,
  strict: true,
  loose: true,
}
const SMALL = 'gpt-4o-mini'
const MODELS = { describer: 'gpt-4.1', supporter: SMALL, strict: SMALL, loose: SMALL, arbiter: 'gpt-4o' }

const DATA_NOTE =
  'The paper judges 1,000 texts, 988 images and 1,286 pairs. Its public data have a caption in an image’s place, which stands for the description by GPT-4.1.'
const LIBRARY_NOTE =
  'Its precedents were made of 3,000 further cases of the same sources. Its authors published 2,621 cases beside their code (gavel library import --format aetheria), of which some are the benchmark’s own items; ours are those on your shelf.'
const CODE_NOTE =
  'The published code asks otherwise than the paper’s sections (docs/safety.md), so the full model stands here twice, with the same figures of the paper. It embeds by text-embedding-3-large.'
const READING_NOTE =
  'Temperature 0 and K = 3 are those of the published code; the paper names neither. Items without a readable verdict are left out of the paper’s figures.'

type Three = readonly [precision: number, recall: number, f1: number]

function threeOf([precision, recall, f1]: Three) {
  return { 'precision:unsafe': precision, 'recall:unsafe': recall, 'f1:unsafe': f1 }
}

function figures(text: Three, image: Three, both: Three): Figures {
  return { [TEXT]: threeOf(text), [IMAGE]: threeOf(image), [BOTH]: threeOf(both) }
}

function debated(name: string, switches: Switches, printed: Figures): PresetRow {
  return { name, how: { by: 'protocol', switches }, models: MODELS, figures: printed }
}

function foreign(name: string, why: string, text: Three, image: Three, both: Three): PresetRow {
  return { name, how: { by: 'nothing', why }, figures: figures(text, image, both) }
}

const FEW_SHOT = 'a local model under a prompt with criteria and four random examples, which the paper does not print'
const FULL = figures([0.92, 0.91, 0.92], [0.9, 0.85, 0.87], [0.83, 0.85, 0.84])

const table2: PresetTable = {
  name: 'aetheria-table-2',
  of: 'Aetheria, Table 2: beside other models on AIR-Bench',
  protocol: 'safety',
  switches: SWITCHES,
  data: DATA,
  measures: MEASURES,
  decimals: 2,
  rows: [
    foreign('ShieldGemma-9B', FEW_SHOT, [0.88, 0.93, 0.9], [0.94, 0.72, 0.82], [0.66, 0.84, 0.74]),
    foreign('ShieldGemma-2B', FEW_SHOT, [0.85, 0.89, 0.87], [0.9, 0.61, 0.73], [0.66, 0.88, 0.75]),
    foreign('ShieldLM-6B-chatglm', FEW_SHOT, [0.94, 0.68, 0.79], [0.51, 0.97, 0.67], [0.44, 0.99, 0.61]),
    foreign('Vicuna-7B', FEW_SHOT, [0.8, 0.92, 0.85], [0.57, 0.76, 0.65], [0.67, 0.56, 0.61]),
    foreign(
      'llama-1B-guard',
      'a local model that is given the text alone and answers in a form of its own',
      [0.55, 0.96, 0.7],
      [0.53, 0.74, 0.62],
      [0.48, 0.88, 0.62],
    ),
    debated('Aetheria (Ours)', {}, FULL),
    debated('Aetheria (Ours), by the published code', { as: 'code' }, FULL),
    foreign(
      'Azure Content Safety',
      'a service with an interface of its own, which gives severities by category',
      [0.85, 0.4, 0.55],
      [0.73, 0.15, 0.25],
      [0.72, 0.46, 0.5],
    ),
    foreign(
      'OpenAI Moderation',
      'a service with an interface of its own, which answers no questions',
      [0.87, 0.46, 0.6],
      [0.74, 0.17, 0.28],
      [0.81, 0.67, 0.73],
    ),
  ],
  notes: [
    DATA_NOTE,
    LIBRARY_NOTE,
    READING_NOTE,
    CODE_NOTE,
    'Azure Content Safety, Text + Image: its printed F1 (0.50) is not that of its printed precision and recall (0.56).',
  ],
}

const table3: PresetTable = {
  name: 'aetheria-table-3',
  of: 'Aetheria, Table 3: parts of the debate removed',
  protocol: 'safety',
  switches: SWITCHES,
  data: DATA,
  measures: MEASURES,
  decimals: 2,
  rows: [
    debated('Full Model', {}, FULL),
    debated(
      'w/o RAG Retrieval',
      { retrieval: false },
      figures([0.94, 0.88, 0.91], [0.89, 0.84, 0.86], [0.86, 0.75, 0.8]),
    ),
    debated(
      'w/o Supporter Agent',
      { supporter: false },
      figures([0.93, 0.87, 0.9], [0.83, 0.83, 0.83], [0.9, 0.7, 0.79]),
    ),
    {
      ...debated(
        'All GPT-4o',
        { models: 'all-large' },
        figures([0.93, 0.89, 0.91], [0.94, 0.62, 0.75], [0.82, 0.85, 0.84]),
      ),
      calledBy: { name: 'GPT-4o', model: MODELS.arbiter },
    },
    {
      ...debated(
        'All GPT-4o-mini',
        { models: 'all-small' },
        figures([0.91, 0.92, 0.92], [0.75, 0.95, 0.84], [0.76, 0.86, 0.81]),
      ),
      calledBy: { name: 'GPT-4o-mini', model: SMALL },
    },
    debated('w/o Loose Debater', { loose: false }, figures([0.91, 0.92, 0.92], [0.94, 0.65, 0.77], [0.77, 0.9, 0.83])),
    debated('w/o Strict Debater', { strict: false }, figures([0.95, 0.86, 0.9], [0.9, 0.76, 0.82], [0.86, 0.8, 0.83])),
    debated(
      'Arbiter Only (No Debate)',
      { strict: false, loose: false },
      figures([0.98, 0.78, 0.87], [0.6, 0.96, 0.74], [0.57, 0.88, 0.7]),
    ),
  ],
  notes: [
    DATA_NOTE,
    LIBRARY_NOTE,
    READING_NOTE,
    'Whether the arbiter alone is still given the supporter’s brief is not said; here it is. The describer’s model stays the same in every row.',
    'Of All GPT-4o-mini the paper’s text gives other F1s than its table: 0.85 on images and 0.80 on text with images.',
  ],
}

/** `time` and `increase` as printed: minutes and seconds, and a percentage of the first row's time. */
function rounds(n: number, [precision, recall, f1]: Three, time: [m: number, s: number], increase?: number): PresetRow {
  const [minutes, seconds] = time
  return debated(
    String(n),
    { rounds: n },
    {
      [BOTH]: {
        ...threeOf([precision, recall, f1]),
        seconds: minutes * 60 + seconds,
        ...(increase === undefined ? {} : { timeIncrease: increase }),
      },
    },
  )
}

const table4: PresetTable = {
  name: 'aetheria-table-4',
  of: 'Aetheria, Table 4: rounds of debate, and what they cost',
  protocol: 'safety',
  switches: SWITCHES,
  data: [TEXT_AND_IMAGE],
  measures: [...MEASURES, 'seconds', 'timeIncrease'],
  decimals: 3,
  decimalsOf: { 'f1:unsafe': 4, seconds: 0 },
  rows: [
    rounds(1, [0.82, 0.882, 0.8501], [10, 15]),
    rounds(2, [0.828, 0.874, 0.8502], [11, 2], 0.076),
    rounds(3, [0.827, 0.866, 0.8459], [11, 16], 0.099),
  ],
  notes: [
    DATA_NOTE,
    LIBRARY_NOTE,
    READING_NOTE,
    'A run of its own in the paper: its two rounds are not the full model of Tables 2 and 3 to the digit.',
    'The paper’s time is of its whole run over 1,286 pairs, on a machine and with a parallelism that it does not give; ours is that of all calls, one after the other, as long as each took when it was made. Compare its growth, not its length.',
  ],
}

/** The supporter's call and the debaters', which the small model answers. */
const SMALL_STAGES = 'brief+strict+loose'

const costs: PresetTable = {
  name: 'aetheria-costs',
  of: 'Aetheria, section 4.2.5: time, calls by model and tokens',
  protocol: 'safety',
  switches: SWITCHES,
  data: [
    {
      name: 'AIR-Bench',
      formats: ['airbench-both', 'airbench-text', 'airbench-image'],
      sample: { size: 50, balanced: false },
    },
  ],
  measures: [
    'secondsEach',
    `calls:${SMALL_STAGES}`,
    `callShare:${SMALL_STAGES}`,
    'calls:arbitrate',
    'callShare:arbitrate',
    'tokensEach',
  ],
  decimals: 3,
  decimalsOf: { secondsEach: 2, [`calls:${SMALL_STAGES}`]: 0, 'calls:arbitrate': 0, tokensEach: 0 },
  rows: [
    debated(
      'Aetheria',
      {},
      {
        'AIR-Bench': {
          secondsEach: 6.88,
          [`calls:${SMALL_STAGES}`]: 250,
          [`callShare:${SMALL_STAGES}`]: 0.833,
          'calls:arbitrate': 50,
          'callShare:arbitrate': 0.167,
          tokensEach: 11_710,
        },
      },
    ),
  ],
  notes: [
    'The paper draws 50 items of its benchmark at random, and does not say of which part; give one of its files. Calls are by stage: those of gpt-4o-mini are the supporter’s and the debaters’, that of gpt-4o the arbiter’s.',
    'Time is that of an item’s calls, one after the other, as long as each took when it was made; the paper’s is an average over its run, without the visual encoding. Here no image is described: the files have descriptions.',
    READING_NOTE,
    LIBRARY_NOTE,
  ],
}

const BATCHES = [1, 2, 3, 4].map((nth) => ({ ...TEXT_AND_IMAGE, name: `B${nth}`, batch: { nth, of: 4 } }))

function inBatches(printed: readonly (number | undefined)[]): Figures {
  return Object.fromEntries(printed.map((f1, at) => [`B${at + 1}`, f1 === undefined ? {} : { 'f1:unsafe': f1 }]))
}

const figure3: PresetTable = {
  name: 'aetheria-figure-3',
  of: 'Aetheria, Figure 3: learning from batch to batch',
  protocol: 'safety',
  switches: SWITCHES,
  data: BATCHES,
  measures: MEASURES,
  decimals: 4,
  rows: [
    debated('Zero-shot baseline', { retrieval: false }, inBatches([undefined, 0.8177, 0.8692, 0.8252])),
    {
      ...debated('Continuous learning', {}, inBatches([undefined, undefined, undefined, 0.8708])),
      models: { ...MODELS, curator: 'gpt-4o' },
      learns: true,
    },
  ],
  figure: { axis: 'batch', pointOf: (row, data) => ({ line: row, at: data }) },
  notes: [
    DATA_NOTE,
    READING_NOTE,
    'The paper deals 1,000 items into four batches of 250 with the same share of each class; here the file’s, or the sample’s, are dealt so.',
    'As in the paper the shelf is empty before B1, and after each batch the curator is asked about every case of it, right or wrong. What it says is shelved without anybody’s approval, for this row alone; its questions are in no cell’s cost.',
    'The figure is a picture. The text gives the baseline of B2 (0.8177), B3 (0.8692) and B4 (0.8252), and learning’s B4 (0.8708, +4.56 points); of B3 it says −1.34 points, which makes 0.8558. It does not name the measure; it is read as the F1 of the tables.',
  ],
}

export const AETHERIA: readonly PresetTable[] = [table2, table3, table4, costs, figure3]
