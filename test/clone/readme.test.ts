import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'
import { cloned, shellIn } from './clone.ts'
import { COMMANDS, commandsIn, isThere, PAGES, runBy } from './commands.ts'

/** A command starts within a second or two; a machine that is busy takes longer. */
const PATIENCE_MS = 300_000

describe('every command of every page', () => {
  test('is run by a test or a proof, or has its reason', () => {
    const named = new Set(PAGES.flatMap((page) => commandsIn(page).map(({ name }) => name)))
    expect([...named].sort()).toEqual(Object.keys(COMMANDS).sort())
  })

  test('is run by a file that is there', () => {
    expect(Object.entries(COMMANDS).filter(([, where]) => !isThere(where))).toEqual([])
  })
})

const folder = join(ownFolder('clone'), 'gavel')
const isClone = cloned(folder, 'linked')
if (!isClone) tell('SKIPPED the commands of README and CONTRIBUTING: this tree is no repository of Git')

/** `npm run proof -- readme` installs the clone as README says, and runs what takes minutes or Apache Kafka. */
describe.skipIf(!isClone)('in a clean clone', { timeout: PATIENCE_MS }, () => {
  let [door, metrics]: [string, string] = ['', '']
  let shell: ReturnType<typeof shellIn>
  beforeAll(async () => {
    door = String(await freePort())
    metrics = String(await freePort())
    const own = { HOME: ownFolder('home'), npm_config_update_notifier: 'false' }
    shell = shellIn(folder, { ...own, GAVEL_DOOR_PORT: door, GAVEL_HTTP_PORT: metrics })
    writeFileSync(join(folder, 'posts.jsonl'), '{"id": "p1", "text": "The bridge is closed, they say."}\n')
    writeFileSync(join(folder, 'posts.txt'), 'The bridge is closed, they say.\n')
  })
  const labels = (file: string) =>
    readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; label: string | null })
      .map(({ id, label }) => `${id} ${label}`)
      .sort()

  test('one’s own posts are judged, as JSON Lines and as plain text', async () => {
    for (const line of ['npx gavel judge posts.jsonl', 'npx gavel judge posts.txt --text'])
      expect(await shell.run([line])).toMatchObject({ code: 0, out: expect.stringContaining('hate') })
  })

  test('the door answers what curl asks', async () => {
    const server = shell.start(['npx gavel serve --embedded'])
    try {
      await server.until(door, PATIENCE_MS)
      const [curl = ''] = Object.keys(COMMANDS).filter((line) => line.startsWith('curl'))
      const { code, out } = await shell.run([curl], (script) => script.replace('8420', door))
      expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, verdicts: [{ protocol: 'hate' }] })
    } finally {
      await server.stop()
    }
  })

  test('one file of tests runs, and of it the tests of one name', async () => {
    const passed = async (line: string) => {
      const { code, out, err } = await shell.run([line])
      expect(code, out + err).toBe(0)
      return Number(/Tests .*?(\d+) passed/.exec(plain(out))?.[1])
    }
    const all = await passed('npm test -- test/protocols/safety.test.ts')
    const some = await passed("npm test -- test/protocols/safety.test.ts -t 'of the arbiter'")
    expect(some).toBeGreaterThan(0)
    expect(all).toBeGreaterThan(some)
  })

  test('a verdict is followed, and a second run pays for nothing', async () => {
    const [follow = ''] = Object.keys(COMMANDS).filter(
      (line) => line.endsWith('--transcript') && line.includes('judge'),
    )
    const followed = await shell.run([follow])
    expect(followed).toMatchObject({ code: 0, out: expect.stringContaining('calvera-p1') })
    const [before = '', after = ''] = Object.keys(COMMANDS).filter((line) => line.includes('--out'))
    const answers = () => readFileSync(join(folder, '.gavel', 'event', 'answers.jsonl'), 'utf8').split('\n').length
    expect(await shell.run([before])).toMatchObject({ code: 0 })
    const known = answers()
    expect(known).toBeGreaterThan(50)
    expect(await shell.run([after])).toMatchObject({ code: 0 })
    expect(answers()).toBe(known)
    expect(labels('before.jsonl').length).toBeGreaterThan(5)
    expect(labels('after.jsonl')).toEqual(labels('before.jsonl'))
  })

  test('and none that is to be run here was left out', () => {
    expect([...shell.tried].sort()).toEqual(runBy('test'))
  })
})

/** Without the colours of a terminal. */
const plain = (text: string) => text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
