import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { commandsIn } from '../../clone/commands.ts'
import { commandIn } from '../../support/command-in.ts'

// The table of docs/evaluation.md as a researcher makes it: that page's own command, and its own settings but for the address.

const folder = mkdtempSync(join(tmpdir(), 'gavel-researcher-'))
const table = join(folder, '.gavel', 'hate-table')
let servers: Understudy[]
beforeAll(async () => {
  servers = await Promise.all([startUnderstudy(), startUnderstudy()])
  const texts = Array.from({ length: 6 }, (_, at) =>
    at % 2 === 0 ? `number ${at}: they are vermin and scum` : `number ${at}: a quiet day in the garden`,
  )
  const columnData = [
    { name: 'id', data: texts.map((_, at) => `t${at}`) },
    { name: 'text', data: texts },
    // Of the last one people say the contrary of what its words show.
    { name: 'label', data: texts.map((_, at) => (at % 2 === 0 || at === 5 ? 'hate' : 'non-hate')) },
  ]
  writeFileSync(join(folder, 'texts.parquet'), Buffer.from(parquetWriteBuffer({ columnData })))
  writeFileSync(join(folder, 'own.yaml'), 'protocols: { hate: { debateWhen: contested } }\n')
  const guard = [1, 2, 3].flatMap((seed) =>
    texts.map((_, at) => `t${at},${seed},${at < 2 + seed ? 'hate' : 'non-hate'}`),
  )
  writeFileSync(join(folder, 'guard.csv'), `id,repeat,label\n${guard.join('\n')}\n`)
  const page = readFileSync(join(PROJECT, 'docs', 'evaluation.md'), 'utf8')
  const [, settings = ''] = /```yaml\n(# table\.yaml\n[\s\S]*?)```/.exec(page) ?? []
  const [, local] = servers
  writeFileSync(
    join(folder, 'table.yaml'),
    settings.replace('http://127.0.0.1:11434/v1', local?.settings.OPENAI_BASE_URL ?? ''),
  )
  mkdirSync(join(folder, '.gavel'))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()))
  rmSync(folder, { recursive: true, force: true })
})

/** The words of a line of a shell. */
const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

it('data in Parquet, two models, a preset, a settings file, a foreign system and five seeds are one table, and a wrong item’s debate is a page', async () => {
  const command = commandsIn('docs/evaluation.md').find(({ script }) => script.includes('--data texts.parquet'))
  const [npx, gavel, ...args] = wordsOf(command?.script ?? '')
  expect([npx, gavel]).toEqual(['npx', 'gavel'])
  const { code, said } = await commandIn(folder, args, servers[0]?.settings ?? {})
  expect([code, said.includes('Written to .gavel/hate-table')]).toEqual([0, true])
  const report: Evaluation = JSON.parse(readFileSync(join(table, 'report.json'), 'utf8'))
  const rows = ['hate', 'zero-shot', 'chain of thought', 'self-consistency', 'thrifty', 'Own policy']
  const names = ['gpt-6-luna', 'local/qwen3'].flatMap((model) => rows.map((row) => `${row}, ${model}`))
  expect(report.table.map(({ row }) => row)).toEqual([...names, 'Guard'])
  expect(report.table.map(({ repeats }) => repeats?.repeats)).toEqual([...names.map(() => 5), 3])
  expect(report.best).toMatchObject([{ pairs: (13 * 12) / 2 }])
  expect(report.summary.filter((one) => /The (?:debate|default)/.test(one)).map((one) => one.split(':')[0])).toEqual([
    'gpt-6-luna',
    'local/qwen3',
  ])
  // Tidy, for pandas or R: an item × row × seed a line.
  const file = readFileSync(join(table, 'items.parquet'))
  const lines = await parquetReadObjects({ file: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) })
  expect(lines).toHaveLength(12 * 6 * 5 + 6 * 3)
  expect(new Set(lines.map(({ row, item, repeat }) => `${row} ${item} ${repeat}`)).size).toBe(lines.length)
  // The item of which people say the contrary: found in the list, and read whole.
  const { document } = parseHTML(readFileSync(join(table, 'items.html'), 'utf8'))
  const wrong = [...document.querySelectorAll('tbody tr[data-is~=wrong] a')].find((link) =>
    link.textContent?.startsWith('t5'),
  )
  const [page = ''] = (wrong?.getAttribute('href') ?? '').split('#')
  const debate = parseHTML(readFileSync(join(table, page), 'utf8')).document
  expect(debate.querySelectorAll('.run')).toHaveLength(12 * 5)
  expect(debate.querySelector('.claim')?.textContent).toContain('number 5: a quiet day in the garden')
}, 120_000)
