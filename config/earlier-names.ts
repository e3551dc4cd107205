import { get, isTree, set, type Tree } from './tree.ts'

/** Settings by the paths that they had: files and variables that name these go on working. */
export const EARLIER_NAMES: readonly (readonly [earlier: readonly string[], now: readonly string[]])[] = [
  [
    ['cases', 'pressedAtDue'],
    ['cases', 'overloadedAtDue'],
  ],
  ...['Rounds', 'K', 'Comments'].map(
    (what) =>
      [
        ['protocols', 'rumor', `pressed${what}`],
        ['protocols', 'rumor', `overloaded${what}`],
      ] as const,
  ),
]

/** The settings of a file under the names that they have now; one that is given under both names is told to `fault`. */
export function underNewNames(tree: Tree, fault: (why: string) => void): Tree {
  for (const [earlier, now] of EARLIER_NAMES) {
    const value = get(tree, earlier)
    if (value === undefined) continue
    if (get(tree, now) !== undefined)
      fault(`${earlier.join('.')} is called ${now.join('.')} now: leave the earlier one out`)
    set(tree, now, value)
    const holder = get(tree, earlier.slice(0, -1))
    if (isTree(holder)) delete holder[earlier.at(-1) ?? '']
  }
  return tree
}
