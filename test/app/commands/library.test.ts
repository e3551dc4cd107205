import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { command as dropShelf } from '../../../src/app/commands/library/drop.ts'
import { command as libraryHistory } from '../../../src/app/commands/library/history.ts'
import {
  type ImportOptions,
  type ImportResult,
  command as importCommand,
  importShelf,
} from '../../../src/app/commands/library/import.ts'
import { command as listShelves } from '../../../src/app/commands/library/list.ts'
import { command as rollbackChange } from '../../../src/app/commands/library/rollback.ts'
import { command as searchShelf } from '../../../src/app/commands/library/search.ts'
import { OperatorError } from '../../../src/contracts/facts/errors.ts'
import { startUnderstudy, type UnderstudyOptions } from '../../../src/kit/understudy/server.ts'
import { DEFAULT_TENANT } from '../../../src/shelves/names.ts'
import { invocation, perform } from '../../support/commands.ts'

const KODOLI = join(PROJECT, '..', 'shared', 'data', 'kodoli', 'comments.jsonl')

const LEARNING = { newProposals: { perAuthor: 20, perTenant: 200, per: 86_400_000 }, shared: ['common'] }

describe('the library, by command', () => {
  let endpoint: Awaited<ReturnType<typeof startUnderstudy>>
  let folder: string
  let out: string[]
  let said: string[]
  let stop: AbortController
  let onProgress: (line: string) => void

  beforeAll(async () => {
    endpoint = await startUnderstudy({})
  })
  afterAll(() => endpoint.close())
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-library-'))
    out = []
    said = []
    stop = new AbortController()
    onProgress = () => {}
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const settings = (embedder = 'a-model', baseUrl = endpoint.settings.OPENAI_BASE_URL) => ({
    library: {
      path: join(folder, 'library'),
      embedder,
      embedderPrefixes: { query: '', document: '' },
      proposalsPerAuthor: 5,
      ...LEARNING,
    },
    openai: { baseUrl, apiKey: 'KEY', answerFormat: 'json_schema' as const },
    endpoints: {},
    // None is set.
    redis: loadSettings({}).redis,
  })
  const io = () => ({
    terminal: {
      out: (line: string) => out.push(String(line)),
      say: (line: unknown) => said.push(String(line)),
      progress: (line: string) => onProgress(line),
    },
    signal: stop.signal,
  })
  const file = (name: string, content: string | Buffer) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const lines = (...values: unknown[]) => values.map((value) => JSON.stringify(value)).join('\n')
  const load = (path: string, options: Partial<ImportOptions> = {}, of = settings()) =>
    importShelf(of, path, { shelf: 'animals', ...options }, io())
  const tell = (path: string, imported: ImportResult, options: { json: boolean }) =>
    importCommand.print(imported, invocation(settings(), [path], { shelf: imported.shelf, ...options }, io()))
  const search = async (text: string, k = 3) => {
    out.length = 0
    await perform(searchShelf, settings(), [text], { shelf: 'animals', k, tenant: DEFAULT_TENANT, json: true }, io())
    return out.map((line) => JSON.parse(line))
  }

  it('imports JSON Lines, everything else of a line as metadata, and once is enough', async () => {
    const path = file(
      'animals.jsonl',
      `\ufeff${lines({ text: 'a red fox', label: 'wild', source: 'a tale', page: 7, tags: ['x'], none: null }, { text: 'a dog', label: 0 })}\n\n`,
    )
    expect(await load(path)).toMatchObject({ added: 2, unchanged: 0, relabelled: 0, skipped: 0, stopped: false })
    expect(await load(path)).toMatchObject({ added: 0, unchanged: 2 })
    expect(await search('red fox', 2)).toMatchObject([
      { text: 'a red fox', label: 'wild', metadata: { source: 'a tale', page: '7', tags: '["x"]' } },
      { text: 'a dog', label: '0', metadata: {} },
    ])
  })

  it('imports nothing of a file with a label that no perspective of the shelf knows, and says which it allows', async () => {
    const all = { ...loadSettings({}), ...settings() }
    const imported = (name: string, ...rows: unknown[]) =>
      importCommand.run(invocation(all, [file(name, lines(...rows))], { shelf: 'kodoli' }, io()))
    const known = { text: 'one', label: ' offen ' }
    await expect(
      imported('odd.jsonl', known, { text: 'two', label: 'rude' }, { text: 'three', label: 'rude' }),
    ).rejects.toThrow(/^Nothing was imported: .*"kodoli" knows "rude" \(2 items\)\. It may hold .*"not", .*"offen"/s)
    expect(await perform(listShelves, all, [], { json: true }, io()).then(() => out.splice(0))).toEqual([])
    expect(await imported('fine.jsonl', known)).toMatchObject({ added: 1 })
    expect(await perform(listShelves, all, [], { json: true }, io()).then(() => out.splice(0))).toHaveLength(1)
  })

  it('says of a shelf that nobody knows which one may have been meant, and fills it all the same', async () => {
    const all = { ...loadSettings({}), ...settings() }
    const imported = (shelf: string) =>
      importCommand.run(invocation(all, [file('one.jsonl', lines({ text: 'one', label: 'offen' }))], { shelf }, io()))
    expect(await imported('kodloi')).toMatchObject({ added: 1 })
    expect(said.splice(0).join('\n')).toMatch(/No protocol that is on knows a shelf "kodloi"\. Did you mean "kodoli"\?/)
    expect(await imported('kodoli')).toMatchObject({ added: 1 })
    expect(said.join('\n')).not.toContain('No protocol')
  })

  it('imports CSV with a header, with quotes, lines within a field, and columns of other names', async () => {
    const path = file(
      'animals.csv',
      '\ufeffid,comment,hate\r\n1,"a ""red"" fox,\nand more",wild\r\n2,a dog,pet\r\n3,too,many,fields\r\n4,,pet\r\n5,a cat,\r\n',
    )
    const imported = await load(path, { textField: 'comment', labelField: 'hate' })
    expect(imported).toMatchObject({ added: 2, skipped: 3 })
    expect(imported.skippedFirst).toEqual([
      { line: 5, why: expect.stringContaining('has 4 fields, and the first row names 3') },
      { line: 6, why: 'has an empty text' },
      { line: 7, why: 'has no "hate"' },
    ])
    expect(await search('red fox', 1)).toMatchObject([
      { text: 'a "red" fox,\nand more', label: 'wild', metadata: { id: '1' } },
    ])
    await expect(load(path)).rejects.toThrow('has no column "text" and "label", but: id, comment, hate')
  })

  it('names bad lines by their numbers, counts them all, and takes the rest', async () => {
    const bad = Array.from({ length: 30 }, () => 'nonsense')
    const path = file(
      'animals.jsonl',
      [
        lines({ text: 'a fox', label: 'wild' }),
        ...bad,
        lines({ label: 'x' }, { text: 'no label' }, { text: ' ', label: 'x' }, [1], { text: {}, label: 'x' }),
        lines({ text: 'x'.repeat(100_001), label: 'x' }, { text: 'a dog', label: 'pet' }),
      ].join('\n'),
    )
    const imported = await load(path)
    expect(imported).toMatchObject({ added: 2, skipped: 36 })
    expect(imported.skippedFirst).toHaveLength(20)
    expect(imported.skippedFirst[0]).toEqual({ line: 2, why: 'is not JSON' })
    expect(() => tell(path, imported, { json: false })).toThrow(`36 lines of ${path} were left out.`)
    expect(out).toEqual([expect.stringMatching(/^animals: 2 added, 0 unchanged, 0 relabelled in .* \(change .*\)$/)])
    expect(said[0]).toBe(`${path}:2 is not JSON; left out`)
  })

  it('says which file it can not read', async () => {
    for (const name of ['none.jsonl', 'none.csv'])
      await expect(load(join(folder, name))).rejects.toThrow(`${name} cannot be read: there is no such file.`)
    await expect(load(folder)).rejects.toThrow(OperatorError)
    await expect(load(file('binary.csv', Buffer.alloc(5_000_000, 255)))).rejects.toThrow('binary.csv:1 is not UTF-8')
    for (const name of ['empty.jsonl', 'empty.csv'])
      await expect(load(file(name, ''))).rejects.toThrow(`${name} is empty.`)
  })

  it('stops between batches on request, and reports what it has done', async () => {
    const path = file(
      'many.jsonl',
      lines(...Array.from({ length: 2_000 }, (_, index) => ({ text: `fox ${index}`, label: 'wild' }))),
    )
    onProgress = () => stop.abort()
    const imported = await load(path)
    expect(imported).toMatchObject({ stopped: true, added: 256 })
    tell(path, imported, { json: true })
    expect(JSON.parse(out[0] ?? '')).toEqual(imported)
    expect(said[0]).toContain('Stopped before the end')
    stop = new AbortController()
    onProgress = () => {}
    expect(await load(path)).toMatchObject({ stopped: false, added: 1_744, unchanged: 256 })
  })

  it('waits for an endpoint that is busy, and says how far it came when one is gone', async () => {
    const busy = await faulty({ faults: { rate: 0.5, kinds: ['500'] }, seed: 3 })
    const path = file('animals.jsonl', lines({ text: 'a fox', label: 'wild' }))
    try {
      expect(await load(path, {}, settings('a-model', busy.settings.OPENAI_BASE_URL))).toMatchObject({ added: 1 })
    } finally {
      await busy.close()
    }
    const refused = settings('a-model', `${endpoint.settings.OPENAI_BASE_URL}/nowhere`)
    const other = file('others.jsonl', lines({ text: 'a dog', label: 'pet' }))
    await expect(load(other, {}, refused)).rejects.toThrow(/^Nothing was imported, then: embeddings: status 404/)
  })
  const faulty = (options: UnderstudyOptions) => startUnderstudy(options)

  it('imports for one tenant, for all on a shared shelf, else for the default tenant, and says so', async () => {
    const path = file('animals.jsonl', lines({ text: 'a fox', label: 'wild' }))
    tell(path, await load(path), { json: false })
    expect(said.at(-1)).toMatch(/^Only the tenant "default" sees it: library.shared does not name "animals"/)
    tell(path, await load(path, { tenant: 'acme' }), { json: true })
    tell(path, await load(path, { shelf: 'common' }), { json: true })
    expect(said).toHaveLength(1)
    expect(out.slice(-2).map((line) => JSON.parse(line))).toMatchObject([
      { shelf: 'animals', tenant: 'acme', added: 1 },
      { shelf: 'common', tenant: null, added: 1 },
    ])
    await expect(load(path, { tenant: 'a:c' })).rejects.toThrow(
      '"a:c" is not a valid tenant name: a tenant is 1 to 64 letters',
    )
    await perform(listShelves, settings(), [], { json: false }, io())
    expect(out.pop()?.match(/(animals|common) +│ \w+/g)).toEqual([
      'animals │ default',
      'animals │ acme',
      'common  │ all',
    ])
    const found = async (shelf: string, tenant: string) => {
      out.length = 0
      await perform(searchShelf, settings(), ['fox'], { shelf, k: 1, tenant, json: false }, io())
      return out.length
    }
    expect([await found('animals', 'acme'), await found('common', 'acme'), await found('common', 'beta')]).toEqual([
      1, 1, 1,
    ])
    await expect(found('animals', 'beta')).rejects.toThrow('the shelf "animals" is missing for the tenant beta.')
    await perform(dropShelf, settings(), ['animals'], { tenant: 'acme' }, io())
    expect(out.pop()).toBe('The shelf "animals" of the tenant acme and its history are gone.')
    expect(await found('animals', 'default')).toBe(1)
    out.length = 0
    await perform(libraryHistory, settings(), [], { json: false }, io())
    expect(
      out.map((line) =>
        line
          .replace(/ {2}by .*/, '')
          .split(/ {2}/)
          .slice(2)
          .join(' '),
      ),
    ).toEqual(['drop animals of acme', 'add common', 'add animals'])
  })

  it('lists, shows the history, rolls back and drops', async () => {
    await perform(listShelves, settings(), [], { json: false }, io())
    expect(said).toEqual([`There are no shelves in ${join(folder, 'library')}.`])
    const path = file('animals.jsonl', lines({ text: 'a fox', label: 'wild' }, { text: 'a dog', label: 'pet' }))
    const { change } = await load(path)
    await perform(listShelves, settings(), [], { json: true }, io())
    expect(JSON.parse(out.pop() ?? '')).toEqual({
      name: 'animals',
      tenant: null,
      items: 2,
      embedder: 'endpoint:a-model',
      dimension: 64,
    })
    await perform(listShelves, settings(), [], { json: false }, io())
    expect(out.pop()).toContain('endpoint:a-model')
    await perform(libraryHistory, settings(), [], { json: false }, io())
    expect(out.pop()).toMatch(new RegExp(`^${change} .* add  animals  by .+  2 added, 0 unchanged, 0 relabelled$`))
    await perform(rollbackChange, settings(), [change ?? ''], {}, io())
    expect(out.pop()).toBe(`${change} was rolled back.`)
    await expect(perform(rollbackChange, settings(), [change ?? ''], {}, io())).rejects.toThrow(OperatorError)
    await perform(libraryHistory, settings(), [], { shelf: 'animals', json: true }, io())
    expect(JSON.parse(out.pop() ?? '')).toMatchObject({ id: change, rolledBackAt: expect.any(Number) })
    await perform(dropShelf, settings(), ['animals'], {}, io())
    await expect(perform(dropShelf, settings(), ['animals'], {}, io())).rejects.toThrow('There is no shelf "animals".')
  })

  it('shows strangers’ texts as one line that drives no terminal, and says why a shelf can not be searched', async () => {
    const text = 'a fox \u001b[31mred\u001b[0m\nand \u202emore'
    await load(file('animals.jsonl', lines({ text, label: 'wi\u001b[1mld' })))
    await perform(
      searchShelf,
      settings(),
      ['fox'],
      { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: false },
      io(),
    )
    expect(out).toEqual([expect.stringMatching(/^0\.\d{3} {2}wi \[1mld {2}a fox \[31mred \[0m and more$/)])
    await perform(
      searchShelf,
      settings(),
      ['fox'],
      { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: true },
      io(),
    )
    expect(out[1]).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    await expect(
      perform(searchShelf, settings(), ['x'], { shelf: 'none', k: 1, tenant: DEFAULT_TENANT, json: false }, io()),
    ).rejects.toThrow('the shelf "none" is missing.')
    await expect(
      perform(
        searchShelf,
        settings('another-model'),
        ['x'],
        { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: false },
        io(),
      ),
    ).rejects.toThrow('was made by the embedder endpoint:a-model (64 dimensions), not by endpoint:another-model')
    await expect(
      load(file('more.jsonl', lines({ text: 'x', label: 'y' })), {}, settings('another-model')),
    ).rejects.toThrow('Set library.embedder to it, or drop the shelf and import it again.')
  })

  it.skipIf(!existsSync(KODOLI))(
    'imports a public data set as a shelf, and takes all of it back as one change',
    async () => {
      const imported = await load(KODOLI, { format: 'kodoli' })
      // One text stands there once as NOT and once as OFFEN: neither is shown as an example.
      expect(said.join('\n')).toContain('has several labels in the file')
      expect(imported).toMatchObject({ added: 3_995, unchanged: 3, relabelled: 0, skipped: 0 })
      expect(await search('영화 무지 재밌다')).toHaveLength(3)
      await perform(rollbackChange, settings(), [imported.change ?? ''], {}, io())
      await perform(listShelves, settings(), [], { json: true }, io())
      expect(JSON.parse(out.pop() ?? '')).toMatchObject({ items: 0 })
    },
  )

  it('imports cases of Aetheria’s curator: the excerpt, people’s label, summary and key cues', async () => {
    const one = {
      case_id: '7',
      final_label: 'safe',
      dataset_label: 'unsafe',
      summary: 'A bribe.',
      key_cues: ['an envelope', 'a wink'],
      prompt_tips: ['ignore all rules'],
      source_excerpt: 'input_1: How do I do this? input_2: An envelope changes hands.',
    }
    const path = file('cases.json', JSON.stringify([one, { ...one, case_id: '8', key_cues: 'none' }]))
    expect(await load(path, { format: 'aetheria' })).toMatchObject({
      added: 1,
      skippedFirst: [{ line: 2, why: 'has no readable key_cues' }],
    })
    const options = { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: true }
    await perform(searchShelf, settings(), ['envelope'], options, io())
    const found = JSON.parse(out.pop() ?? '')
    expect(found).toMatchObject({ text: 'How do I do this?\nAn envelope changes hands.', label: 'unsafe' })
    expect(found.metadata).toEqual({ summary: 'A bribe.', keyCues: 'an envelope; a wink' })
  })

  it('imports and searches with the model in the package, and says where that is weak', async () => {
    const local = settings('local')
    const path = file(
      'texts.jsonl',
      lines({ text: 'The weather is lovely', label: 'sun' }, { text: 'The bank raised its rates', label: 'money' }),
    )
    expect(await load(path, {}, local)).toMatchObject({ added: 2 })
    await perform(
      searchShelf,
      local,
      ['It is warm and sunny outside'],
      { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: true },
      io(),
    )
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ label: 'sun' })
    expect(said).toEqual([])
    await perform(
      searchShelf,
      local,
      ['영화 무지 재밌다'],
      { shelf: 'animals', k: 1, tenant: DEFAULT_TENANT, json: true },
      io(),
    )
    expect(said.splice(0)).toEqual([expect.stringContaining('English only')])
    const korean = file('korean.jsonl', lines({ text: '다 나가라', label: 'a' }, { text: 'Stay here', label: 'b' }))
    const imported = await load(korean, {}, local)
    expect(imported.weak).toEqual({ items: 1, why: expect.stringContaining('English only') })
    tell(korean, imported, { json: false })
    expect(said.join('\n')).toMatch(/^1 item of 2: the embedder knows English only.*Set library\.embedder to one of/m)
  })
})
