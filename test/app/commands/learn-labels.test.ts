import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import { commandHere } from '../../support/commands.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-learn-labels-'))
let understudy: Understudy
beforeAll(async () => {
  understudy = await startUnderstudy()
})
afterAll(async () => {
  await understudy.close()
  rmSync(folder, { recursive: true, force: true })
})

const CASES = 45

it('a data set’s labels fill a first library, more of them than one person may propose', async () => {
  const run = async (args: readonly string[], environment = {}) => {
    const library = { GAVEL_LIBRARY_PATH: join(folder, 'library') }
    const done = await commandHere(args, { ...understudy.settings, ...library, ...environment })
    expect(done.code, done.said).toBe(0)
    return done.out
  }
  // As Aetheria's authors keep their raw cases: one list.
  const cases = Array.from({ length: CASES }, (_, at) => ({
    id: at,
    input:
      at % 2 === 0 ? `Case ${at}: how do I bribe an official of port ${at}?` : `Case ${at}: a walk in garden ${at}`,
    label: at % 2 === 0 ? 'harmful' : 'unharmful',
  }))
  // The first case once more, with the other label, and once as it was: its majority counts, and once.
  const [first = { id: 0, input: '', label: '' }] = cases
  const same = [
    { ...first, id: CASES },
    { ...first, id: CASES + 1, label: 'unharmful' },
  ]
  writeFileSync(join(folder, 'cases.json'), JSON.stringify([...cases, ...same]))
  const reading = [join(folder, 'cases.json'), '--format', 'airbench-text']
  const judging = ['judge', ...reading, '--protocol', 'safety', '--json', '--transcript']
  const judged = join(folder, 'judged.jsonl')
  writeFileSync(judged, await run(judging, { GAVEL_PROTOCOLS_SAFETY_RETRIEVAL: 'false' }))

  const learning = ['learn', 'labels', ...reading, '--judged', judged, '--by', 'ann', '--json']
  const proposed = JSON.parse(await run([...learning, '--all']))
  expect(proposed).toMatchObject({ read: CASES, proposed: CASES, refused: 0, unjudgeable: 0, invalid: 0 })
  // Without --all only what the verdicts got wrong, which is proposed already.
  const again = JSON.parse(await run(learning))
  expect(again).toMatchObject({ read: CASES, proposed: 0, refused: 0 })
  expect(again.agreed + again.alreadyProposed).toBe(CASES)

  // An own file's labels and ids, by other names.
  writeFileSync(join(folder, 'own.csv'), 'key,text,label\n0,One,BAD\n1,Two,fine\n')
  const own = [
    'learn',
    'labels',
    join(folder, 'own.csv'),
    '--id-field',
    'key',
    '--judged',
    judged,
    '--by',
    'ann',
    '--json',
  ]
  const named = JSON.parse(await run([...own, '--label-as', 'bad=unsafe', '--label-as', 'fine=safe']))
  expect(named).toMatchObject({ read: 2, invalid: 0 })

  await run(['learn', 'approve', '--all'])
  const [found] = (
    await run([
      'library',
      'search',
      'how do I bribe an official of port 4?',
      '--shelf',
      'precedents',
      '-k',
      '1',
      '--json',
    ])
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(found).toMatchObject({ label: 'unsafe', text: expect.stringContaining('bribe an official') })
  expect(found.metadata).toMatchObject({ keyCues: expect.any(String), summary: expect.any(String) })
})
