/** What a spreadsheet would take for a formula: numbers alone may begin so. */
const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[-+]?\d[\d.eE+-]*$/

/** Without it Excel reads UTF-8 as the letters of its own code page. */
const BYTE_ORDER_MARK = '\u{FEFF}'

/** A table as CSV (RFC 4180), which a spreadsheet computes nothing of: what would be a formula stands behind an apostrophe. */
export function csvTable({
  head,
  rows,
}: {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}): string {
  return BYTE_ORDER_MARK + [head, ...rows].map((cells) => `${cells.map(field).join(',')}\r\n`).join('')
}

function field(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
