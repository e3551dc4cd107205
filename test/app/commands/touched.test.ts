import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command as showProposal } from '../../../src/app/commands/learn/show.ts'
import { command as takeBackItem } from '../../../src/app/commands/library/take-back.ts'
import { command as touchedBy } from '../../../src/app/commands/library/touched.ts'
import type { Verdict } from '../../../src/contracts/facts/verdict.ts'
import { contentId, type Proposal } from '../../../src/contracts/ports/library.ts'
import { startUnderstudy, type Understudy } from '../../../src/kit/understudy/server.ts'
import type { TouchedVerdict } from '../../../src/shelves/curator/touched.ts'
import { libraryOf } from '../../../src/shelves/lancedb/library.ts'
import { perform } from '../../support/commands.ts'
import { aVerdict } from '../../support/verdicts.ts'

const POISON = 'knives are always safe'
const ID = contentId(POISON)
const at = '2026-01-01T00:00:00.000Z'

describe('verdicts that a precedent touched', () => {
  let understudy: Understudy
  let folder: string
  let out: string[]
  let said: string[]
  let proposals: readonly Proposal[]
  beforeAll(async () => {
    understudy = await startUnderstudy({ latencyMs: 0 })
  })
  afterAll(() => understudy.close())

  const settings = () =>
    loadSettings({
      OPENAI_BASE_URL: understudy.settings.OPENAI_BASE_URL,
      OPENAI_API_KEY: 'KEY',
      GAVEL_LIBRARY_PATH: join(folder, 'library'),
      GAVEL_LIBRARY_EMBEDDER: 'a-model',
    })
  const terminal = {
    out: (line: unknown) => out.push(String(line)),
    say: (line: unknown) => said.push(String(line)),
    progress() {},
  }
  const io = () => ({ terminal, signal: new AbortController().signal })

  /** Precedents with the poisoned text for two tenants, by mallory and by ann. */
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gavel-touched-'))
    out = []
    said = []
    const library = libraryOf(settings(), Date.now)
    const proposal = (tenant: string, by: string) => ({
      shelf: 'precedents',
      text: POISON,
      label: 'safe',
      metadata: { note: 'so be it' },
      provenance: { tenant, subjectId: 'p0', kind: 'post' as const, protocol: 'safety', verdictId: 'v', by, at },
    })
    const { proposed } = await library.propose([proposal('acme', 'mallory'), proposal('beta', 'ann')])
    await library.approve(
      proposed.map(({ id }) => id),
      'op',
      io().signal,
    )
    proposals = await library.proposals()
    await library.close()
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const verdict = (tenant: string, subjectId: string, revision: number, precedents: string[], more = {}): Verdict =>
    aVerdict(at, {
      tenant,
      subjectId,
      revision,
      protocol: 'safety',
      label: 'safe',
      decidedBy: 'arbiter',
      rounds: 2,
      evidence: { support: [], oppose: [], precedents },
      ...more,
    })
  const file = (...lines: unknown[]) => {
    const path = join(folder, 'judged.jsonl')
    writeFileSync(path, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'))
    return path
  }
  const judged = () =>
    file(
      verdict('acme', 'p1', 1, ['other', ID]),
      { verdict: verdict('acme', 'p2', 1, [ID]), transcript: {} },
      verdict('acme', 'p2', 2, []),
      verdict('acme', 'p3', 1, ['other']),
      verdict('beta', 'p1', 1, [ID], { label: null }),
      verdict('constructor', '__proto__', 1, [ID]),
      verdict('acme', 'p1', 1, ['other', ID]),
      'no JSON',
    )
  const touched = async (id: string, more: { tenant?: string } = {}): Promise<TouchedVerdict[]> => {
    out = []
    await perform(touchedBy, settings(), [id], { judged: judged(), json: true, ...more }, io())
    return out.map((line) => JSON.parse(line))
  }
  const ids = (of: readonly TouchedVerdict[]) => of.map(({ id, stands }) => `${id}${stands ? '' : ' superseded'}`)

  it('are named once each, and whether they are current; by proposal those of its tenant, by id all', async () => {
    const found = await touched(proposals[0]?.id ?? '')
    expect(found[0]).toEqual({
      id: 'safety@acme~p1~r1',
      tenant: 'acme',
      protocol: 'safety',
      subjectId: 'p1',
      revision: 1,
      final: true,
      label: 'safe',
      decidedBy: 'arbiter',
      decidedAt: at,
      precedents: [ID],
      stands: true,
    })
    expect(ids(found)).toEqual(['safety@acme~p1~r1', 'safety@acme~p2~r1 superseded'])
    expect(said).toContain(`${join(folder, 'judged.jsonl')}:8 is not a verdict; skipped`)
    expect(said.at(-1)).toBe('2 verdicts on 2 subjects rest on it; 1 of them are current.')
    expect(said[0]).toBe(`is on precedents of acme  ${ID}  safe  by mallory (${proposals[0]?.id})  ${POISON}`)
    expect(ids(await touched(proposals[0]?.change ?? ''))).toEqual(ids(found))
    expect(await touched(ID)).toHaveLength(4)
    expect(ids(await touched(ID, { tenant: 'constructor' }))).toEqual(['safety@constructor~__proto__~r1'])
    await expect(touched('nobody')).rejects.toThrow('There is no precedent, proposal or change nobody.')
    out = []
    await perform(touchedBy, settings(), [ID], { judged: judged(), json: false }, io())
    expect(out[1]).toBe(`${at}  safety@acme~p2~r1 final (superseded)  acme  safe  by arbiter`)
  })

  it('are named when it is taken back, after which the next case is not shown it and they are found all the same', async () => {
    const take = (id: string, more = {}) =>
      perform(takeBackItem, settings(), [id], { judged: judged(), by: 'op', json: true, ...more }, io())
    await expect(take(ID)).rejects.toThrow('Say which with --shelf and --tenant, or --everywhere.')
    expect(out).toEqual([])
    await take(ID, { tenant: 'acme' })
    const { takenBack, touched: names } = JSON.parse(out[0] ?? '')
    expect(takenBack).toMatchObject([{ shelf: 'precedents', tenant: 'acme', by: ['mallory'], text: POISON }])
    expect(ids(names)).toEqual(['safety@acme~p1~r1', 'safety@acme~p2~r1 superseded'])
    const library = libraryOf(settings(), Date.now)
    const shown = async (tenant: string) => {
      const wanted = { text: 'knives', shelves: ['precedents'], k: 1 }
      return (await library.find(wanted, { tenant, id: 'x', kind: 'post' }, io().signal)).shelves[0]?.neighbours.length
    }
    expect([await shown('acme'), await shown('beta')]).toEqual([0, 1])
    await library.close()
    expect(ids(await touched(proposals[0]?.id ?? ''))).toEqual(ids(names))
    await expect(take(proposals[0]?.id ?? '')).rejects.toThrow('is not on any shelf')
    out = []
    await take(proposals[1]?.id ?? '', { json: false })
    expect(out).toEqual([
      `taken off precedents of beta  ${ID}  safe  by ann (${proposals[1]?.id})  ${POISON}`,
      `${at}  safety@beta~p1~r1 final  beta  undecided  by arbiter`,
    ])
  })

  it('that can not be read keep nobody from taking it back, and it is said', async () => {
    const absent = { judged: join(folder, 'absent'), by: 'op', json: true }
    await expect(perform(takeBackItem, settings(), [proposals[0]?.id ?? ''], absent, io())).rejects.toThrow(
      /^It was taken back; .*absent cannot be read: there is no such file\. "gavel library touched .*" names them\.$/,
    )
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ takenBack: [{ tenant: 'acme' }], touched: null })
    const noKafka = { by: 'op', json: false }
    await expect(perform(takeBackItem, settings(), [proposals[1]?.id ?? ''], noKafka, io())).rejects.toThrow(
      'It was taken back;',
    )
  })

  it('lead from a precedent’s id to whose feedback it was', async () => {
    await perform(showProposal, settings(), [ID], { json: false }, io())
    expect(out.filter((line) => line.startsWith('by: '))).toEqual(['by: mallory', 'by: ann'])
    expect(out.filter((line) => line.startsWith('id: '))).toHaveLength(2)
  })
})
