import { z } from 'zod'
import type { TableCell } from '../../../cli/drawing.ts'
import { counted, type Drawing, printable, table } from '../../../cli/terminal.ts'
import type { Verdict } from '../../../contracts/facts/verdict.ts'
import { nameOfSubject } from '../../../contracts/facts/verdict-id.ts'
import { how, outcome, scoresOf, wrapped } from '../verdict-cells.ts'
import { toneOf } from '../verdict-line.ts'

/** More subjects than these are no table that anybody reads. */
const MOST_SUBJECTS = 50

const subject = z.object({
  post: z.object({ id: z.string(), text: z.string().optional() }),
  comments: z.array(z.unknown()).optional(),
})

/** A post's or a reply's own words, from the snapshot in a transcript. */
export function wordsIn(snapshot: unknown): string {
  return subject.safeParse(snapshot).data?.post.text ?? ''
}

interface Row {
  readonly words: string
  readonly id: string
  comments: number
  readonly verdicts: Map<string, Verdict>
}

/** Gathers verdicts, to show them as a table by subject: its text, and each protocol's label. */
export function judgedTable() {
  const rows = new Map<string, Row>()
  const protocols = new Set<string>()
  return {
    add(verdict: Verdict, snapshot: unknown) {
      protocols.add(verdict.protocol)
      const name = nameOfSubject(verdict)
      const key = JSON.stringify([verdict.tenant, name])
      if (!rows.has(key) && rows.size > MOST_SUBJECTS) return
      const row = rows.get(key) ?? { id: name, words: wordsIn(snapshot), comments: 0, verdicts: new Map() }
      rows.set(key, row)
      // A comment is shown with what it answers: it has none of its own.
      const under = verdict.postId === undefined ? (subject.safeParse(snapshot).data?.comments?.length ?? 0) : 0
      row.comments = Math.max(row.comments, under)
      row.verdicts.set(verdict.protocol, verdict)
    },
    /** Null where there is nothing to show; in place of a table that is too long, a line about that. */
    drawing(): Drawing | string | null {
      if (rows.size === 0) return null
      if (rows.size > MOST_SUBJECTS)
        return `More than ${MOST_SUBJECTS} posts and replies: no table of them. Each has its line above; --json has all of it.`
      return table(
        ['post', ...protocols],
        [...rows.values()].map((row) => [
          postCell(row),
          ...[...protocols].map((name) => cellOf(row.verdicts.get(name))),
        ]),
      )
    },
  }
}

function postCell({ id, words, comments }: Row): TableCell {
  const lines = words === '' ? [] : [wrapped(printable(words, 96), 36)]
  return [printable(id, 36), ...lines, ...(comments === 0 ? [] : [counted(comments, 'comment')])].join('\n')
}

function cellOf(verdict: Verdict | undefined): TableCell {
  if (verdict === undefined) return ''
  return { text: [outcome(verdict), how(verdict), scoresOf(verdict)].join('\n'), tone: toneOf(verdict) }
}
