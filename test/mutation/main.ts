import { globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { PROJECT } from '../../config/load.ts'
import { type MutationReport, mutationReport, survivors, table } from './report.ts'

// `npm run mutate`: changes the sources, one place at a time, and says which changes no test noticed.

/**
 * What is mutated together, and the tests that must notice: the quick ones, which start no server. Scripts run as soon as
 * their tests load, so each part is tried against its own tests alone, or every mutant would cost the tests of all.
 */
const PARTS: Readonly<Record<string, { readonly sources: string; readonly tests: string }>> = {
  gateway: { sources: 'src/models/**/*.ts', tests: 'test/models/*.test.ts' },
  engine: { sources: 'src/judging/engine/**/*.ts', tests: 'test/judging/engine/*.test.ts' },
  recovery: { sources: 'src/recovery/*.ts', tests: 'test/recovery/*.test.ts' },
  protocols: {
    sources: 'src/protocols/*.ts',
    tests: 'test/protocols/{prompts,make,said,score,truncation,paper,counterspeech,hate,rumor,safety,settings}.test.ts',
  },
  counterspeech: {
    sources: 'src/protocols/counterspeech/**/*.ts',
    tests: 'test/protocols/{counterspeech,answer-forms,paper,said,score,truncation,settings}.test.ts',
  },
  hate: {
    sources: 'src/protocols/hate/**/*.ts',
    tests: 'test/protocols/{hate,answer-forms,paper,said,score,truncation,settings}.test.ts',
  },
  rumor: {
    sources: 'src/protocols/rumor/**/*.ts',
    tests:
      'test/protocols/{rumor*,comment-weights,near-identical,answer-forms,paper,said,score,truncation,settings}.test.ts',
  },
  safety: {
    sources: 'src/protocols/safety/**/*.ts',
    tests: 'test/protocols/{safety,curation,answer-forms,paper,said,score,truncation,settings}.test.ts',
  },
}

/** They measure time, which means nothing in instrumented code, or drive every protocol through hundreds of attacks. */
const LEFT_OUT = ['attacks', 'wire', 'long-answers'].map((name) => `test/models/${name}.test.ts`)

/**
 * Not tried: what stands in messages, prompts and schemas, which digests and whole expectations hold; and what only empties
 * or fixes a line that another mutator changes as well, which would treble the time.
 */
const EXCLUDED_MUTATIONS = [
  'StringLiteral',
  'ObjectLiteral',
  'Regex',
  'BlockStatement',
  'ArrowFunction',
  'CallExpression',
  'ArrayDeclaration',
  'ConditionalExpression',
]

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
  // Not by Stryker's own `testFiles`, under which a mutant comes too late for what a module does as it loads.
  process.env.MUTATION_TESTS = globSync(tests)
    .filter((file) => !LEFT_OUT.includes(file))
    .join()
  await new Stryker({
    mutate,
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts' },
    coverageAnalysis: 'perTest',
    mutator: { excludedMutations: EXCLUDED_MUTATIONS },
    concurrency: 1,
    warnings: false,
    reporters: ['json'],
    jsonReporter: { fileName },
    incremental: values.incremental,
    incrementalFile: join(folder, `${part}.incremental.json`),
  }).runMutationTest()
  reports.push(mutationReport.parse(JSON.parse(readFileSync(fileName, 'utf8'))))
}
process.stdout.write(`\n${survivors(reports).join('\n')}\n\n${table(reports)}\n`)

/** A file, a folder, or a pattern of files. */
function sourcesIn(pattern: string): string[] {
  const found = globSync(pattern)
  if (found.length === 0) throw new Error(`nothing is called ${pattern}`)
  return found.flatMap((path) => (statSync(path).isDirectory() ? globSync(`${path}/**/*.ts`) : [path]))
}
