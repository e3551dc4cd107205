import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes some twenty seconds and more, the longest first: begun late, one of them would run on when all others have ended. */
const LONGEST = [
  'e2e/chaos',
  'e2e/outages',
  'e2e/whole-way',
  'contracts/lancedb',
  'e2e/recover',
  'app/commands/eval',
  'app/commands/judge',
  'e2e/record',
  'e2e/rolling',
  'e2e/stop',
  'e2e/bad-input',

  'app/commands/calibrate',
  'e2e/shown',
  'e2e/show',
  'e2e/deletion-burst',
  'e2e/door',
  'producers/publisher',
  'e2e/canary',
  'e2e/dead-letters',
  'e2e/top',
  'contracts/redis',
  'e2e/secured',
  'app/commands/reading',
  'e2e/learn',
  'rules',
  'e2e/decide',

  'e2e/tenants',
  'kit/stack/servers',
  'package/tarball',
  'e2e/refused',
  'e2e/recordless-ends',
  'e2e/watch',
  'clone/readme',
  'e2e/starts-in-outage',
  'e2e/forgotten',
  'e2e/fairness',
  'contracts/memo',
  'app/commands/judge-reports',
  'console/browser',
  'e2e/redis-refusals',
  'contracts/postgres-record',
  'grafana',
].map((name) => `test/${name}.test.ts`)
for (const file of LONGEST)
  if (!existsSync(join(import.meta.dirname, file))) throw new Error(`${file} is named here, and is not there`)

/** How many files run at a time: most of the longest wait most of their time. */
export const WORKERS = 4

/**
 * Long files first. Those that share what they have imported come right after as many as leave one worker to them: they need the
 * processor that the long ones leave.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files))
      .map((file) => ({ file, turn: turnOf(file) }))
      .sort((a, b) => a.turn - b.turn)
      .map(({ file }) => file)
  }
}

function turnOf({ moduleId, project }: TestSpecification): number {
  const { isolate, sequence } = project.config
  const at = LONGEST.indexOf(relative(import.meta.dirname, moduleId))
  const turn = isolate ? (at === -1 ? LONGEST.length : at) : WORKERS - 1.5
  return sequence.groupOrder * (LONGEST.length + 1) + turn
}
