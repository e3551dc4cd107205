import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import type { PresetTable } from '../../src/lab/evaluation/presets/preset.ts'

const SHARED = join(PROJECT, '..', 'shared', 'data')
const OWN = join(PROJECT, 'test', 'lab', 'evaluation', 'data-sets')

/** Public data by format, where it is at hand. */
const PUBLIC: Readonly<Record<string, string>> = {
  kodoli: 'kodoli/comments.jsonl',
  'airbench-text': 'airbench/only_text.jsonl',
  'airbench-image': 'airbench/only_img.jsonl',
  'airbench-both': 'airbench/text_img.jsonl',
}
/** Small files of our own making in the form in which the data sets are published. */
const SMALL: Readonly<Record<string, string>> = {
  'twitter-covid19': 'Twitter_data_all.txt',
  'weibo-covid19': 'weibo_covid19_data.txt',
  unsmile: 'unsmile.tsv',
  'k-mhas': 'k-mhas.txt',
  kold: 'kold.json',
  'k-haters': 'k-haters.jsonl',
  kodoli: 'kodoli.jsonl',
  'airbench-text': 'airbench-text.jsonl',
  'airbench-image': 'airbench-image.jsonl',
  'airbench-both': 'airbench-both.jsonl',
  gavel: 'replies.jsonl',
}

/** A file for each data set of a preset: the public one where it is at hand, else our own. */
export function presetData({ data }: PresetTable): { file: string; format: string; own: boolean }[] {
  return data.map(({ formats: [format = ''] }) => {
    const known = PUBLIC[format]
    const file = known === undefined ? undefined : join(SHARED, known)
    const own = file === undefined || !existsSync(file)
    return own ? { file: join(OWN, SMALL[format] ?? ''), format, own } : { file, format, own }
  })
}
