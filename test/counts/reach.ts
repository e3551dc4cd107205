import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { PROJECT } from '../../config/load.ts'

const COMMANDS = 'src/commands.ts'

/** The project's files that a file names: imports, re-exports, `import()` and types. */
function namedIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const named: string[] = []
  const note = (node: ts.Node | undefined) => {
    if (node !== undefined && ts.isStringLiteral(node) && node.text.startsWith('.'))
      named.push(resolve(dirname(file), node.text))
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) note(node.moduleSpecifier)
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) note(node.arguments[0])
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) note(node.argument.literal)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return named.filter((path) => existsSync(path))
}

/** All that `gavel run` can reach: of the commands, only its own. */
export function reachOfRun(): string[] {
  const seen = new Set<string>()
  const left = ['src/launch.js', 'src/main.ts'].map((file) => join(PROJECT, file))
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const isRun = (path: string) => /\/(?:commands\/run|cli\/command)\.ts$/.test(path)
    left.push(...namedIn(file).filter((path) => relative(PROJECT, file) !== COMMANDS || isRun(path)))
  }
  return [...seen].map((file) => relative(PROJECT, file))
}
