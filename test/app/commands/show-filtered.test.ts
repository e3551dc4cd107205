import { expect, test } from 'vitest'
import { printInspection } from '../../../src/app/commands/show/print.ts'
import type { SubjectInspection } from '../../../src/recovery/inspection/subject-status.ts'
import { aVerdict } from '../../support/verdicts.ts'

const AT = Date.UTC(2026, 0, 1, 12)

test('gavel show says what an endpoint’s filter refused, with its categories, and nothing that drives a terminal', () => {
  const verdict = {
    ...aVerdict(new Date(AT).toISOString(), { label: null, decidedBy: 'none' }),
    filtered: [
      {
        stage: 'stance',
        model: 'small',
        calls: 3,
        found: [{ category: 'hate', severity: 'high' }, { category: 'sexual' }],
        comments: ['c1', 'c\u001b[2J2'],
      },
      { stage: 'judge', model: 'large', calls: 1, found: [] },
    ],
  }
  // What is printed of an inspection; the rest is for --json.
  const shown = {
    subject: { tenant: 'default', postId: 'p', kind: 'post' },
    standing: 'Judged.',
    at: AT,
    messages: [],
    read: [],
    thread: null,
    cases: [],
    deleted: false,
    paused: [],
    proposals: [],
    reviews: [],
    verdicts: [{ verdict, publishedAt: AT, partition: 0, offset: '3', records: 1 }],
    // The lines of verdicts go by no other part of it.
  } as unknown as SubjectInspection
  const lines: string[] = []
  const terminal = { out: (line: string) => void lines.push(String(line)), say: () => {}, progress: () => {} }
  printInspection(shown, {}, { terminal, meanings: new Map() })
  const told = lines.filter((line) => line.includes('filter of'))
  expect(told[0]).toContain('stance: the filter of small refused 3 calls (hate, high; sexual); of comments c1, c')
  expect(told[1]).toContain('judge: the filter of large refused 1 call (it names no category)')
  expect(lines.join('')).not.toContain('\u001b')
})
