import { globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { PROJECT } from '../../config/load.ts'
import { type MutationReport, mutationReport, survivors, table } from './report.ts'

// `npm run mutate`: changes the sources, one place at a time, and says which changes the tests did not notice.

/**
 * What is mutated together, and the tests that must notice: the quick ones, which start no server. Scripts run as soon as
 * their tests load, so each part is tried against its own tests alone, or every mutant would cost the tests of all.
 */
const PARTS: Readonly<Record<string, { readonly sources: string; readonly tests: readonly string[] }>> = {
  gateway: { sources: 'src/gateway/**/*.ts', tests: ['test/gateway/*.test.ts'] },
  engine: { sources: 'src/engine/**/*.ts', tests: ['test/engine/*.test.ts'] },
  protocols: { sources: 'src/protocols/*.ts', tests: protocolTests('{prompts,make,counterspeech,hate}') },
  counterspeech: { sources: 'src/protocols/counterspeech/*.ts', tests: protocolTests('{counterspeech,answer-forms}') },
  hate: { sources: 'src/protocols/hate/*.ts', tests: protocolTests('{hate,answer-forms}') },
  rumor: {
    sources: 'src/protocols/rumor/*.ts',
    tests: protocolTests('{rumor*,brigading,near-identical,answer-forms}'),
  },
  safety: { sources: 'src/protocols/safety/*.ts', tests: protocolTests('{safety,answer-forms}') },
}
/** They measure time, or drive every protocol through a hundred attacks. */
const SLOW = ['test/gateway/attacks.test.ts', 'test/gateway/long-answers.test.ts']

const { values, positionals } = parseArgs({
  options: { mutate: { type: 'string', multiple: true }, incremental: { type: 'boolean', default: false } },
  allowPositionals: true,
})
process.chdir(PROJECT)
const folder = join('reports', 'mutation')
mkdirSync(folder, { recursive: true })

const wanted = new Set([...(values.mutate ?? []), ...positionals].flatMap(sourcesIn))
const reports: MutationReport[] = []
for (const [part, { sources, tests }] of Object.entries(PARTS)) {
  const mutate = globSync(sources).filter((file) => wanted.size === 0 || wanted.has(file))
  if (mutate.length === 0) continue
  const fileName = join(folder, `${part}.json`)
  await new Stryker({
    mutate,
    testFiles: tests.flatMap((pattern) => globSync(pattern)).filter((file) => !SLOW.includes(file)),
    jsonReporter: { fileName },
    incremental: values.incremental,
    incrementalFile: join(folder, `${part}.incremental.json`),
  }).runMutationTest()
  reports.push(mutationReport.parse(JSON.parse(readFileSync(fileName, 'utf8'))))
}
process.stdout.write(`\n${survivors(reports).join('\n')}\n\n${table(reports)}\n`)

function protocolTests(names: string): string[] {
  return [`test/protocols/${names}.test.ts`]
}

/** A file, a folder, or a pattern of files. */
function sourcesIn(pattern: string): string[] {
  const found = globSync(pattern)
  if (found.length === 0) throw new Error(`nothing is called ${pattern}`)
  return found.flatMap((path) => (statSync(path).isDirectory() ? globSync(`${path}/**/*.ts`) : [path]))
}
