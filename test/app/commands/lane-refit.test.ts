import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { laneMark } from '../../../src/contracts/facts/lane-mark.ts'
import { command } from '../../../src/lab/commands/lane/fit.ts'
import { readLane } from '../../../src/protocols/lane-file.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { performWords } from '../../support/commands.ts'
import { onRedis as test } from '../../support/on-redis.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('lane-refit')
const [PREFIX, STAYS] = ['lane-refit', 'It stays closed: people found this decider wrong']

function written(name: string, lines: readonly unknown[]): string {
  const file = join(folder, name)
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'))
  return file
}

const WORDS = 'river stone bridge garden letter window candle market harbour meadow'.split(' ')
const ITEMS = Array.from({ length: 900 }, (_, at) => ({
  id: `t${at}`,
  text: [...String(1_000 + at)].map((digit) => WORDS[Number(digit)]).join(' '),
  label: at % 2 === 0 ? 'hate' : 'non-hate',
  lang: 'en',
  // As a record has them: the seed draws which of the likelier ones are used.
  chance: at % 3 === 0 ? 0.02 : 0.015,
}))
const ANSWERS = written(
  'answers.jsonl',
  ['', 'again '].flatMap((copy) =>
    ITEMS.map(({ id, label }) => ({
      id: `${copy}${id}`,
      probabilities: { hate: label === 'hate' ? 0.95 : 0.05, 'non-hate': label === 'hate' ? 0.05 : 0.95 },
    })),
  ),
)

test('no other promise, seed, tenant or order opens a lane that people closed on the same labels; others do', async ({
  redis,
  client,
}) => {
  const settings = loadSettings({
    ...redis.settings,
    GAVEL_REDIS_PREFIX: PREFIX,
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
  })
  const out = join(folder, 'lane.json')
  const fitted = async (items: readonly unknown[], ...more: readonly string[]) => {
    const given = ['--data', written('labelled.jsonl', items), '--answers', ANSWERS, '--out', out]
    const { said } = await performWords(['lane', 'fit', '--protocol', 'hate', ...given, ...more], settings)
    return { ...readLane(readFileSync(out, 'utf8')), isClosed: said.some((line) => line.startsWith(STAYS)) }
  }
  const first = await fitted(ITEMS)
  expect(first.isClosed).toBe(false)
  await client.sadd(keysUnder(PREFIX).paused, laneMark(first.basis))
  const copies = ITEMS.slice(0, 50).map((item) => ({ ...item, id: `again ${item.id}`, text: ` ${item.text}!` }))
  for (const again of [
    await fitted(ITEMS),
    await fitted(ITEMS, '--seed', '7'),
    await fitted(ITEMS, '--risk', '0.1'),
    await fitted(ITEMS, '--delta', '0.1'),
    await fitted(ITEMS, '--tenant', 'acme'),
    await fitted([...ITEMS.toReversed(), ...copies]),
  ])
    expect([again.basis, again.isClosed]).toEqual([first.basis, true])
  const [one, ...rest] = ITEMS
  expect((await fitted([{ ...one, text: 'words that nobody had labelled' }, ...rest])).isClosed).toBe(false)

  // Closed for one tenant: said of a file for all, and of that tenant's own.
  await client.del(keysUnder(PREFIX).paused)
  await client.sadd(keysUnder(PREFIX).paused, laneMark(first.basis, 'acme'))
  const of = async (...more: string[]) => (await fitted(ITEMS, ...more)).isClosed
  expect([await of(), await of('--tenant', 'acme'), await of('--tenant', 'beta')]).toEqual([true, true, false])
})

test('promises more right than wrong, and something of both', () => {
  for (const name of ['--risk', '--delta'])
    for (const [given, taken] of [
      ['0', false],
      ['0.05', true],
      ['0.5', true],
      ['0.51', false],
      ['1', false],
    ] as const) {
      const parse = () => command.options.find(({ long }) => long === name)?.parseArg?.(given, 0)
      if (taken) expect(parse()).toBe(Number(given))
      else expect(parse).toThrow('must be a number')
    }
})
