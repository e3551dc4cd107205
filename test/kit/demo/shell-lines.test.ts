import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DEMO_KEY } from '../../../src/kit/demo/demo.ts'
import { shellLines } from '../../../src/kit/demo/shell-lines.ts'

test.each([DEMO_KEY, 'redis://127.0.0.1:6379', `it's "$HOME" \`date\` \\ #; two\nlines`, ''])(
  'a shell that reads the lines has the value: %j',
  (value) => {
    const folder = mkdtempSync(join(tmpdir(), 'gavel-shell-lines-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'demo.env')
    writeFileSync(file, shellLines({ GAVEL_ONE: value, GAVEL_TWO: 'after' }))
    const script = `set -ea; . "$1"; set +a; printenv GAVEL_ONE; printenv GAVEL_TWO`
    const read = execFileSync('/bin/sh', ['-c', script, 'sh', file], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin' },
    })
    expect(read).toBe(`${value}\nafter\n`)
  },
)
