import { parseDocument } from 'yaml'

/** The text of a settings file with another value at this path; all else as it stands, comments too. */
export function withValueAt(text: string, path: readonly string[], value: unknown): string {
  const document = parseDocument(text)
  document.setIn(path, value)
  return document.toString({ lineWidth: 0 })
}
