import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lanceLibrary, lanceStorage } from '../../src/adapters/lancedb/library.ts'
import { memoryLibrary, memoryStorage } from '../../src/adapters/memory/library.ts'
import { ownerOf } from '../../src/library/names.ts'
import type { Storage, Version } from '../../src/library/storage.ts'
import { contentId, type Library, type SubjectRef } from '../../src/ports/library.ts'
import { embed } from '../../src/tools/understudy/embeddings.ts'
import { signal, wordEmbedder } from '../contracts/library.ts'

const BOUNDS = {
  proposalsPerAuthor: 10,
  newProposals: { perAuthor: 100, perTenant: 100, perMs: 3_600_000 },
  shared: new Set<string>(),
}
const WORLDS: readonly [string, (path: string) => { storage: Storage; open: () => Library }][] = [
  [
    'in memory',
    () => {
      const storage = memoryStorage()
      return { storage, open: () => memoryLibrary(wordEmbedder(), { ...BOUNDS, storage }) }
    },
  ],
  [
    'in LanceDB',
    (path) => ({
      storage: lanceStorage(path, Date.now),
      open: () => lanceLibrary({ path, embedder: wordEmbedder(), now: Date.now, ...BOUNDS }),
    }),
  ],
]

describe.each(WORLDS)('a library of a version that knew no tenants, %s', (_, world) => {
  let path: string
  let storage: Storage
  let open: () => Library
  let library: Library
  beforeEach(async () => {
    path = join(mkdtempSync(join(tmpdir(), 'gavel-split-')), 'library')
    ;({ storage, open } = world(path))
    await storage.exclusive(earlier)
    library = open()
  })
  afterEach(async () => {
    await library.close()
    await storage.close()
    rmSync(join(path, '..'), { recursive: true, force: true })
  })

  const subject = (tenant: string, id = 'p1') => ({ tenant, id, kind: 'post' as const })
  const version = (label: string, change: string, of?: SubjectRef): Version => ({
    label,
    metadata: {},
    owner: of === undefined ? '' : ownerOf(of),
    source: '',
    change,
  })
  const row = (text: string, standing: Version) => ({
    id: contentId(text),
    text,
    vector: Float32Array.from(embed(text, 64)),
    ...standing,
  })

  /**
   * Change c1 loaded two items, c2 approved a case of acme's and one of beta's (which relabelled a loaded one and acme's), c3
   * one of the default tenant's.
   */
  async function earlier(): Promise<void> {
    const record = { name: 'cases', table: 'cases.0123', embedder: 'words', dimension: 64, owned: true }
    const acmes = version('acme', 'c2', subject('acme'))
    const rows = [
      row('a fox', version('beta', 'c3', subject('beta'))),
      row('an owl', version('loaded', 'c1')),
      row('a dog of acme', acmes),
      row('a cat of nobody known', version('x', 'c2', subject('gone'))),
      row('a hen', version('ours', 'c4', subject('default'))),
    ]
    await storage.putRows(record, rows, [])
    await storage.putShelf(record)
    const steps: [string, 'add' | 'approve', Record<string, Version>][] = [
      ['c1', 'add', {}],
      ['c2', 'approve', { [contentId('a fox')]: version('loaded', 'c1') }],
      ['c3', 'approve', { [contentId('a fox')]: acmes }],
      ['c4', 'approve', {}],
    ]
    for (const [id, kind, replaced] of steps)
      await storage.addStep(
        { id, shelf: 'cases', kind, by: 'op', at: 1 },
        { added: 1, unchanged: 0, relabelled: 0, replaced },
      )
    const approved: [string, string, string][] = [
      ['acme', 'a fox', 'c2'],
      ['acme', 'a dog of acme', 'c2'],
      ['beta', 'a fox', 'c3'],
      ['default', 'a hen', 'c4'],
    ]
    for (const [index, [tenant, text, change]] of approved.entries()) {
      const provenance = {
        tenant,
        subjectId: 'p1',
        protocol: 'safety',
        verdictId: 'v',
        by: 'ann',
        at: '2026-01-01T00:00:00Z',
      }
      const proposal = {
        id: `p${index}`,
        shelf: 'cases',
        text,
        label: tenant,
        metadata: {},
        provenance,
        state: 'approved' as const,
        change,
      }
      await storage.putProposal({ proposal, source: '', proposedAt: 1 })
    }
  }

  const shownTo = async (tenant: string, from = library) => {
    const wanted = { text: 'a fox, an owl, a dog of acme, a hen, a cat of nobody', shelves: ['cases'], k: 9 }
    const { shelves } = await from.find(wanted, { tenant, id: 'nobody', kind: 'post' }, signal)
    return shelves[0]?.problem ?? shelves[0]?.neighbours.map(({ text, label }) => `${text}: ${label}`).sort()
  }
  const expected = async (from = library) => {
    expect(await shownTo('default', from)).toEqual(['a fox: loaded', 'a hen: ours', 'an owl: loaded'])
    expect(await shownTo('acme', from)).toEqual(['a dog of acme: acme', 'a fox: acme'])
    expect(await shownTo('beta', from)).toEqual(['a fox: beta'])
    expect(await shownTo('gamma', from)).toBe('the shelf "cases" is missing for the tenant gamma')
  }

  it('shows each tenant what was learnt of its own cases, from the first look on, and what they had replaced to whom it was loaded for', async () => {
    await expected()
    const again = open()
    await expected(again)
    await again.close()
  })

  it('is read alike by two processes that begin at once', async () => {
    const other = open()
    await Promise.all([shownTo('acme'), shownTo('beta', other), shownTo('default', other)])
    await expected()
    await expected(other)
    await other.close()
  })

  it('takes back what that version approved, of each tenant', async () => {
    await library.rollback('c2')
    expect(await shownTo('acme')).toBe('the shelf "cases" is empty')
    expect(await shownTo('beta')).toEqual(['a fox: beta'])
    expect(await shownTo('default')).toEqual(['a fox: loaded', 'a hen: ours', 'an owl: loaded'])
    expect((await library.proposals('waiting')).map(({ id }) => id)).toEqual(['p0', 'p1'])
    await library.rollback('c1')
    expect(await shownTo('default')).toEqual(['a hen: ours'])
  })

  it('forgets a subject wherever its content stands, also what no proposal tells of', async () => {
    await shownTo('acme')
    expect((await library.forget([ownerOf(subject('acme'))])).erased).toBe(4)
    expect((await library.forget([ownerOf(subject('gone'))])).erased).toBe(1)
    expect(await shownTo('acme')).toBe('the shelf "cases" is empty')
    expect(await shownTo('beta')).toEqual(['a fox: beta'])
    expect((await library.shelves()).map(({ tenant, items }) => [tenant, items])).toEqual([
      [null, 2],
      ['acme', 0],
      ['beta', 1],
      ['default', 1],
    ])
  })
})
