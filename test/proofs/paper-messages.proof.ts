import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATA_SET_NAMES, type PaperDigests, paperDigests, paperProtocols } from '../support/paper-messages.ts'
import { tell } from '../support/pipeline.ts'

// test/protocols/paper-messages.test.ts holds the same over a few inputs of every kind; this over everything that is public.

const FILE = join(import.meta.dirname, 'paper-messages.json')
interface Released {
  readonly commit: string
  readonly made: string
  /** What was changed since, nearer to the paper, with the paper's words. */
  readonly mended: readonly object[]
  readonly dataSets: Readonly<Record<string, Readonly<Record<string, PaperDigests>>>>
}
const { dataSets: released, ...origin } = JSON.parse(readFileSync(FILE, 'utf8')) as Released

const protocols = paperProtocols()

test.for(DATA_SET_NAMES)('of %s every question under `paper` is as it was, byte for byte', (dataSet, context) => {
  const found = paperDigests(protocols, dataSet)
  if (found === null) {
    tell(`SKIPPED: ../shared/data/${dataSet}.jsonl is not there; nobody compared what \`paper\` asks about it.`)
    return context.skip(`${dataSet} is not there`)
  }
  const counts = Object.entries(found).map(([name, { subjects, asks }]) => `${name} ${subjects} subjects, ${asks} asks`)
  tell(`${dataSet}: ${counts.join('; ')}`)
  expect(found, `under \`paper\` something else is sent than at commit ${origin.commit} and as mended since`).toEqual(
    released[dataSet],
  )
})
