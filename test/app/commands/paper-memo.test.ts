import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { judgeFile } from '../../../src/app/commands/judge.ts'
import { startStandIn } from '../../../src/commands.ts'
import { verdict } from '../../../src/contracts/facts/verdict.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('paper-memo')
const settings = loadSettings({})

const when = { createdAt: '2025-01-01T12:00:00Z' }
const post = (id: string) => ({ type: 'post', id, text: 'The bridge has fallen, they say.', ...when })
const comment = (postId: string, at: number) => ({
  type: 'comment',
  id: `${postId}c${at}`,
  postId,
  ...when,
  text: ['I saw it, it is true', 'No, that is false', 'Who says so?'][at],
})
const reply = (id: string) => ({
  type: 'counterspeech',
  id,
  hateSpeech: 'Newcomers only take.',
  text: 'Most of them work.',
  ...when,
})
/** Two subjects in the same words: what is asked about the second has been asked before. */
const TWINS: Readonly<Record<string, readonly object[]>> = {
  rumor: ['a', 'b'].flatMap((id) => [post(id), ...[0, 1, 2].map((at) => comment(id, at))]),
  hate: [post('a'), post('b')],
  safety: [post('a'), post('b')],
  counterspeech: [reply('a'), reply('b')],
}

/** The usage of both verdicts, one subject after the other, by the understudy. */
async function judged(protocol: string, preset: 'none' | 'paper') {
  const file = join(folder, `${protocol}-${preset}.jsonl`)
  writeFileSync(file, (TWINS[protocol] ?? []).map((line) => `${JSON.stringify(line)}\n`).join(''))
  const lines: string[] = []
  await judgeFile(
    {
      ...settings,
      cases: { ...settings.cases, maxOpen: 1 },
      library: { ...settings.library, path: join(folder, 'library') },
      protocols: { ...settings.protocols, [protocol]: { ...settings.protocols[protocol], enabled: true, preset } },
    } as typeof settings,
    file,
    { protocol, format: 'gavel', transcript: false, json: true, finalAge: Number.POSITIVE_INFINITY },
    {
      terminal: { out: (line: unknown) => void lines.push(String(line)), say: () => {}, progress: () => {} },
      startStandIn,
      signal: AbortSignal.timeout(25_000),
    },
  )
  return lines.map((line) => verdict.parse(JSON.parse(line)).usage)
}

describe.each(Object.keys(TWINS))('a second subject in the same words, judged by %s', (protocol) => {
  test('is answered out of the memo', async () => {
    const [first, second] = await judged(protocol, 'none')
    expect(first).toMatchObject({ memoHits: 0 })
    expect(second?.calls).toBe(0)
    expect(second?.memoHits).toBeGreaterThanOrEqual(first?.calls ?? Number.NaN)
  })

  test('is asked anew under preset paper, every question', async () => {
    const [first, second] = await judged(protocol, 'paper')
    expect(first?.calls).toBeGreaterThan(0)
    expect(first).toMatchObject({ memoHits: 0 })
    expect(second).toMatchObject({ calls: first?.calls, memoHits: 0 })
  })
})
