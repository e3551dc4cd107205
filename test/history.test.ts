import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { PROJECT } from '../config/load.ts'

/** Longer subjects are older than the rule. */
const BEFORE_THE_RULE = 'f57c605c'
const MOST_CHARS = 72

/** The commits since the rule; null where there is no such history, as in a package or a shallow clone. */
function subjects(): string[] | null {
  const { status, stdout } = spawnSync('git', ['log', '--format=%h %s', `${BEFORE_THE_RULE}..HEAD`], {
    cwd: PROJECT,
    encoding: 'utf8',
  })
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : null
}

const tooLong = (lines: readonly string[]) =>
  lines.filter((line) => [...line.slice(line.indexOf(' ') + 1)].length > MOST_CHARS)

it('has subjects that every list shows whole', (context) => {
  const lines = subjects()
  if (lines === null) return context.skip('there is no history here')
  expect(tooLong(lines)).toEqual([])
  expect(tooLong([`1234567 ${'a'.repeat(73)}`, `1234567 ${'a'.repeat(72)}`])).toHaveLength(1)
})
