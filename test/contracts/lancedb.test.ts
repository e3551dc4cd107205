import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PermanentError, RetryLaterError } from '../../src/contracts/facts/errors.ts'
import type { Embedder, Library } from '../../src/contracts/ports/library.ts'
import { startUnderstudy, type UnderstudyOptions } from '../../src/kit/understudy/server.ts'
import { localEmbedder } from '../../src/shelves/embedders/local.ts'
import { makeEmbedder } from '../../src/shelves/embedders/make.ts'
import { lanceLibrary } from '../../src/shelves/lancedb/library.ts'
import { lanceTables } from '../../src/shelves/lancedb/tables.ts'
import { ownerOf } from '../../src/shelves/names.ts'
import type { Row } from '../../src/shelves/storage.ts'
import { item, libraryContract, nobody, signal, wordEmbedder } from './library.ts'

const BOUNDS = { newProposals: { perAuthor: 100, perTenant: 1_000, per: 3_600_000 }, shared: new Set<string>() }

/** No table is small enough to be searched in memory. */
const ON_DISK = { tableBytes: 0, totalBytes: 0, checkEveryMs: 1_000 }

for (const [name, more] of [
  ['in LanceDB', {}],
  ['in LanceDB, searched on disk', { resident: ON_DISK }],
] as const)
  libraryContract(name, async ({ embedder, ...options }) => {
    const path = join(mkdtempSync(join(tmpdir(), 'gavel-library-')), 'library')
    const opened: Library[] = []
    const open = (made: Embedder) => {
      const library = lanceLibrary({ path, ...options, ...more, embedder: made })
      opened.push(library)
      return library
    }
    return {
      library: open(embedder),
      with: open,
      async close() {
        for (const library of opened) await library.close()
        rmSync(join(path, '..'), { recursive: true })
      },
    }
  })

/** Files under a folder that hold this text. */
function traces(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => `${file} ${readFileSync(file).toString('latin1')}`.includes(text))
}

/** A module of Gavel's, as a script elsewhere imports it. */
function sourceOf(file: string): string {
  return JSON.stringify(join(import.meta.dirname, '..', '..', file))
}

describe('the library, in LanceDB', () => {
  let folder: string
  let path: string
  let opened: Library[]
  let now = Date.UTC(2026, 0, 1)
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-library-'))
    path = join(folder, 'library')
    opened = []
  })
  afterEach(async () => {
    for (const library of opened) await library.close()
    rmSync(folder, { recursive: true })
  })
  const open = (embedder: Embedder = wordEmbedder()) => {
    const library = lanceLibrary({ path, embedder, now: () => ++now, proposalsPerAuthor: 10, ...BOUNDS })
    opened.push(library)
    return library
  }
  const texts = async (library: Library, text: string, k = 3) => {
    const { shelves } = await library.find({ text, shelves: ['animals'], k }, nobody, signal)
    return shelves[0]?.problem ?? shelves[0]?.neighbours.map((it) => it.text)
  }

  it('writes nothing more once another process has taken its lock, as from one that stood still for too long', async () => {
    const library = open()
    await library.add('animals', [item('a grey cat', 'cat')], 'somebody', signal)
    const lock = join(path, 'lock')
    let taken = false
    const late = lanceLibrary({
      path,
      embedder: wordEmbedder(),
      proposalsPerAuthor: 10,
      ...BOUNDS,
      // It is asked the time while it holds the lock, before it logs the change.
      now() {
        if (existsSync(lock)) {
          taken = true
          writeFileSync(lock, 'another-token')
        }
        return ++now
      },
    })
    opened.push(late)
    await expect(late.add('animals', [item('a brown dog', 'dog')], 'somebody', signal)).rejects.toThrow(RetryLaterError)
    expect(taken).toBe(true)
    expect(readFileSync(lock, 'utf8')).toBe('another-token')
    rmSync(lock)
    expect(await texts(library, 'a brown dog')).toEqual(['a grey cat'])
    expect((await library.history('animals')).length).toBe(1)
  })

  it('finds the same in memory as on disk, also where texts are equally near, and none without a direction', async () => {
    const vectors = join(folder, 'vectors')
    const near = { resident: { tableBytes: 2 ** 24, totalBytes: 2 ** 24, checkEveryMs: 0 }, disk: ON_DISK }
    const tables = { resident: lanceTables(vectors, near.resident), disk: lanceTables(vectors, near.disk) }
    const numbers = fc.sample(fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 8, maxLength: 8 }), {
      numRuns: 400,
      seed: 7,
    })
    const rows = numbers.map((some, at) => ({
      id: `r${at}`,
      text: `text ${at}`,
      label: 'x',
      metadata: { at: String(at) },
      source: '',
      change: 'c',
      owner: at % 3 === 0 ? 'somebody' : '',
      vector: Float32Array.from(some),
    }))
    try {
      await tables.disk.put('t', 8, [...rows, { ...rows[0], id: 'none', vector: new Float32Array(8) } as Row], [], now)
      for (const wanted of numbers.slice(0, 60))
        for (const limit of [5, 11, 1_000]) {
          const vector = Float32Array.from(wanted)
          const [here, there] = await Promise.all(
            [tables.resident, tables.disk].map((one) => one.nearest('t', vector, limit)),
          )
          expect(here?.length).toBe(there?.length)
          for (const [at, { similarity }] of here?.entries() ?? [])
            expect(Math.abs(similarity - (there?.[at]?.similarity ?? 9))).toBeLessThan(1e-5)
          // Of equally near ones that don't all fit, either may be left out.
          const least = limit > numbers.length ? -2 : (here?.at(-1)?.similarity ?? 0) + 1e-4
          const sorted = (found: typeof here) =>
            found
              ?.filter(({ similarity }) => similarity > least)
              .map(({ similarity: _, ...row }) => JSON.stringify(row))
              .sort()
          expect(sorted(here)).toEqual(sorted(there))
        }
    } finally {
      await Promise.all([tables.resident.close(), tables.disk.close()])
    }
  })

  it('in a folder of another form is neither read nor written, and says what to do; its own form is noted in it', async () => {
    await open().add('animals', [item('a cat', 'tame')], 'ann', signal)
    const schema = join(path, 'schema')
    expect(readFileSync(schema, 'utf8')).toBe('1\n')
    writeFileSync(schema, '2\n')
    const later = open()
    const says = 'is in the form 2, and this version of Gavel keeps it in the form 1. Run the version that wrote it'
    await expect(later.shelves()).rejects.toThrow(says)
    await expect(later.add('animals', [item('a dog', 'tame')], 'ann', signal)).rejects.toThrow(says)
    rmSync(schema)
    expect((await later.shelves()).map(({ items }) => items)).toEqual([1])
  })

  it('searches in memory what another process has added, a second later at most', async () => {
    const [reader, writer] = [open(), open()]
    await writer.add('animals', [item('a red fox', 'wild')], 'ann', signal)
    expect(await texts(reader, 'fox')).toEqual(['a red fox'])
    await writer.add('animals', [item('a grey fox', 'wild')], 'ann', signal)
    // Its own process sees it at once.
    expect(await texts(writer, 'fox')).toHaveLength(2)
    await expect.poll(() => texts(reader, 'fox'), { timeout: 10_000 }).toHaveLength(2)
  })

  it.each([
    ['data', /\.lance$/, 40],
    ['versions', /\.manifest$/, 20],
    ['empty data', /\.lance$/, 0],
    ['record', /^animals\.t1\.json$/, 20],
    ['empty record', /^animals\.t1\.json$/, 0],
  ])('names a shelf whose files were cut off, with the command that works: %s', async (_, which, size) => {
    const writer = open()
    await writer.add('animals', [item('a red fox', 'wild')], 'ann', signal, undefined, 't1')
    await writer.add('plants', [item('an oak', 'tree')], 'ann', signal)
    const cut = readdirSync(path, { recursive: true, withFileTypes: true }).filter(
      (file) => file.isFile() && join(file.parentPath, file.name).includes('animals') && which.test(file.name),
    )
    expect(cut).not.toEqual([])
    for (const { parentPath, name } of cut) truncateSync(join(parentPath, name), size)

    const library = open()
    const says = /"animals" of the tenant t1 is damaged.*gavel library drop animals --tenant t1/
    const shelves = await library.shelves()
    expect(shelves.map(({ name, damaged }) => [name, damaged])).toEqual([
      ['animals', expect.stringMatching(says)],
      ['plants', undefined],
    ])
    const added = library.add('animals', [item('a dog', 'tame')], 'ann', signal, undefined, 't1')
    await expect(added).rejects.toThrow(says)
    await expect(added).rejects.toThrow(PermanentError)
    await library.drop('animals', 'ann', 't1')
    await library.add('animals', [item('a red fox', 'wild')], 'ann', signal, undefined, 't1')
    expect((await library.shelves()).map(({ items, damaged }) => [items, damaged])).toEqual([
      [1, undefined],
      [1, undefined],
    ])
  })

  it.each([
    ['data', /\.lance$/],
    ['record', /^animals\.default\.json$/],
  ])('erases subjects from every other shelf where one is damaged, and says so: %s', async (_, which) => {
    const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const [owner, nobody] = [ownerOf(subject), ownerOf({ ...subject, id: 'p2' })]
    for (const shelf of ['aardvarks', 'animals', 'plants'])
      await open().add(shelf, [item(`SECRET of ${shelf}`, 'x', { subject })], 'ann', signal)
    for (const file of readdirSync(path, { recursive: true, withFileTypes: true })) {
      const at = join(file.parentPath, file.name)
      if (file.isFile() && at.includes('animals') && which.test(file.name)) truncateSync(at, 30)
    }

    const library = open()
    const damaged = [expect.objectContaining({ message: expect.stringContaining('gavel library drop animals') })]
    expect(await library.forget([nobody])).toEqual({ erased: 0, owned: new Set(), damaged })
    expect(await library.forget([owner])).toEqual({ erased: 2, owned: new Set([owner]), damaged })
    for (const shelf of ['aardvarks', 'plants']) expect(traces(path, `SECRET of ${shelf}`)).toEqual([])
    // Nothing of the damaged one is swept away: that is for its operator to do.
    expect(readdirSync(join(path, 'vectors')).filter((table) => table.startsWith('animals'))).toHaveLength(1)
    await library.drop('animals', 'ann')
    expect(readdirSync(join(path, 'vectors')).filter((table) => table.startsWith('animals'))).toEqual([])
    expect(await library.forget([owner])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
  })

  it('erases subjects also where the record of a change is garbled, names its file, and goes on when that is removed', async () => {
    const subject = (id: string) => ({ tenant: 'default', id, kind: 'post' as const })
    const library = open()
    for (const shelf of ['animals', 'plants'])
      await library.add(shelf, [item(`SECRET of ${shelf}`, 'x', { subject: subject('p1') })], 'ann', signal)
    const { id } = await library.add('plants', [item('an oak', 'tree', { subject: subject('p2') })], 'ann', signal)
    const file = join(path, 'changes', `${id}.jsonl`)
    writeFileSync(file, `${readFileSync(file, 'utf8').replace('"replaced":{', '"replaced":{SECRET')}`)

    const says = expect.stringMatching(`change ${id} is damaged: remove the file changes/${id}.jsonl`)
    const damaged = [expect.objectContaining({ message: says })]
    const [p1, p3] = ['p1', 'p3'].map((of) => ownerOf(subject(of))) as [string, string]
    expect(await library.forget([p3])).toEqual({ erased: 0, owned: new Set(), damaged })
    expect(await library.forget([p1])).toEqual({ erased: 2, owned: new Set([p1]), damaged })
    expect(traces(path, 'SECRET of')).toEqual([])
    expect((await library.history()).map((change) => [change.id === id, change.damaged])).toEqual([
      [true, says],
      [false, undefined],
      [false, undefined],
    ])
    await expect(library.rollback(id)).rejects.toThrow(`changes/${id}.jsonl`)
    // All else works, also what reads the history.
    const later = await library.add('animals', [item('a fox', 'wild')], 'ann', signal)
    await library.rollback(later.id)
    rmSync(file)
    expect(await library.forget([p1])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
    expect(await library.forget([ownerOf(subject('p2'))])).toMatchObject({ erased: 1, damaged: [] })
  })

  it('removes the garbled record of a proposal with its subject, unread; until then commands name its file', async () => {
    const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const library = open()
    const { tenant, id: subjectId } = subject
    const from = {
      tenant,
      subjectId,
      kind: 'post' as const,
      protocol: 'safety',
      verdictId: 'v',
      by: 'bob',
      at: '2026-01-01T00:00:00.000Z',
    }
    const proposal = { shelf: 'animals', text: 'SECRET fox', label: 'pet', metadata: {}, provenance: from }
    await library.propose([proposal])
    const [name = ''] = readdirSync(join(path, 'proposals'))
    truncateSync(join(path, 'proposals', name), 120)
    await expect(open().proposals()).rejects.toThrow(`remove the file proposals/${name}`)
    const owner = ownerOf(subject)
    expect(await library.forget([owner])).toEqual({ erased: 1, owned: new Set([owner]), damaged: [] })
    expect(readdirSync(join(path, 'proposals'))).toEqual([])
    expect(await library.proposals()).toEqual([])
  })

  it('erases what a dead writer left half written in the record of a change, and what is left of a dropped shelf', async () => {
    const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const library = open()
    await library.add('animals', [item('a fox', 'x', { subject, metadata: { keyCues: 'SECRET' } })], 'ann', signal)
    const { id } = await library.add('animals', [item('a fox', 'y')], 'ann', signal, undefined, 'default')
    const file = join(path, 'changes', `${id}.jsonl`)
    const line = readFileSync(file, 'utf8')
    expect(line).toContain('SECRET')
    // Killed while it dropped the shelf, and another while it wrote.
    for (const folder of ['shelves', 'vectors']) rmSync(join(path, folder), { recursive: true })
    mkdirSync(join(path, 'shelves'))
    writeFileSync(file, `${line}${line.slice(0, -20)}`)
    expect(await library.forget([ownerOf(subject)])).toMatchObject({ owned: new Set([ownerOf(subject)]), damaged: [] })
    expect(traces(path, 'SECRET')).toEqual([])
    expect(await library.forget([ownerOf(subject)])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
  })

  it('makes no file until something is written', async () => {
    const library = open()
    expect(await texts(library, 'fox')).toBe('the shelf "animals" is missing')
    expect(await library.shelves()).toEqual([])
    expect(await library.history()).toEqual([])
    expect(await library.proposals()).toEqual([])
    expect((await library.forget([ownerOf(nobody)])).erased).toBe(0)
    expect(existsSync(path)).toBe(false)
  })

  it('loads nothing native, and keeps no process alive, where there is nothing to find', async () => {
    const script = join(folder, 'reader.ts')
    writeFileSync(
      script,
      `import { localEmbedder } from ${sourceOf('src/shelves/embedders/local.ts')}
       import { lanceLibrary } from ${sourceOf('src/shelves/lancedb/library.ts')}
       const library = lanceLibrary({ path: ${JSON.stringify(path)}, embedder: localEmbedder(), now: Date.now, proposalsPerAuthor: 1, shared: new Set() })
       await library.find({ text: 'fox', shelves: ['animals'], k: 1 }, { tenant: '', id: '', kind: 'post' }, new AbortController().signal)
       await library.forget(['no owner'])
       const native = process.report.getReport().sharedObjects.filter((file) => file.includes('lancedb'))
       if (native.length > 0) process.exitCode = 1`,
    )
    expect((await once(fork(script), 'exit'))[0]).toBe(0)
  })

  it('waits for no other writer to forget who owns nothing', async () => {
    const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const library = open()
    await library.add('animals', [item('a fox', 'wild', { subject })], 'ann', signal)
    // Another process writes.
    writeFileSync(join(path, 'lock'), 'its token')
    const nobodies = Array.from({ length: 2_000 }, (_, nth) => ownerOf({ ...subject, id: `nobody ${nth}` }))
    expect(await library.forget(nobodies)).toEqual({ erased: 0, owned: new Set(), damaged: [] })
    expect(readFileSync(join(path, 'lock'), 'utf8')).toBe('its token')
    rmSync(join(path, 'lock'))
  })

  it('removes what a writer left that was killed while it erased a subject, also when nothing else is left of that', async () => {
    const subject = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const library = open()
    await library.add('animals', [item('a fox', 'wild')], 'ann', signal)
    const left = [join(path, 'vectors', 'animals.0000.lance'), join(path, 'proposals', 'one.json.new')]
    mkdirSync(join(path, 'proposals'))
    for (const file of left) writeFileSync(file, 'words of p1')
    expect(await library.forget([ownerOf(subject)])).toEqual({ erased: 0, owned: new Set(), damaged: [] })
    expect(traces(path, 'words of p1')).toEqual([])
  })

  it('leaves nothing of a subject on the disk', async () => {
    const p1 = { tenant: 'default', id: 'p1', kind: 'post' as const }
    const library = open()
    const reader = open()
    const others = Array.from({ length: 200 }, (_, index) => item(`a common fox ${index}`, 'wild'))
    await library.add('animals', others, 'ann', signal)
    await library.add('animals', [item('secretone fox', 'wild', { subject: p1 })], 'ann', signal)
    await library.add(
      'animals',
      [item('secretone fox', 'pet', { subject: p1, metadata: { keyCues: 'secrettwo' } })],
      'ann',
      signal,
    )
    const back = await library.add('animals', [item('secretthree fox', 'pet', { subject: p1 })], 'ann', signal)
    await library.rollback(back.id)
    const proposal = (text: string) => ({
      shelf: 'animals',
      text,
      label: 'pet',
      metadata: { keyCues: 'secretfour' },
      provenance: {
        tenant: 'default',
        subjectId: 'p1',
        kind: 'post' as const,
        protocol: 'safety',
        verdictId: 'v',
        by: 'bob',
        at: 'now',
      },
    })
    const { proposed } = await library.propose([proposal('secretfive fox'), proposal('secretsix fox')])
    await library.approve([proposed[0]?.id ?? ''], 'eve', signal)
    for (const secret of ['secretone', 'secrettwo', 'secretfour', 'secretfive', 'secretsix'])
      expect(traces(path, secret), secret).not.toEqual([])
    expect(await texts(reader, 'secretone fox here', 1)).toEqual(['secretone fox'])

    expect((await library.forget([ownerOf(p1)])).erased).toBe(4)
    for (const secret of ['secretone', 'secrettwo', 'secretthree', 'secretfour', 'secretfive', 'secretsix'])
      expect(traces(path, secret), secret).toEqual([])
    expect(await library.shelves()).toMatchObject([
      { tenant: null, items: 200 },
      { tenant: 'default', items: 0 },
    ])
    expect(await texts(reader, 'a common fox 7 or so', 1)).toEqual(['a common fox 7'])
    expect(await library.proposals()).toEqual([])
  })

  it('shows a reader in another instance what was added, replaced, dropped and made anew', async () => {
    const [writer, reader] = [open(), open()]
    const { id } = await writer.add('animals', [item('a fox', 'wild')], 'ann', signal)
    expect(await texts(reader, 'fox')).toEqual(['a fox'])
    await writer.add('animals', [item('a fox too', 'wild')], 'ann', signal)
    await expect.poll(() => texts(reader, 'fox'), { timeout: 5_000 }).toEqual(['a fox', 'a fox too'])
    await writer.rollback(id)
    expect(await texts(reader, 'fox')).toEqual(['a fox too'])
    await writer.drop('animals', 'ann')
    expect(await texts(reader, 'fox')).toBe('the shelf "animals" is missing')
    await writer.add('animals', [item('a new fox', 'wild')], 'ann', signal)
    expect(await texts(reader, 'fox')).toEqual(['a new fox'])
  })

  it('finds while another instance writes, compacts and forgets', async () => {
    const [writer, reader] = [open(), open()]
    await writer.add('animals', [item('the first fox', 'wild')], 'ann', signal)
    let writing = true
    const written = (async () => {
      for (let index = 0; index < 50; index++) {
        const subject = { tenant: 'default', id: `p${index}`, kind: 'post' as const }
        await writer.add('animals', [item(`fox ${index}`, 'wild', { subject })], 'ann', signal)
        if (index % 10 === 0) await writer.forget([ownerOf(subject)])
      }
      writing = false
    })()
    let looks = 0
    while (writing) {
      expect(await texts(reader, 'first fox', 1)).toEqual(['the first fox'])
      looks++
    }
    await written
    expect(looks).toBeGreaterThan(10)
    expect(await writer.shelves()).toMatchObject([
      { tenant: null, items: 1 },
      { tenant: 'default', items: 45 },
    ])
  })

  it('loses nothing of several processes that write at once', async () => {
    const script = join(folder, 'writer.ts')
    writeFileSync(
      script,
      `import { lanceLibrary } from ${sourceOf('src/shelves/lancedb/library.ts')}
       import { embed } from ${sourceOf('src/kit/understudy/embeddings.ts')}
       const [path, name] = process.argv.slice(2)
       const embedder = { name: 'words', dimension: 64, weakFor: () => null, close: async () => {},
         embed: async (texts) => ({ vectors: texts.map((text) => Float32Array.from(embed(text, 64))), tokens: 0 }) }
       const library = lanceLibrary({ path, embedder, now: Date.now, proposalsPerAuthor: 10, shared: new Set() })
       const { signal } = new AbortController()
       for (let round = 0; round < 8; round++) {
         const items = ['shared ' + round, 'of ' + name + ' ' + round].map((text) => ({ text, label: 'x', metadata: {}, subject: null }))
         await library.add('animals', items, name, signal)
       }
       await library.close()`,
    )
    const writers = ['one', 'two', 'three'].map((name) => fork(script, [path, name]))
    const codes = await Promise.all(writers.map(async (writer) => (await once(writer, 'exit'))[0]))
    expect(codes).toEqual([0, 0, 0])
    const library = open()
    expect(await library.shelves()).toMatchObject([{ items: 32 }])
    const history = await library.history()
    expect(history).toHaveLength(24)
    expect(history.reduce((sum, { added }) => sum + added, 0)).toBe(32)
  })

  it('goes on after a writer that died: its lock is taken, and what it left half done is swept away', async () => {
    const library = open()
    await library.add('animals', [item('a fox', 'wild')], 'ann', signal)
    writeFileSync(join(path, 'lock'), 'of a dead one')
    const litter = join(path, 'vectors', 'animals.0000.lance')
    rmSync(litter, { recursive: true, force: true })
    writeFileSync(litter, 'left by a dead one')
    await library.add('animals', [item('an owl', 'wild')], 'ann', signal)
    expect(existsSync(litter)).toBe(false)
    expect(existsSync(join(path, 'lock'))).toBe(false)
    expect(await library.shelves()).toMatchObject([{ items: 2 }])
  })

  it('says that it may work later where a record can not be read', async () => {
    const library = open()
    await library.add('animals', [item('a fox', 'wild')], 'ann', signal)
    rmSync(join(path, 'shelves', 'animals.json'))
    mkdirSync(join(path, 'shelves', 'animals.json'))
    await expect(texts(library, 'fox')).rejects.toThrow(RetryLaterError)
  })
})

describe('the local embedder', () => {
  const local = localEmbedder()
  const similarity = (a: Float32Array | undefined, b: Float32Array | undefined) =>
    a === undefined || b === undefined ? 0 : a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)

  it('puts texts of like meaning near each other, alone or among others', async () => {
    const texts = [
      'The weather is lovely today',
      'It is sunny and warm outside',
      'The bank raised its interest rates',
      '',
    ]
    const { vectors, tokens } = await local.embed(texts, signal)
    expect(vectors.map(({ length }) => length)).toEqual([512, 512, 512, 512])
    expect(tokens).toBe(0)
    expect(similarity(vectors[0], vectors[1])).toBeGreaterThan(similarity(vectors[0], vectors[2]) + 0.1)
    const [alone] = (await local.embed(texts.slice(0, 1), signal)).vectors
    expect(similarity(alone, vectors[0])).toBeCloseTo(1, 4)
  })

  it('does not block the event loop, and stops on request', async () => {
    const stop = new AbortController()
    const before = performance.eventLoopUtilization()
    await local.embed(
      Array.from({ length: 40 }, (_, index) => `a text ${index} of some words `.repeat(20)),
      signal,
    )
    // Of the time that the texts took; a share says the same on a busy machine.
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5)
    const stopped = local.embed(
      Array.from({ length: 500 }, (_, index) => `a text ${index}`),
      stop.signal,
    )
    setTimeout(() => stop.abort(), 20)
    await expect(stopped).rejects.toMatchObject({ name: 'RetryLaterError', code: 'aborted' })
  })

  it('answers one question after the other: the first does not wait for the last', async () => {
    local.prepare()
    const answered: number[] = []
    const all = Array.from({ length: 40 }, async (_, index) => {
      await local.embed([`a text ${index} of some words `.repeat(20)], signal)
      answered.push(index)
    })
    await all[0]
    await new Promise((resolve) => setImmediate(resolve))
    expect(answered.length).toBeLessThan(40)
    await Promise.all(all)
    expect(answered).toEqual([...answered.keys()])
  })

  it('reads beginning and end of a text of 100,000 characters and nothing between, and says so', async () => {
    const long = '😀 words '.repeat(12_500)
    const otherwise = `${long.slice(0, 45_000)}${'🔥 other'.repeat(1_000)}${long.slice(53_000)}`
    const { vectors } = await local.embed([long, otherwise], signal)
    expect(vectors[0]).toHaveLength(512)
    expect(otherwise).toHaveLength(long.length)
    expect(vectors[1]).toEqual(vectors[0])
    expect(local.weakFor(long, 'en')).toMatch(/10\d{4} of 112500 characters were not/)
  })

  it('says that it is weak in other languages, by what the author says or by the script', () => {
    for (const lang of ['en', 'en-GB', 'EN']) {
      expect(local.weakFor('a film', lang), lang).toBeNull()
      expect(local.weakFor('영화', lang), lang).toContain('English only')
    }
    for (const lang of ['ko', 'de', 'enm']) expect(local.weakFor('words', lang), lang).toContain('English only')
    const linked = '다 나가라 https://www.youtube.com/watch?v=abcdefghijk @somebody.else'
    for (const text of ['영화 무지 재밌다', 'Это новости', '映画が好き very', linked])
      expect(local.weakFor(text)).toContain('English')
    for (const text of ['Hello there, 123 😀', '', '12:30', 'the word 火 means fire'])
      expect(local.weakFor(text)).toBeNull()
  })

  it('says that it is weak for emoji alone, which are all the same to it', async () => {
    const { vectors } = await local.embed(['😀😀', '🔪🩸'], signal)
    expect(vectors[0]).toEqual(vectors[1])
    for (const lang of [undefined, 'en']) expect(local.weakFor('🔪🩸', lang)).toContain('letters and digits only')
  })

  it('keeps no process alive once it is idle, and says nothing on the console', async () => {
    const script = join(mkdtempSync(join(tmpdir(), 'gavel-embedder-')), 'embed.ts')
    writeFileSync(
      script,
      `import { localEmbedder } from ${sourceOf('src/shelves/embedders/local.ts')}
       const { vectors } = await localEmbedder().embed(['a text'], new AbortController().signal)
       if (vectors[0].length !== 512) process.exitCode = 1`,
    )
    const child = fork(script, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    let spoken = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (spoken += String(chunk)))
    expect((await once(child, 'close'))[0]).toBe(0)
    expect(spoken).toBe('')
    rmSync(join(script, '..'), { recursive: true })
  })

  it('starts again after it was closed', async () => {
    await local.close()
    expect((await local.embed(['again'], signal)).vectors).toHaveLength(1)
    await local.close()
  })
})

describe('the embedder of an endpoint', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  async function endpoint(options: UnderstudyOptions = {}): Promise<Embedder> {
    const server = await startUnderstudy(options)
    closing.push(() => server.close())
    return makeEmbedder('some-model', { baseUrl: server.settings.OPENAI_BASE_URL, apiKey: 'KEY' })
  }

  it('is asked by its own name where the settings name its endpoint too, and keeps both in its name', async () => {
    const server = await startUnderstudy()
    closing.push(() => server.close())
    const at = { baseUrl: server.settings.OPENAI_BASE_URL, apiKey: 'KEY' }
    const embedder = makeEmbedder('other/some-model', at, { model: 'some-model' })
    expect(embedder.name).toBe('endpoint:other/some-model')
    expect((await embedder.embed(['a text'], signal)).vectors).toHaveLength(1)
  })

  it('has its model in its name, learns its dimension, and says what was paid', async () => {
    const embedder = await endpoint()
    expect(embedder).toMatchObject({ name: 'endpoint:some-model', dimension: null })
    const texts = Array.from({ length: 300 }, (_, index) => `text number ${index}`)
    const { vectors, tokens } = await embedder.embed(texts, signal)
    expect(vectors).toHaveLength(300)
    expect(new Set(vectors.map(({ length }) => length))).toEqual(new Set([64]))
    expect(embedder.dimension).toBe(64)
    expect(tokens).toBeGreaterThan(0)
    expect(embedder.weakFor('영화', 'ko')).toBeNull()
    expect(embedder.weakFor('words '.repeat(1_000))).toMatch(/20\d\d of 6000 characters were not/)
    expect(embedder.weakFor('x'.repeat(5_000)), 'padding says nothing').toBeNull()
  })

  it('says whether trying again may help', async () => {
    const limited = await endpoint({ faults: { rate: 1, kinds: ['429'], retryAfterSeconds: 7 } })
    await expect(limited.embed(['x'], signal)).rejects.toMatchObject({
      name: 'RetryLaterError',
      code: 'rate-limited',
      delayMs: 7_000,
      costsAttempt: false,
    })
    const broken = await endpoint({ faults: { rate: 1, kinds: ['500'] } })
    await expect(broken.embed(['x'], signal)).rejects.toMatchObject({ name: 'RetryLaterError', code: 'unavailable' })
    const away = makeEmbedder('m', { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'KEY' })
    await expect(away.embed(['x'], signal)).rejects.toMatchObject({ name: 'RetryLaterError', code: 'unavailable' })
    const refused = makeEmbedder('m', { baseUrl: `${(await plain()).url}/nowhere`, apiKey: 'KEY' })
    await expect(refused.embed(['x'], signal)).rejects.toThrow(PermanentError)
    await expect(away.embed(['x'], AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted', costsAttempt: false })
  })

  async function plain() {
    const server = await startUnderstudy({})
    closing.push(() => server.close())
    return { url: server.settings.OPENAI_BASE_URL }
  }
})
