import { randomUUID } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { withFirst, withFirstAt, withValueAt } from '../../../config/settings-file.ts'
import { topicsOf } from '../../../config/topics.ts'
import { judgedRamps, percentIn } from '../../../src/app/commands/variant/set-ramp.ts'
import { changeSettings } from '../../../src/app/commands/variant/settings-change.ts'
import type { Terminal } from '../../../src/cli/terminal.ts'
import { auditEntry } from '../../../src/contracts/facts/audit.ts'
import { jsonOf } from '../../../src/contracts/facts/json-of.ts'
import { readTopic } from '../../../src/stream/bounded-reader.ts'
import { kafkaClient } from '../../../src/stream/client.ts'
import { commandIn } from '../../support/command-in.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { startedKafka } from '../../support/servers.ts'

const FILE = `# Ours.
protocols:
  hate:
    variants:
      # Tried since Monday.
      short: { ramp: 0.1, rounds: 1 } # short debates
`

it('one value is changed, and all else of the file stays, comments too', () => {
  const path = ['protocols', 'hate', 'variants', 'short', 'ramp']
  expect(withValueAt(FILE, path, 1)).toBe(FILE.replace('ramp: 0.1', 'ramp: 1'))
})

it('no other byte is changed, nor are spaces that YAML would set otherwise', () => {
  const odd = 'protocols:   # ours\n    hate: {variants: {short: {ramp:   0.1,rounds: 1}}}\n\n\n'
  const there = withValueAt(odd, ['protocols', 'hate', 'variants', 'short', 'ramp'], 0.25)
  expect(there).toBe(odd.replace('0.1', '0.25'))
  expect(withValueAt(there, ['protocols', 'hate', 'variants', 'short', 'ramp'], 0.1)).toBe(odd)
})

it('an entry comes first in its map, in place of one of its name, or makes the map', () => {
  const path = ['protocols', 'hate', 'variants']
  expect(withFirstAt('# Ours.\n', path, 'new', { ramp: 1 })).toContain('variants:\n      new:\n        ramp: 1')
  const two = withFirstAt(FILE, path, 'new', { ramp: 1 })
  expect([two.indexOf('new:') < two.indexOf('short:'), two.includes('# short debates')]).toEqual([true, true])
  expect(withFirstAt(two, path, 'new', { ramp: 0.5 }).match(/new:/g)).toHaveLength(1)
})

it('an entry that is there comes first as it stands', () => {
  const two = withFirstAt(FILE, ['protocols', 'hate', 'variants'], 'new', { ramp: 1 })
  const back = withFirst(two, ['protocols', 'hate', 'variants'], 'short')
  expect([back.indexOf('short:') < back.indexOf('new:'), back.includes('# short debates'), back.length]).toEqual([
    true,
    true,
    two.length,
  ])
})

it('a variant judges what those before it leave', () => {
  const variants = { half: { ramp: 0.5 }, all: { ramp: 1 }, tenth: { ramp: 0.1 } }
  const judged = judgedRamps({ protocols: { hate: { enabled: true, variants } } })
  expect(judged.map(({ variant, judges }) => [variant, judges])).toEqual([
    ['half', 0.5],
    ['all', 0.5],
    ['tenth', 0],
  ])
})

it.each(['10%', '0.5 %', '100%'])('a part of subjects is a percentage: %s', (text) => {
  expect(percentIn(text)).toBe(Number.parseFloat(text) / 100)
})
it.each(['', '10', '101%', '-1%', 'all'])('and nothing else: %s', (text) => {
  expect(percentIn(text)).toBeNull()
})

it('what can’t be noted in the audit is not done, nor is what the settings don’t have', async () => {
  const folder = ownFolder('variant-ramp')
  const file = join(folder, 'gavel.yaml')
  writeFileSync(file, FILE)
  const gavel = (...words: string[]) =>
    commandIn(folder, ['variant', ...words], { KAFKA_BROKERS: '127.0.0.1:1', GAVEL_LOG_LEVEL: 'error' })
  const config = ['--config', 'gavel.yaml', '--by', 'ann']
  expect((await gavel('list', '--config', 'gavel.yaml')).out).toContain('hate  short  10 %')
  for (const [words, why] of [
    [['live', 'short', ...config], /127\.0\.0\.1:1/],
    [['live', 'long', ...config], /no variant long/],
    [['ramp', 'short', '200%', ...config], /percentage/],
    [['live', 'short', '--by', 'ann'], /--config FILE/],
    [['live', 'short', '--config', 'gavel.yaml'], /--by/],
  ] as const) {
    const { code, said } = await gavel(...words)
    expect([code === 0, said]).toEqual([false, expect.stringMatching(why)])
  }
  expect(readFileSync(file, 'utf8')).toBe(FILE)
  expect(readdirSync(folder)).toEqual(['gavel.yaml'])
}, 60_000)

it('a change that is refused is none in the audit, or is refused there too; one that is done leaves the file its rights', async () => {
  const broker = await startedKafka()
  const folder = ownFolder('settings-change')
  const file = join(folder, 'gavel.yaml')
  const environment = {
    KAFKA_BROKERS: broker.settings.KAFKA_BROKERS ?? '',
    GAVEL_KAFKA_TOPIC_PREFIX: `${randomUUID()}.`,
  }
  const settings = loadSettings(environment)
  /** `meanwhile`: what somebody else does while it is noted. */
  const change = (page: string, text: (before: string) => string, meanwhile = () => {}) =>
    changeSettings(
      file,
      { text, isDone: () => true, by: 'ann', page },
      {
        environment,
        terminal: { say() {} } as unknown as Terminal, // It only speaks.
        settings() {
          meanwhile()
          return settings
        },
      },
    )
  const other = () => writeFileSync(file, `${FILE}# Ben's.\n`)
  try {
    writeFileSync(file, FILE)
    chmodSync(file, 0o666)
    const late = change('/before', (before) => {
      other()
      return before
    })
    await expect(late).rejects.toThrow('was changed meanwhile')
    writeFileSync(file, FILE)
    await expect(change('/during', (before) => before, other)).rejects.toThrow('was changed meanwhile')
    expect(readFileSync(file, 'utf8')).toContain("Ben's")
    await change('/done', (before) => before.replace('0.1', '0.2'))
    expect(readFileSync(file, 'utf8')).toContain('ramp: 0.2')
    expect(statSync(file).mode & 0o777).toBe(0o666)
    const entries: string[] = []
    const kafka = kafkaClient({ brokers: [environment.KAFKA_BROKERS] }, 'test', () => {})
    const reading = { follow: false, signal: AbortSignal.timeout(60_000) }
    await readTopic(kafka, topicsOf(settings).audit, reading, ({ message }) => {
      const { what, page } = auditEntry.parse(jsonOf(message))
      entries.push(`${what} ${page}`)
    })
    expect(entries).toEqual(['did /during', 'refused /during', 'did /done'])
  } finally {
    await broker.close()
  }
}, 60_000)
