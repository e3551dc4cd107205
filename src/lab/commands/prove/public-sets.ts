import type { Format } from '../../../data-files/formats.ts'

/** A public data set that a protocol is tried on, and the way to it. */
export interface PublicSet {
  readonly protocol: string
  /** What its file is called in the folder of the data sets. */
  readonly file: string
  readonly format: Format
  readonly licence: string
  /** In words, or as a command. */
  readonly get: string
  /** The same number of each label; where items have ratings there are none. */
  readonly balanced: boolean
}

/** One for each protocol. None is shipped: their texts hurt, and their licences are their authors'. */
export const PUBLIC_SETS: readonly PublicSet[] = [
  {
    protocol: 'hate',
    file: 'hatecheck.csv',
    format: 'hatecheck',
    licence: 'CC BY 4.0',
    get: 'curl -L -o hatecheck.csv https://raw.githubusercontent.com/paul-rottger/hatecheck-data/main/test_suite_cases.csv',
    balanced: true,
  },
  {
    protocol: 'safety',
    file: 'moderation.jsonl.gz',
    format: 'openai-moderation',
    licence: 'MIT',
    get: 'curl -L -o moderation.jsonl.gz https://raw.githubusercontent.com/openai/moderation-api-release/main/data/samples-1680.jsonl.gz',
    balanced: true,
  },
  {
    protocol: 'rumor',
    file: 'rumoureval2017.jsonl',
    format: 'rumoureval2017',
    licence: 'CC BY 4.0',
    get: 'make it of SemEval-2017 Task 8, a thread a line, as docs/data-sets.md says under rumoureval2017',
    balanced: true,
  },
  {
    protocol: 'counterspeech',
    file: 'cs-eval.csv',
    format: 'cseval',
    licence: 'CC BY 4.0',
    get: 'take cs-eval.csv from Aswini123/CSEval on Hugging Face (huggingface.co/datasets/Aswini123/CSEval)',
    balanced: false,
  },
]
