import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { commandIn } from '../../support/command-in.ts'
import { startModelServer } from '../../support/model-server.ts'
import { ownFolder } from '../../support/own-folder.ts'

/** Answers nothing, so that a command waits for it until it is stopped. */
let hung: Awaited<ReturnType<typeof startModelServer>>
beforeAll(async () => {
  hung = await startModelServer(() => new Promise(() => {}))
})
afterAll(() => hung.close())

const LABELLED = join(PROJECT, 'config', 'demo', 'labelled.jsonl')

it.each([
  ['doctor', [], 'SIGINT', 'gavel doctor: stopped.'],
  ['doctor', ['--json'], 'SIGTERM', 'gavel doctor: stopped.'],
  ['judge', [LABELLED, '--protocol', 'hate'], 'SIGTERM', 'gavel: Stopped before the end. The same command goes on'],
  ['eval', ['--protocol', 'rumor', '--data', LABELLED], 'SIGINT', 'gavel: Stopped: 0 of 24 verdicts.'],
] as const)(
  '%s %o that is ended by %s while a model hangs says that it was stopped, and of no fault',
  async (name, args, by, last) => {
    const kill = { calls: () => hung.calls(), afterMs: 200, by }
    const { code, out, said } = await commandIn(ownFolder('stopped'), [name, ...args], hung.settings, { kill })
    expect(said.trimEnd().split('\n').at(-1)).toContain(last)
    expect(said).not.toMatch(/broken|unexpected|aborted|failed|does not answer/i)
    expect({ code, out }).toEqual({ code: 1, out: '' })
  },
)
