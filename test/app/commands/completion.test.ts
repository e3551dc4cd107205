import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { candidatesFor } from '../../../src/app/commands/complete.ts'
import { command } from '../../../src/app/commands/completion.ts'
import { COMMANDS } from '../../../src/commands.ts'
import { PROTOCOLS } from '../../../src/protocols/registry.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { tell } from '../../support/pipeline.ts'

const wordsFor = async (...words: string[]) => (await candidatesFor(words, COMMANDS)).words.map(([word]) => word)
const scriptOf = (shell: string) => command.run({ args: [shell] } as never)

describe('what may follow on a command line', () => {
  it('is a command, one of a group, an option, or a known value', async () => {
    expect(await wordsFor('ju')).toEqual(['judge', 'judge-again'])
    expect(await wordsFor('')).not.toContain('complete')
    expect(await wordsFor('library', 'h')).toEqual(['history'])
    expect(await wordsFor('judge', '--pro')).toEqual(['--protocol'])
    expect(await wordsFor('judge', 'x.jsonl', '--protocol', '')).toEqual(
      PROTOCOLS.map(({ name }) => name).sort((a, b) => a.localeCompare(b)),
    )
    expect(await wordsFor('stack', '--kafka', 'm')).toEqual(['memory'])
    expect(await wordsFor('demo', '--')).toEqual(['--stay', '--model', '--live', '--help'])
    expect(await wordsFor('protocols', 'pause', 's')).toEqual(['safety'])
    expect(await wordsFor('no-such', '')).toEqual([])
  })

  it('is a file where the command takes one', async () => {
    expect((await candidatesFor(['judge', ''], COMMANDS)).files).toBe(true)
    expect((await candidatesFor(['judge', '--config', ''], COMMANDS)).files).toBe(true)
    expect((await candidatesFor(['verdicts', ''], COMMANDS)).files).toBe(false)
  })
})

/** In a folder with a `gavel` on the path. */
function inShell(shell: string, script: string) {
  const folder = join(ownFolder('completion'), 'bin')
  mkdirSync(folder)
  const main = join(PROJECT, 'src', 'main.ts')
  writeFileSync(
    join(folder, 'gavel'),
    `#!/bin/sh\nexec '${process.execPath}' --disable-warning=TimeoutNegativeWarning '${main}' "$@"\n`,
  )
  chmodSync(join(folder, 'gavel'), 0o755)
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TERM: 'dumb' }
  return spawnSync(shell, shell === 'fish' ? ['-c', script] : ['-f', '-c', script].slice(shell === 'bash' ? 1 : 0), {
    encoding: 'utf8',
    env,
    cwd: folder,
  })
}
const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0
const withoutShell = (shell: string, context: { skip(why: string): void }) => {
  if (isThere(shell)) return
  tell(`SKIPPED: ${shell} is not on the PATH; its completion was not run.`)
  context.skip(`${shell} is not there`)
}

describe('completion in a real shell', () => {
  it('bash completes a protocol, and runs nothing of what is typed', async (context) => {
    withoutShell('bash', context)
    const ask = (...words: string[]) =>
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _gavel; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = inShell(
      'bash',
      `${await scriptOf('bash')}\ncomplete -p gavel\n${ask('gavel', 'judge', '$(touch typed)', '--protocol', 'ru')}\n${ask('gavel', 'lib')}\nls`,
    )
    expect(stderr).toBe('')
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual([
      'complete -o default -F _gavel gavel',
      'rumor',
      'library',
      'gavel',
    ])
  })

  it('zsh completes a command with what it does', async (context) => {
    withoutShell('zsh', context)
    const { stdout } = inShell(
      'zsh',
      `compdef() { :; }\n_describe() { print -l -- "\${(@P)2}" }\n_files() { print files }\n${await scriptOf('zsh')}\nwords=(gavel judge ''); CURRENT=3; _gavel\nwords=(gavel lib); CURRENT=2; _gavel`,
    )
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual([
      'files',
      'library:shelves of labelled examples and precedents',
    ])
  })

  it('fish completes a command with what it does', async (context) => {
    withoutShell('fish', context)
    const { stdout } = inShell('fish', `${await scriptOf('fish')}\ncomplete -C 'gavel lib'`)
    expect(stdout).toBe('library\tshelves of labelled examples and precedents\n')
  })
})
