import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OperatorError } from '../../src/contracts/facts/errors.ts'
import type { DeletedOwners } from '../../src/contracts/ports/erasures.ts'
import type { Embedder, Item, Library, NewProposal, SubjectRef } from '../../src/contracts/ports/library.ts'
import { embed } from '../../src/kit/understudy/embeddings.ts'
import type { LibraryOptions } from '../../src/shelves/library.ts'
import { ownerOf } from '../../src/shelves/names.ts'

/** A library of one test, and another as a second process would open it with another embedder. */
export interface OpenLibrary {
  readonly library: Library
  with(embedder: Embedder): Library
  close(): Promise<void>
}
export type MakeLibrary = (options: {
  embedder: Embedder
  now: () => number
  proposalsPerAuthor: number
  newProposals: LibraryOptions['newProposals']
  shared: ReadonlySet<string>
  deletedAmong: DeletedOwners['deletedAmong']
}) => Promise<OpenLibrary>

/** Texts that share words lie near each other; counts its calls, and how often it was prepared. */
export function wordEmbedder(
  name = 'words',
  dimension = 64,
): Embedder & { readonly calls: string[][]; readonly prepared: { times: number } } {
  const calls: string[][] = []
  const prepared = { times: 0 }
  return {
    name,
    dimension,
    calls,
    prepared,
    weakFor: (text, lang) => (lang === 'ko' || text.includes('한국어') ? 'weak for ko' : null),
    async embed(texts) {
      calls.push([...texts])
      return { vectors: texts.map((text) => Float32Array.from(embed(text, dimension))), tokens: texts.length }
    },
    prepare() {
      prepared.times++
    },
    close: async () => {},
  }
}

export const nobody: SubjectRef = { tenant: 'default', id: 'nobody', kind: 'post' as const }
export const signal = new AbortController().signal
export const item = (text: string, label: string, more: Partial<Item> = {}): Item => ({
  text,
  label,
  metadata: {},
  subject: null,
  ...more,
})

/** What may be proposed anew in the contract. */
const NEW = { perAuthor: 6, perTenant: 10, per: 3_600_000 }

/** What every library promises. */
export function libraryContract(name: string, make: MakeLibrary): void {
  describe(`the library, ${name}`, () => {
    let embedder: ReturnType<typeof wordEmbedder>
    let open: OpenLibrary
    let library: Library
    let now = Date.UTC(2026, 0, 1)
    let deleted: Set<string>

    beforeEach(async () => {
      embedder = wordEmbedder()
      deleted = new Set()
      open = await make({
        embedder,
        now: () => ++now,
        proposalsPerAuthor: 3,
        newProposals: NEW,
        shared: new Set(['common']),
        deletedAmong: async (owners) => new Set(owners.filter((owner) => deleted.has(owner))),
      })
      library = open.library
    })
    afterEach(async () => {
      await open.close()
    })

    /** Those of a subject in a call of their own, as they are learnt. */
    const add = async (items: readonly Item[], shelf = 'animals', change?: string) => {
      const [loaded, learnt] = [items.filter((it) => it.subject === null), items.filter((it) => it.subject !== null)]
      if (loaded.length > 0 && learnt.length > 0) await library.add(shelf, loaded, 'ann', signal)
      return library.add(shelf, learnt.length > 0 ? learnt : loaded, 'ann', signal, change)
    }
    const look = async (text: string, subject = nobody, shelves = ['animals'], k = 3) => {
      const { shelves: found } = await library.find({ text, shelves, k }, subject, signal)
      return found.map(({ neighbours, problem }) => problem ?? neighbours.map((it) => `${it.text}: ${it.label}`))
    }
    const room = async (by: string, tenant = 'default') =>
      Math.min(...(await library.room({ shelf: 'animals', tenant, by })).map(({ left }) => left))
    const proposal = (text: string, more: Partial<NewProposal> = {}, by = 'bob', subjectId = 'p1'): NewProposal => ({
      shelf: 'animals',
      text,
      label: 'pet',
      metadata: { keyCues: 'a cue' },
      provenance: {
        tenant: 'default',
        subjectId,
        kind: 'post',
        protocol: 'safety',
        verdictId: `safety~${subjectId}~r1`,
        by,
        at: '2026-01-01T00:00:00.000Z',
      },
      ...more,
    })

    it('prepares for searches of shelves that are there and of its embedder, and for no others', async () => {
      await library.prepare(['animals'])
      expect(embedder.prepared.times).toBe(0)
      await add([item('the quick brown fox', 'wild')])
      await library.prepare([])
      await library.prepare(['plants'])
      expect(embedder.prepared.times).toBe(0)
      const other = wordEmbedder('other', 32)
      await open.with(other).prepare(['animals'])
      expect(other.prepared.times).toBe(0)
      await library.prepare(['plants', 'animals'])
      expect(embedder.prepared.times).toBe(1)
      expect(await look('the quick brown fox jumps')).toEqual([['the quick brown fox: wild']])
    })

    it('finds the nearest items first, with what was kept beside them', async () => {
      await add([
        item('the quick brown fox', 'wild', { metadata: { from: 'a tale' } }),
        item('the quick brown dog', 'pet'),
        item('a parrot that speaks', 'pet'),
      ])
      const { shelves, weak, tokens } = await library.find(
        { text: 'the quick brown fox jumps', shelves: ['animals'], k: 2 },
        nobody,
        signal,
      )
      expect(shelves).toHaveLength(1)
      expect(shelves[0]?.neighbours.map(({ text }) => text)).toEqual(['the quick brown fox', 'the quick brown dog'])
      const [fox, dog] = shelves[0]?.neighbours ?? []
      expect(fox).toEqual({
        id: expect.any(String),
        text: 'the quick brown fox',
        label: 'wild',
        similarity: expect.any(Number),
        metadata: { from: 'a tale' },
      })
      const product = embed('the quick brown fox').reduce(
        (sum, value, at) => sum + value * (embed('the quick brown fox jumps')[at] ?? 0),
        0,
      )
      expect(fox?.similarity).toBeCloseTo(product, 5)
      expect(fox?.similarity).toBeGreaterThan(dog?.similarity ?? 1)
      expect(weak).toBeNull()
      expect(tokens).toBe(1)
    })

    it('embeds a text once for many shelves, and not at all where no shelf can answer', async () => {
      await add([item('a fox', 'wild')], 'one')
      await add([item('a fox in the yard', 'wild')], 'two')
      embedder.calls.length = 0
      expect(await look('fox', nobody, ['one', 'missing', 'two'])).toEqual([
        ['a fox: wild'],
        'the shelf "missing" is missing',
        ['a fox in the yard: wild'],
      ])
      expect(embedder.calls).toEqual([['fox']])
      await look('fox', nobody, ['missing', '../etc/passwd', ''])
      expect(embedder.calls).toHaveLength(1)
    })

    it('names what is wrong with a shelf or a text in words', async () => {
      await add([item('a fox', 'wild')])
      const { id } = await add([item('an owl', 'wild')], 'birds')
      await library.rollback(id)
      expect(await look('owl', nobody, ['birds'])).toEqual(['the shelf "birds" is empty'])
      expect(await look('A  FOX')).toEqual(['the shelf "animals" holds nothing but the case itself'])
      expect(await look('  \n')).toEqual(['there is no text to look for'])
      const other = open.with(wordEmbedder('other', 32))
      const problem = 'the shelf "animals" was made by the embedder words (64 dimensions), not by other (32 dimensions)'
      const { shelves } = await other.find({ text: 'fox', shelves: ['animals'], k: 1 }, nobody, signal)
      expect(shelves).toEqual([{ shelf: 'animals', neighbours: [], problem }])
      await expect(other.add('animals', [item('a cat', 'pet')], 'ann', signal)).rejects.toThrow(OperatorError)
      await expect(other.add('animals', [item('a cat', 'pet')], 'ann', signal)).rejects.toThrow(problem)
      const longer = open.with({ ...wordEmbedder('words', 32), dimension: null })
      const answer = await longer.find({ text: 'fox', shelves: ['animals'], k: 1 }, nobody, signal)
      expect(answer.shelves[0]?.problem).toContain('not by words (32 dimensions)')
    })

    it('says where the embedder is weak', async () => {
      await add([item('a fox', 'wild')])
      expect((await library.find({ text: '여우', lang: 'ko', shelves: ['animals'], k: 1 }, nobody, signal)).weak).toBe(
        'weak for ko',
      )
    })

    it('says where what it found is weak, whatever the language of the question', async () => {
      await library.add('animals', [item('fox 한국어', 'x'), item('fox', 'y')], 'ana', signal)
      const { weak } = await library.find({ text: 'a fox', lang: 'en', shelves: ['animals'], k: 2 }, nobody, signal)
      expect(weak).toBe('1 of the 2 items that were found are weak themselves: weak for ko')
    })

    it('never finds the same text, nor what was learnt from it, nor what came from the subject, and still finds k', async () => {
      const p1 = { tenant: 'default', id: "p'1", kind: 'post' as const }
      await add([
        item('fox one', 'wild'),
        item('fox two', 'wild', { subject: p1 }),
        item('fox two too', 'wild', { subject: { tenant: 'default', id: "p'2", kind: 'post' as const } }),
        item('a summary of fox one', 'wild', { caseText: 'Fox  ONE' }),
        item('fox three', 'wild'),
        item('ｆｏｘ four', 'wild'),
      ])
      await add([item('fox of another tenant', 'wild', { subject: { tenant: 'other', id: "p'1", kind: 'post' } })])
      const texts = async (text: string, subject: SubjectRef) =>
        (await library.find({ text, shelves: ['animals'], k: 3 }, subject, signal)).shelves[0]?.neighbours
          .map((it) => it.text)
          .sort()
      expect(await texts('FOX one ', p1)).toEqual(['fox three', 'fox two too', 'ｆｏｘ four'])
      const found = await texts('fox four', p1)
      expect(found).toHaveLength(3)
      expect(found).not.toContain('ｆｏｘ four')
      expect(found).not.toContain('fox two')
    })

    it('never finds the same text as another way of import writes it, nor what is left of it where it was cut', async () => {
      const long = Array.from({ length: 3_000 }, (_, at) => `fox${at}`).join(' ')
      await add([
        item('look at this\n[image: A Fox]', 'wild'),
        item(`[image: ${long}]`, 'wild'),
        item('a fox too', 'wild'),
        item('a summary of it', 'wild', { caseText: '[image: a fox in the yard]' }),
      ])
      const found = async (text: string) => (await look(text, nobody, ['animals'], 4))[0]
      expect(await found('Look at this\na fox')).toHaveLength(3)
      expect(await found('Look at this\na fox')).not.toContain('look at this\n[image: A Fox]: wild')
      const marked = `${long.slice(0, 8_000)}[cut: 9 more characters]`
      const whatIsLeft = { text: marked, shelves: ['animals'], k: 4 }
      const textsFor = async (search: object) =>
        (await library.find({ ...whatIsLeft, ...search }, nobody, signal)).shelves[0]?.neighbours.map(
          ({ text }) => text,
        )
      expect(await textsFor({ cut: true })).toHaveLength(3)
      expect(await textsFor({ cut: true })).not.toContain(`[image: ${long}]`)
      // A mark that its author typed keeps no precedent from anybody.
      expect(await textsFor({})).toContain(`[image: ${long}]`)
      expect(await found('A fox in the  yard')).not.toContain('a summary of it: wild')
      expect(await found('another fox')).toHaveLength(4)
    })

    it('never finds the item of a data set that the case is, whatever its text is, whoever imported it', async () => {
      const sourceId = `["it's a set","7"]`
      await add([
        item('fox seven', 'wild', { sourceId }),
        item('fox eight', 'wild', { sourceId: `["it's a set","8"]` }),
        item('fox nine', 'wild'),
      ])
      const texts = async (search: object) => {
        const { shelves } = await library.find({ text: 'fox', shelves: ['animals'], k: 3, ...search }, nobody, signal)
        return shelves.map(({ neighbours, excluded }) => ({
          texts: neighbours.map(({ text }) => text).sort(),
          excluded,
        }))
      }
      expect(await texts({ sourceId })).toEqual([
        { texts: ['fox eight', 'fox nine'], excluded: { own: 1, nearDuplicates: 0 } },
      ])
      expect(await texts({})).toEqual([{ texts: ['fox eight', 'fox nine', 'fox seven'] }])
      // What was imported without a source is still known by its text.
      expect(await texts({ text: 'FOX nine', sourceId: '["another set","9"]' })).toEqual([
        { texts: ['fox eight', 'fox seven'], excluded: { own: 1, nearDuplicates: 0 } },
      ])
    })

    it('keeps where an item came from when it is relabelled, rolled back and moved to a new table', async () => {
      const sourceId = '["a set","7"]'
      const own = async () => {
        const wanted = { text: 'fox', shelves: ['animals'], k: 3, sourceId }
        return (await library.find(wanted, nobody, signal)).shelves[0]?.excluded
      }
      await add([item('a fox of seven', 'wild', { sourceId }), item('a dog', 'pet')])
      const second = await add([item('a fox of seven', 'pet', { sourceId })])
      expect(await own()).toEqual({ own: 1, nearDuplicates: 0 })
      await library.rollback(second.id)
      expect(await own()).toEqual({ own: 1, nearDuplicates: 0 })
    })

    it('finds near-duplicates, unless they are held out: then it counts them', async () => {
      const text = 'the quick brown fox jumps over the lazy dog today'
      const repost = 'the quick brown fox jumps over the lazy cat today'
      await add([item(text, 'wild'), item(repost, 'wild'), item('the quick brown owl', 'wild')])
      const find = async (holdOutNearDuplicates?: boolean, k = 1) => {
        const held = holdOutNearDuplicates === undefined ? {} : { holdOutNearDuplicates }
        const { shelves } = await library.find({ text, shelves: ['animals'], k, ...held }, nobody, signal)
        return shelves.map(({ neighbours, problem, excluded }) => ({
          found: problem ?? neighbours.map((it) => it.text),
          excluded,
        }))
      }
      expect(await find()).toEqual([{ found: [repost], excluded: { own: 1, nearDuplicates: 0 } }])
      expect(await find(false)).toEqual(await find())
      expect(await find(true)).toEqual([{ found: ['the quick brown owl'], excluded: { own: 1, nearDuplicates: 1 } }])
      await add([item(text, 'wild'), item(repost, 'wild')], 'two')
      const wanted = { text, shelves: ['two'], k: 1, holdOutNearDuplicates: true }
      expect((await library.find(wanted, nobody, signal)).shelves).toEqual([
        {
          shelf: 'two',
          neighbours: [],
          problem: 'the shelf "two" holds nothing but the case itself and its near-duplicates',
          excluded: { own: 1, nearDuplicates: 1 },
        },
      ])
    })

    it('finds k items however many nearer ones are passed over', async () => {
      const p1 = { tenant: 'default', id: 'p1', kind: 'post' as const }
      const own = Array.from({ length: 60 }, (_, at) => item(`fox fox fox ${at}`, 'wild', { subject: p1 }))
      await add([...own, item('a fox in the yard', 'wild'), item('an owl in the yard', 'wild')])
      const { shelves } = await library.find({ text: 'fox fox', shelves: ['animals'], k: 2 }, p1, signal)
      expect(shelves[0]?.neighbours.map(({ text }) => text)).toEqual(['a fox in the yard', 'an owl in the yard'])
      expect(shelves[0]?.excluded).toEqual({ own: 60, nearDuplicates: 0 })
    })

    it('adds the same twice as once, and replaces a label', async () => {
      const first = await add([item('a fox', 'wild'), item('a dog', 'wild'), item('A  Fox', 'wild')])
      expect(first).toEqual({ id: expect.any(String), added: 2, unchanged: 1, relabelled: 0 })
      embedder.calls.length = 0
      const second = await add([item('a fox', 'wild'), item('A DOG', 'pet'), item('a cat', 'pet')])
      expect(second).toEqual({ id: expect.any(String), added: 1, unchanged: 1, relabelled: 1 })
      expect(embedder.calls).toEqual([['a cat']])
      expect(await library.shelves()).toEqual([
        { name: 'animals', tenant: null, items: 3, embedder: 'words', dimension: 64 },
      ])
      expect(await look('dog', nobody, ['animals'], 1)).toEqual([['a dog: pet']])
    })

    it('takes no item without a text, and no name that is no name', async () => {
      await expect(add([item(' ', 'wild')])).rejects.toThrow(OperatorError)
      for (const shelf of ['', '../x', 'A', 'a.b', 'x'.repeat(65)])
        await expect(add([item('a fox', 'wild')], shelf)).rejects.toThrow(OperatorError)
      expect(await library.shelves()).toEqual([])
    })

    it('keeps any text, label and metadata as they are', async () => {
      const text = `'; DROP TABLE "x"; -- \\ \u2028 火 👩‍👧 ${'long '.repeat(2_000)}`
      await add([item(text, `l'abel`, { metadata: { __proto__x: 'y', "it's": '{"a": 1}' } })])
      const { shelves } = await library.find({ text: 'DROP TABLE x', shelves: ['animals'], k: 1 }, nobody, signal)
      expect(shelves[0]?.neighbours[0]).toMatchObject({
        text,
        label: `l'abel`,
        metadata: { __proto__x: 'y', "it's": '{"a": 1}' },
      })
    })

    it('takes back a change: what it added goes, what it replaced returns', async () => {
      await add([item('a fox', 'wild', { metadata: { v: '1' } }), item('a dog', 'wild')])
      const second = await add([item('a fox', 'pet'), item('a cat fox', 'pet')])
      expect(await look('fox')).toEqual([['a fox: pet', 'a cat fox: pet', 'a dog: wild']])
      await library.rollback(second.id)
      expect(await look('fox')).toEqual([['a fox: wild', 'a dog: wild']])
      const { shelves } = await library.find({ text: 'fox', shelves: ['animals'], k: 1 }, nobody, signal)
      expect(shelves[0]?.neighbours[0]?.metadata).toEqual({ v: '1' })
      await expect(library.rollback(second.id)).rejects.toThrow('rolled back already')
      await expect(library.rollback('nothing')).rejects.toThrow(OperatorError)
      await expect(library.rollback('../shelves/animals')).rejects.toThrow(OperatorError)
    })

    it('takes back an earlier change from under a later one', async () => {
      const first = await add([item('a fox', 'one')])
      const second = await add([item('a fox', 'two')])
      const third = await add([item('a fox', 'three')])
      await library.rollback(second.id)
      expect(await look('fox')).toEqual([['a fox: three']])
      await library.rollback(third.id)
      expect(await look('fox')).toEqual([['a fox: one']])
      const fourth = await add([item('a fox', 'four')])
      await library.rollback(first.id)
      expect(await look('fox')).toEqual([['a fox: four']])
      await library.rollback(fourth.id)
      expect(await look('fox')).toEqual(['the shelf "animals" is empty'])
    })

    it('lists the history, the newest first, and an import of many batches as one change', async () => {
      const first = await add([item('a fox', 'wild')])
      await add([item('a dog', 'pet'), item('a fox', 'wild')], 'animals', first.id)
      await add([item('a dog', 'wild'), item('a cat', 'pet')], 'animals', first.id)
      const second = await add([item('an owl', 'wild')], 'birds')
      const told = {
        shelf: 'animals',
        tenant: null,
        kind: 'add',
        by: 'ann',
        at: expect.any(Number),
        rolledBackAt: null,
        added: 3,
        unchanged: 1,
        relabelled: 1,
      }
      expect(await library.history()).toEqual([
        { ...told, id: second.id, shelf: 'birds', added: 1, unchanged: 0, relabelled: 0 },
        { ...told, id: first.id },
      ])
      await library.rollback(first.id)
      expect(await library.history('animals')).toEqual([{ ...told, id: first.id, rolledBackAt: expect.any(Number) }])
      expect(await look('fox')).toEqual(['the shelf "animals" is empty'])
    })

    it('drops a shelf with its history, for good, so that another embedder can have its name', async () => {
      await add([item('a fox', 'wild')])
      const other = open.with(wordEmbedder('other', 32))
      await library.drop('animals', 'ann')
      expect(await library.shelves()).toEqual([])
      expect(await look('fox')).toEqual(['the shelf "animals" is missing'])
      await expect(library.drop('animals', 'ann')).rejects.toThrow(OperatorError)
      const [dropped, ...rest] = await library.history()
      expect(dropped).toMatchObject({ kind: 'drop', shelf: 'animals', by: 'ann' })
      expect(rest).toEqual([])
      await expect(library.rollback(dropped?.id ?? '')).rejects.toThrow('dropped a shelf and cannot be rolled back')
      expect(await other.add('animals', [item('a cat', 'pet')], 'ann', signal)).toMatchObject({ added: 1 })
      expect(await library.shelves()).toEqual([
        { name: 'animals', tenant: null, items: 1, embedder: 'other', dimension: 32 },
      ])
    })

    it('holds proposals in quarantine until they are approved, and again once that is rolled back', async () => {
      const { proposed } = await library.propose([proposal('a tame fox'), proposal('a tame owl')])
      expect(proposed).toMatchObject([
        { text: 'a tame fox', label: 'pet', state: 'waiting', change: null, metadata: { keyCues: 'a cue' } },
        { text: 'a tame owl' },
      ])
      expect(await look('fox')).toEqual(['the shelf "animals" is missing'])
      expect(await library.propose([proposal('A tame  fox')])).toEqual({ proposed: [], unchanged: 1, refused: [] })
      expect(await library.proposals('waiting')).toEqual(proposed)

      const ids = proposed.map(({ id }) => id)
      const [change, ...others] = await library.approve(ids, 'eve', signal)
      expect(others).toEqual([])
      expect(change).toMatchObject({ kind: 'approve', by: 'eve', shelf: 'animals', added: 2 })
      expect(await look('fox')).toEqual([['a tame fox: pet', 'a tame owl: pet']])
      expect(await look('fox', { tenant: 'default', id: 'p1', kind: 'post' as const })).toEqual([
        'the shelf "animals" holds nothing but the case itself',
      ])
      expect(await library.proposals('approved')).toMatchObject([{ change: change?.id }, { change: change?.id }])
      expect(await library.approve(ids, 'eve', signal)).toEqual([])
      await expect(library.reject(ids.slice(0, 1), 'eve')).rejects.toThrow(change?.id)

      await library.rollback(change?.id ?? '')
      expect(await look('fox')).toEqual(['the shelf "animals" is empty'])
      expect(await library.proposals('waiting')).toEqual(proposed)
      await library.reject(ids.slice(0, 1), 'eve')
      expect((await library.proposals('rejected')).map(({ id }) => id)).toEqual(ids.slice(0, 1))
      await expect(library.approve(['nothing'], 'eve', signal)).rejects.toThrow('There is no proposal nothing.')
      await expect(library.reject(['nothing', ...ids], 'eve')).rejects.toThrow(OperatorError)
    })

    it('approves for several shelves, one change each, and drops back to waiting what a dropped shelf held', async () => {
      const { proposed } = await library.propose([proposal('a fox'), proposal('an owl', { shelf: 'birds' })])
      const made = await library.approve(
        proposed.map(({ id }) => id),
        'eve',
        signal,
      )
      expect(made.map(({ shelf }) => shelf)).toEqual(['animals', 'birds'])
      await library.drop('birds', 'eve')
      expect((await library.proposals('waiting')).map(({ shelf }) => shelf)).toEqual(['birds'])
    })

    it('does not find a precedent for the text of the case that it was learnt from', async () => {
      const { proposed } = await library.propose([
        proposal('a summary about foxes', { caseText: 'all foxes are thieves' }),
        proposal('a summary about owls'),
      ])
      await library.approve(
        proposed.map(({ id }) => id),
        'eve',
        signal,
      )
      expect(await look('All foxes are thieves')).toEqual([['a summary about owls: pet']])
    })

    /** A proposal for a case of another tenant. */
    const of = (tenant: string, text: string, more: Partial<NewProposal> = {}, by = 'bob'): NewProposal => {
      const made = proposal(text, more, by)
      return { ...made, provenance: { ...made.provenance, tenant, verdictId: `safety@${tenant}~p1~r1` } }
    }
    const approveAll = async (...wanted: readonly NewProposal[]) => {
      const { proposed } = await library.propose(wanted)
      return library.approve(
        proposed.map(({ id }) => id),
        'eve',
        signal,
      )
    }
    const subjectOf = (tenant: string, id = 'nobody'): SubjectRef => ({ tenant, id, kind: 'post' })

    it.each(['acme', 'Acme', 'a.c_m-e', 'constructor', '__proto__', 'toString', '..', 'CON'])(
      'shows what was learnt of a case of %s to that tenant alone, whatever others say of the same text',
      async (name) => {
        const changes = await approveAll(of(name, 'a tame fox'), of('beta', 'a tame fox', { label: 'wild' }))
        expect(await look('fox', subjectOf(name))).toEqual([['a tame fox: pet']])
        expect(await look('fox', subjectOf('beta'))).toEqual([['a tame fox: wild']])
        expect(await look('fox', subjectOf('acMe'))).toEqual(['the shelf "animals" is missing for the tenant acMe'])
        expect(await look('fox')).toEqual(['the shelf "animals" is missing'])
        expect(changes.map(({ shelf, tenant, added }) => ({ shelf, tenant, added }))).toEqual([
          { shelf: 'animals', tenant: name, added: 1 },
          { shelf: 'animals', tenant: 'beta', added: 1 },
        ])
        expect((await library.shelves()).map(({ tenant, items }) => ({ tenant, items }))).toEqual(
          expect.arrayContaining([
            { tenant: name, items: 1 },
            { tenant: 'beta', items: 1 },
          ]),
        )
        expect((await library.forget([ownerOf(subjectOf(name, 'p1'))])).erased).toBe(2)
        expect(await look('fox', subjectOf(name))).toEqual(['the shelf "animals" is empty'])
        expect(await look('fox', subjectOf('beta'))).toEqual([['a tame fox: wild']])
      },
    )

    it('shows what was loaded for a tenant to that one, what was loaded for none to the default tenant', async () => {
      await add([item('a fox', 'wild')])
      await library.add('animals', [item('a fox', 'pet'), item('a dog', 'pet')], 'ann', signal, undefined, 'acme')
      expect(await look('fox')).toEqual([['a fox: wild']])
      expect((await look('fox dog', subjectOf('acme'))).flat().sort()).toEqual(['a dog: pet', 'a fox: pet'])
      expect(await look('fox', subjectOf('beta'))).toEqual(['the shelf "animals" is missing for the tenant beta'])
      await expect(
        library.add(
          'animals',
          [item('x', 'y', { subject: subjectOf('acme') }), item('z', 'y', { subject: subjectOf('beta') })],
          'ann',
          signal,
        ),
      ).rejects.toThrow('one tenant at a time')
    })

    it('shows what was loaded on a shared shelf to all, and what is learnt on it to its tenant, whose label counts', async () => {
      await add([item('a fox', 'wild'), item('an owl', 'wild')], 'common')
      await approveAll(
        of('acme', 'a fox', { shelf: 'common' }),
        proposal('an owl', { shelf: 'common' }),
        of('acme', 'a fox cub', { shelf: 'common' }),
      )
      const common = (tenant: string, k = 3) => look('the cub of a fox, and an owl', subjectOf(tenant), ['common'], k)
      expect((await common('acme')).flat().sort()).toEqual(['a fox cub: pet', 'a fox: pet', 'an owl: wild'])
      expect((await common('default')).flat().sort()).toEqual(['a fox: wild', 'an owl: pet'])
      expect((await common('beta')).flat().sort()).toEqual(['a fox: wild', 'an owl: wild'])
      expect(await common('acme', 1)).toEqual([['a fox cub: pet']])
      const { shelves } = await library.find({ text: 'a fox', shelves: ['common'], k: 1 }, subjectOf('acme'), signal)
      expect(shelves[0]).toMatchObject({ neighbours: [{ text: 'a fox cub' }], excluded: { own: 2 } })
      await library.drop('common', 'ann', 'acme')
      expect((await common('acme')).flat().sort()).toEqual(['a fox: wild', 'an owl: wild'])
      expect((await library.proposals('waiting')).map(({ text }) => text)).toEqual(['a fox', 'a fox cub'])
      await expect(library.drop('common', 'ann', 'acme')).rejects.toThrow('no shelf "common" of the tenant acme')
      await library.drop('common', 'ann')
      expect(await library.shelves()).toEqual([])
    })

    it('takes a change back for its tenant alone', async () => {
      const [acmes, betas] = await approveAll(of('acme', 'a tame fox'), of('beta', 'a tame fox'))
      await library.rollback(acmes?.id ?? '')
      expect(await look('fox', subjectOf('acme'))).toEqual(['the shelf "animals" is empty'])
      expect(await look('fox', subjectOf('beta'))).toEqual([['a tame fox: pet']])
      expect(
        (await library.history('animals')).map(({ id, tenant, rolledBackAt }) => [id, tenant, rolledBackAt === null]),
      ).toEqual(
        expect.arrayContaining([
          [acmes?.id, 'acme', false],
          [betas?.id, 'beta', true],
        ]),
      )
    })

    it('finds a precedent again by what a verdict, its proposal or its change calls it, and takes it back alone', async () => {
      const made = await approveAll(of('acme', 'a tame fox'), of('acme', 'a tame owl'), of('beta', 'a tame fox'))
      const [found] = (await library.find({ text: 'fox', shelves: ['animals'], k: 1 }, subjectOf('acme'), signal))
        .shelves
      const id = found?.neighbours[0]?.id ?? ''
      const [acmes, owl, betas] = await library.proposals()
      const at = (tenant: string) => ({ shelf: 'animals', tenant, id, label: 'pet', by: ['bob'] })
      expect((await library.trace(id)).standing).toMatchObject([at('acme'), at('beta')])
      expect((await library.trace(id)).precedents).toContainEqual({ id, tenant: null })
      expect(await library.trace(acmes?.id ?? '')).toMatchObject({
        precedents: [{ id, tenant: 'acme' }],
        standing: [{ ...at('acme'), proposals: [acmes?.id] }],
        proposals: [acmes],
      })
      const byChange = await library.trace(made[0]?.id ?? '')
      expect(byChange.precedents).toHaveLength(2)
      expect(byChange.standing.map(({ text, tenant }) => `${tenant}: ${text}`).sort()).toEqual([
        'acme: a tame fox',
        'acme: a tame owl',
      ])
      await expect(library.trace('nothing')).rejects.toThrow('There is no precedent, proposal or change nothing.')

      await expect(library.takeBack(id, 'eve', {})).rejects.toThrow('animals of acme, animals of beta')
      await expect(library.takeBack(id, 'eve', { tenant: 'gamma' })).rejects.toThrow('is not there; found on')
      await expect(library.takeBack(made[0]?.id ?? '', 'eve', {})).rejects.toThrow('gavel library rollback')
      expect(await library.takeBack(id, 'eve', { tenant: 'acme' })).toMatchObject([
        { ...at('acme'), proposals: [acmes?.id] },
      ])
      expect(await look('fox owl', subjectOf('acme'))).toEqual([['a tame owl: pet']])
      expect(await look('fox', subjectOf('beta'))).toEqual([['a tame fox: pet']])
      expect((await library.proposals('rejected')).map((it) => it.id)).toEqual([acmes?.id])
      expect((await library.propose([of('acme', 'a tame fox')])).unchanged).toBe(1)
      // It is found all the same: what it has touched stays touched.
      expect(await library.trace(acmes?.id ?? '')).toMatchObject({ precedents: [{ id, tenant: 'acme' }], standing: [] })
      await expect(library.takeBack(acmes?.id ?? '', 'eve', {})).rejects.toThrow('is not on any shelf')
      const [change] = await library.history()
      expect(change).toMatchObject({ kind: 'take-back', by: 'eve', shelf: 'animals', tenant: 'acme', item: id })
      await expect(library.rollback(change?.id ?? '')).rejects.toThrow(
        'removed a single item and cannot be rolled back',
      )
      // The change that approved it still takes back the rest of it.
      await library.rollback(made[0]?.id ?? '')
      expect((await library.proposals('waiting')).map((it) => it.id)).toEqual([owl?.id])
      expect(await library.takeBack(betas?.id ?? '', 'eve', { everywhere: true })).toHaveLength(1)
    })

    it('puts back what a precedent had replaced when that is taken back', async () => {
      await add([item('a fox', 'one', { subject: subjectOf('acme', 'p1') })])
      await add([item('a fox', 'two', { subject: subjectOf('acme', 'p2') })])
      const [, change] = await library.history()
      const { standing } = await library.trace(change?.id ?? '')
      expect(standing).toEqual([])
      const [{ neighbours } = { neighbours: [] }] = (
        await library.find({ text: 'fox', shelves: ['animals'], k: 1 }, subjectOf('acme'), signal)
      ).shelves
      const id = neighbours[0]?.id ?? ''
      await library.takeBack(id, 'eve', {})
      expect(await look('fox', subjectOf('acme'))).toEqual([['a fox: one']])
      await library.takeBack(id, 'eve', {})
      expect(await look('fox', subjectOf('acme'))).toEqual(['the shelf "animals" is empty'])
    })

    it('counts the proposals of an author by tenant: nobody of another takes their places', async () => {
      await library.propose(['one', 'two', 'three'].map((text) => of('acme', text)))
      expect(await room('bob', 'acme')).toBe(0)
      expect(await room('bob')).toBe(3)
      expect((await library.propose([proposal('a fox')])).proposed).toHaveLength(1)
    })

    it('lets nobody propose without end, though all of it be rejected, until time has passed', async () => {
      const reject = async (made: readonly { id: string }[]) =>
        library.reject(
          made.map(({ id }) => id),
          'eve',
        )
      for (const round of [1, 2])
        await reject((await library.propose([1, 2, 3].map((n) => proposal(`fox ${round} ${n}`)))).proposed)
      expect(await room('bob')).toBe(0)
      const { refused } = await library.propose([proposal('one more', { shelf: 'birds' })])
      expect(refused.map(({ why }) => why)).toEqual(['bob has made as many proposals within 1 h as one author may (6)'])
      now += NEW.per
      expect(await room('bob')).toBe(3)
      expect((await library.propose([proposal('one more')])).proposed).toHaveLength(1)
    })

    it('lets no tenant propose without end by ever new names, and takes nothing from another tenant', async () => {
      const many = Array.from({ length: 12 }, (_, index) => of('acme', `fox ${index}`, {}, `name ${index}`))
      const { proposed, refused } = await library.propose(many)
      expect([proposed.length, refused.length]).toEqual([10, 2])
      expect(refused[0]?.why).toBe(
        'people of the tenant acme have made as many proposals within 1 h as one tenant may (10)',
      )
      expect(await room('anybody', 'acme')).toBe(0)
      expect((await library.propose([proposal('a fox')])).proposed).toHaveLength(1)
    })

    it('lets no author fill a shelf', async () => {
      const many = Array.from({ length: 5 }, (_, index) => proposal(`fox number ${index}`))
      const { proposed, refused } = await library.propose(many)
      expect(proposed).toHaveLength(3)
      expect(refused.map(({ proposal }) => proposal.text)).toEqual(['fox number 3', 'fox number 4'])
      expect(refused[0]?.why).toContain('3')
      await library.approve([proposed[0]?.id ?? ''], 'eve', signal)
      expect(await room('bob')).toBe(0)
      expect((await library.propose([proposal('one more fox')])).refused).toHaveLength(1)
      expect((await library.propose([proposal('one more fox', {}, 'carl')])).proposed).toHaveLength(1)
      expect((await library.propose([proposal('one more fox', { shelf: 'birds' })])).proposed).toHaveLength(1)
      await library.reject([proposed[1]?.id ?? ''], 'eve')
      expect(await room('bob')).toBe(1)
      expect((await library.propose([proposal('a late fox')])).proposed).toHaveLength(1)
    })

    it("forgets a subject's items, proposals and earlier versions, and nobody else's", async () => {
      const p1 = { tenant: 'default', id: 'p1', kind: 'post' as const }
      const p2 = { tenant: 'default', id: 'p2', kind: 'post' as const }
      expect((await library.forget([ownerOf({ tenant: 'default', id: 'p0', kind: 'post' as const })])).erased).toBe(0)
      await add([item('a fox', 'wild', { subject: p1 }), item('a dog', 'wild', { subject: p2 }), item('a cat', 'pet')])
      const over = await add([item('a cat', 'wild', { subject: p1 }), item('a dog', 'pet', { subject: p1 })])
      const after = await add([item('a dog', 'late', { subject: p2 })])
      const { proposed } = await library.propose([proposal('an owl'), proposal('a bat', {}, 'bob', 'p2')])
      expect(proposed).toHaveLength(2)

      expect((await library.forget([ownerOf(p1)])).erased).toBe(3)
      expect((await look('fox dog cat')).flat().sort()).toEqual(['a cat: pet', 'a dog: late'])
      expect((await library.proposals()).map(({ text }) => text)).toEqual(['a bat'])
      await library.rollback(after.id)
      expect((await look('fox dog cat')).flat().sort()).toEqual(['a cat: pet', 'a dog: wild'])
      await library.rollback(over.id)
      expect((await look('fox dog cat')).flat().sort()).toEqual(['a cat: pet', 'a dog: wild'])
      expect((await library.forget([ownerOf(p1)])).erased).toBe(0)
      expect((await library.forget([ownerOf(p2)])).erased).toBe(2)
    })

    it('forgets many subjects in one go, and says which of them owned anything, in the history too', async () => {
      const of = (id: string, kind: 'post' | 'reply' = 'post') => ({ tenant: 'default', id, kind })
      const subject = (id: string) => ({ subject: of(id) })
      await add([item('a fox', 'wild', subject('p1')), item('a dog', 'wild', subject('p2')), item('a cat', 'pet')])
      await add([item('a dog', 'pet', subject('p3'))])
      await library.propose([proposal('an owl', {}, 'bob', 'p4')])
      await add([item('a hen', 'pet', { subject: of('p1', 'reply') })])
      const owners = ['p1', 'p2', 'p4', 'p5', 'p6'].map((id) => ownerOf(of(id)))
      // The dog of p2 stands in the history alone.
      expect(await library.forget(owners)).toEqual({
        erased: 2,
        owned: new Set([owners[0], owners[1], owners[2]]),
        damaged: [],
      })
      expect((await look('fox dog cat owl hen')).flat().sort()).toEqual(['a cat: pet', 'a dog: pet', 'a hen: pet'])
      expect(await library.forget(owners)).toEqual({ erased: 0, owned: new Set(), damaged: [] })
      expect(await library.forget([ownerOf(of('p1', 'reply'))])).toMatchObject({ erased: 1 })
    })

    it('keeps what was learnt from a post where a reply of its id is forgotten, and the other way round', async () => {
      const of = (kind: 'post' | 'reply') => ({ tenant: 'default', id: 'p1', kind })
      await add([item('a fox of a post', 'wild', { subject: of('post') })])
      await add([item('a fox of a reply', 'wild', { subject: of('reply') })], 'birds')
      await library.forget([ownerOf(of('reply'))])
      expect(await look('fox', nobody, ['animals', 'birds'])).toEqual([['a fox of a post: wild'], expect.any(String)])
      await library.forget([ownerOf(of('post'))])
      expect((await look('fox'))[0]).toEqual(expect.any(String))
    })

    it('shows and proposes nothing of who was deleted, before it is erased, and names the owners of what it shows', async () => {
      const p1 = { tenant: 'default', id: 'p1', kind: 'post' as const }
      const p2 = { ...p1, id: 'p2' }
      await add([
        item('a fox', 'wild', { subject: p1 }),
        item('a red fox', 'wild', { subject: p2 }),
        item('foxes', 'pet'),
      ])
      const { proposed } = await library.propose([
        proposal('an owl', {}, 'bob', 'p1'),
        proposal('a bat', {}, 'bob', 'p2'),
      ])
      expect(proposed).toHaveLength(2)
      const shown = async (subject = nobody) => {
        const found = await library.find({ text: 'one fox', shelves: ['animals'], k: 3 }, subject, signal)
        return found.shown?.map(({ shelf, owner }) => [shelf, owner]) ?? []
      }
      expect((await shown()).sort()).toEqual([p1, p2].map((one) => ['animals', ownerOf(one)]).sort())
      deleted.add(ownerOf(p1))
      expect(await shown()).toEqual([['animals', ownerOf(p2)]])
      expect((await look('one fox')).flat().sort()).toEqual(['a red fox: wild', 'foxes: pet'])
      expect((await library.proposals()).map(({ text }) => text)).toEqual(['a bat'])
      const { refused } = await library.propose([proposal('one more owl', {}, 'bob', 'p1')])
      expect(refused.map(({ why }) => why)).toEqual(['its subject was deleted meanwhile'])
      await expect(library.approve([proposed[0]?.id ?? ''], 'eve', signal)).rejects.toThrow(OperatorError)
      await library.approve([proposed[1]?.id ?? ''], 'eve', signal)
      deleted.add(ownerOf(p2))
      expect((await look('fox bat owl')).flat()).toEqual(['foxes: pet'])
    })

    it('does not put on the shelf what was forgotten while it was being approved', async () => {
      const { proposed } = await library.propose([proposal('a fox')])
      const slow = open.with({
        ...wordEmbedder(),
        async embed(texts, signal) {
          await library.forget([ownerOf({ tenant: 'default', id: 'p1', kind: 'post' as const })])
          return wordEmbedder().embed(texts, signal)
        },
      })
      await slow.approve([proposed[0]?.id ?? ''], 'eve', signal)
      expect(await library.proposals()).toEqual([])
      expect(await look('fox')).toEqual(['the shelf "animals" is missing'])
    })

    it('takes no proposal for a subject that was forgotten while its case was with the curator', async () => {
      await library.propose([proposal('a tame fox', {}, 'bob', 'p2')])
      expect((await library.forget([ownerOf({ tenant: 'default', id: 'p1', kind: 'post' as const })])).erased).toBe(0)
      const { proposed, refused } = await library.propose([
        proposal('a fox of p1', {}, 'bob', 'p1'),
        proposal('a fox of p3', {}, 'bob', 'p3'),
      ])
      expect(proposed.map(({ text }) => text)).toEqual(['a fox of p3'])
      expect(refused.map(({ why }) => why)).toEqual(['its subject was deleted meanwhile'])
      expect((await library.proposals()).map(({ text }) => text)).toEqual(['a tame fox', 'a fox of p3'])
    })

    it('loses nothing when several write at once', async () => {
      const second = open.with(wordEmbedder())
      const writes = Array.from({ length: 12 }, (_, writer) =>
        (writer % 2 === 0 ? library : second).add(
          'animals',
          Array.from({ length: 5 }, (_, index) => item(`fox ${writer} ${index}`, 'wild')).concat(item('shared', 'x')),
          `writer ${writer}`,
          signal,
        ),
      )
      const changes = await Promise.all(writes)
      expect(changes.reduce((sum, { added }) => sum + added, 0)).toBe(61)
      expect(await library.shelves()).toMatchObject([{ items: 61 }])
    })
  })
}
