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
 * twice is told to `fault`.
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
