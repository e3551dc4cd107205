import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { found } from '../../src/contracts/facts/library.ts'
import { snapshot } from '../../src/contracts/facts/thread.ts'
import { transcript } from '../../src/contracts/facts/verdict.ts'
import { tell } from '../support/pipeline.ts'
import '../lab/evaluation/held-out.test.ts'

const DATA = join(PROJECT, '..', 'shared', 'data', 'airbench')

describe('a whole data set, imported as its own shelf, by the command line', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-own-items-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** The command as a person types it, without a server or key: the understudy answers, the local embedder embeds. */
  function gavel(...args: string[]): Promise<string[]> {
    const options = { env: { PATH: process.env.PATH }, cwd: folder, maxBuffer: 256 * 1024 * 1024 }
    return new Promise((resolve, reject) => {
      execFile(process.execPath, [join(PROJECT, 'src', 'launch.js'), ...args], options, (error, stdout) => {
        if (error === null) resolve(stdout.split('\n').filter((line) => line !== ''))
        else reject(error)
      })
    })
  }

  /** The words that both the shelf and the post hold, without the marks around images. */
  const bare = (text: string) =>
    text
      .replaceAll(/\[image: |\]/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .toLowerCase()

  it.for([
    ['airbench-image', 'only_img.jsonl'],
    ['airbench-both', 'text_img.jsonl'],
  ] as const)('shows no case of %s its own item', async ([format, name], context) => {
    const file = join(DATA, name)
    if (!existsSync(file)) {
      tell(`SKIPPED: ${file} is not there; no data set was judged beside its own shelf.`)
      return context.skip('../shared/data is not there')
    }
    const lines = readFileSync(file, 'utf8').trim().split('\n').length
    await gavel('library', 'import', file, '--shelf', 'precedents', '--format', format)
    const out = await gavel('judge', file, '--protocol', 'safety', '--format', format, '--json', '--transcript')
    const cases = out.map((line) => {
      const { subject, turns } = transcript.parse((JSON.parse(line) as { transcript: unknown }).transcript)
      const { post } = snapshot.parse(subject)
      const shown = (post.media ?? []).map(({ description = '' }) => description)
      const words = bare([post.text, ...shown].join('\n'))
      const looked = turns.find(({ stage }) => stage === 'retrieve')
      const [shelf] = found.parse(looked?.answer).shelves
      return {
        neighbours: shelf?.neighbours.length,
        own: shelf?.neighbours.filter(({ text }) => bare(text) === words).length,
        passedOver: shelf?.excluded?.own,
        nearDuplicates: shelf?.excluded?.nearDuplicates ?? 0,
      }
    })
    const count = (which: (one: (typeof cases)[number]) => boolean) => cases.filter(which).length
    const counts = {
      cases: cases.length,
      shownThree: count(({ neighbours }) => neighbours === 3),
      shownTheirOwn: count(({ own }) => own !== 0),
      ownPassedOver: count(({ passedOver }) => passedOver === 1),
    }
    const twins = cases.reduce((sum, { nearDuplicates }) => sum + nearDuplicates, 0)
    tell(`${format}: ${JSON.stringify(counts)}, ${twins} near-duplicates passed over`)
    expect(lines).toBe(150)
    expect(counts).toEqual({ cases: lines, shownThree: lines, shownTheirOwn: 0, ownPassedOver: lines })
  })
})
