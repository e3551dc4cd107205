import { type Document, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { isTree, type Tree, treeOf } from './tree.ts'

/** YAML as settings are read from it, or what is wrong with it, in words that quote nothing: a secret may stand there. */
export type ReadYaml =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly faults: string[] }

export function readYaml(text: string): ReadYaml {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false, lineCounter })
  const faults = [...document.errors, ...document.warnings, ...repeatedKeys(document, lineCounter)]
  if (faults.length > 0) return { ok: false, faults: faults.map(said) }
  try {
    const value: unknown = document.toJS()
    return { ok: true, value: isTree(value) ? treeOf(value) : value }
  } catch (error) {
    const why = error instanceof TypeError ? 'a mapping holds itself' : 'an alias of nothing, or of too much'
    return { ok: false, faults: [`${why}: a text that begins with * or & is put in quotation marks`] }
  }
}

/** On which line of a text each setting stands, by its path with dots. */
export function linesOfSettings(text: string): ReadonlyMap<string, number> {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false, lineCounter })
  const lines = new Map<string, number>()
  visit(document, {
    Pair(_, { key }, ancestors) {
      const above = ancestors.flatMap((one) => (isPair(one) && isScalar(one.key) ? [String(one.key.value)] : []))
      if (isScalar(key))
        lines.set([...above, String(key.value)].join('.'), lineCounter.linePos(key.range?.[0] ?? 0).line)
    },
  })
  return lines
}

/** Keys that a mapping has already. The parser would compare each key with all before it: a second for ten thousand of them. */
function repeatedKeys(document: Document.Parsed, lines: LineCounter) {
  const repeated: { code: string; linePos: readonly { line: number; col: number }[] }[] = []
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) repeated.push({ code: 'DUPLICATE_KEY', linePos: [lines.linePos(key.range?.[0] ?? 0)] })
        keys.add(key.value)
      }
    },
  })
  return repeated
}

/** YAML's messages quote what they are about. */
function said(error: {
  readonly code: string
  readonly linePos?: readonly { line: number; col: number }[] | undefined
}) {
  const [at] = error.linePos ?? []
  const where = at === undefined ? '' : `line ${at.line}, column ${at.col}: `
  return `${where}no YAML that can be read (${error.code.toLowerCase().replaceAll('_', ' ')})`
}

/** The settings in a file; what is wrong is told to `fault`. */
export function mappingOf(text: string, fault: (why: string) => void): Tree {
  const read = readYaml(text)
  if (!read.ok) for (const why of read.faults) fault(why)
  else if (isTree(read.value ?? {})) return treeOf(read.value ?? {})
  else fault('must be a mapping of settings')
  return treeOf({})
}
