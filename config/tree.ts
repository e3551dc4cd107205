import { type Document, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml'
/** Settings as they are read: objects without a prototype, so that `__proto__` and `constructor` are names like any other. */
export type Tree = { [key: string]: unknown }

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same, with all that it holds, without a prototype. Throws if it holds itself. */
export function treeOf(read: object, ancestors: readonly object[] = []): Tree {
  if (ancestors.includes(read)) throw new TypeError('holds itself')
  const tree: Tree = Object.create(null)
  for (const [key, value] of Object.entries(read))
    tree[key] = isTree(value) ? treeOf(value, [...ancestors, read]) : value
  return tree
}

export function merge(under: Tree, over: Tree): Tree {
  const merged = treeOf(under)
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isTree(value) && isTree(below) ? merge(below, value) : value
  }
  return merged
}

/** The paths of all that is no mapping. */
export function leaves(tree: Tree, path: readonly string[] = []): string[][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) ? leaves(value, [...path, key]) : [[...path, key]],
  )
}

export function get(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isTree(at) ? at[key] : undefined), tree)
}

export function set(tree: Tree, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path
  if (key === undefined) return
  if (rest.length === 0) tree[key] = value
  else {
    const below = tree[key]
    const copy = treeOf(isTree(below) ? below : {})
    tree[key] = copy
    set(copy, rest, value)
  }
}

/**
 * The same, where a name at the top may be a path: what `models.roles` holds stands in `roles` of `models`, beside what is there. What is set
 * twice is reported to `fault`.
 */
export function withPaths(tree: Tree, fault: (why: string) => void): Tree {
  const isPath = (key: string) => key.includes('.')
  const plain = treeOf(Object.fromEntries(Object.entries(tree).filter(([key]) => !isPath(key))))
  return Object.entries(tree).reduce((whole, [key, value]) => {
    if (!isPath(key)) return whole
    const at = treeOf({})
    set(at, key.split('.'), value)
    for (const path of leaves(at)) if (get(whole, path) !== undefined) fault(`${path.join('.')} is set twice`)
    return merge(whole, at)
  }, plain)
}

/** YAML as settings are read from it, or what is wrong with it, in words that quote nothing: a secret may stand there. */
type ReadYaml = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly faults: string[] }

export function readYaml(text: string): ReadYaml {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { logLevel: 'silent', uniqueKeys: false, lineCounter })
  const faults = [...document.errors, ...document.warnings, ...repeatedKeys(document, lineCounter)]
  if (faults.length > 0) return { ok: false, faults: faults.map(describeFault) }
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
function describeFault(error: {
  readonly code: string
  readonly linePos?: readonly { line: number; col: number }[] | undefined
}) {
  const [at] = error.linePos ?? []
  const where = at === undefined ? '' : `line ${at.line}, column ${at.col}: `
  return `${where}no YAML that can be read (${error.code.toLowerCase().replaceAll('_', ' ')})`
}

/** The settings in a file; faults are reported to `fault`. */
export function mappingOf(text: string, fault: (why: string) => void): Tree {
  const read = readYaml(text)
  if (!read.ok) for (const why of read.faults) fault(why)
  else if (isTree(read.value ?? {})) return treeOf(read.value ?? {})
  else fault('must be a mapping of settings')
  return treeOf({})
}
