import { printInspection } from '../../src/app/commands/show/print.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { SubjectInspection } from '../../src/recovery/inspection/subject-status.ts'

/** The lines that `gavel show` prints of a subject of which nothing but this verdict is known. */
export function linesOfShown(subject: SubjectInspection['subject'], verdict: Verdict, publishedAt: number): string[] {
  const lines: string[] = []
  const terminal = { out: (line: unknown) => void lines.push(String(line)), say() {}, progress() {} }
  const shown = {
    subject,
    standing: '',
    deleted: false,
    thread: null,
    cases: [],
    verdicts: [{ verdict, publishedAt, partition: 0, offset: '1', records: 1 }],
    proposals: [],
    reviews: [],
    messages: [],
    read: [],
    at: publishedAt,
    // Only what is printed of a subject without a thread.
  } as unknown as SubjectInspection
  printInspection(shown, {}, { terminal, meanings: new Map() })
  return lines
}
