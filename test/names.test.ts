import { relative } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { PROJECT } from '../config/load.ts'

/** By the names of their types: objects made without a prototype, which inherit nothing, and those with names of our own schemas alone. */
const BARE = new Set(['HeaderTable', 'LooseObject', 'SchemaFields', 'Tree'])
/** Of the service itself; local servers, the understudy and the bench are told no name from outside. */
const LOOKED_AT = /^(src\/(?!kit\/(stack|understudy|bench)\/)|consumers\/|producers\/|config\/)/
const HELPER = 'src/contracts/facts/entry-of.ts'

/** Places that look into a record by a name that is known only when it runs, which finds what every object inherits. */
function plainLookups(files: readonly string[], options: ts.CompilerOptions, sources?: ReadonlyMap<string, string>) {
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => sources?.has(name) === true || fileExists(name)
  host.readFile = (name) => sources?.get(name) ?? readFile(name)
  host.getSourceFile = (name, how) => {
    const text = sources?.get(name)
    return text === undefined ? getSourceFile(name, how) : ts.createSourceFile(name, text, how)
  }
  const program = ts.createProgram(files, { ...options, noEmit: true }, host)
  const checker = program.getTypeChecker()
  const found: string[] = []

  const isOpen = (type: ts.Type): boolean =>
    type.isUnion() ? type.types.some(isOpen) : (type.flags & ts.TypeFlags.String) !== 0
  /** A record by any name, and none that inherits nothing. */
  const inherits = (type: ts.Type): boolean => {
    if (type.isUnion()) return type.types.some(inherits)
    if (BARE.has(type.aliasSymbol?.name ?? type.symbol?.name ?? '')) return false
    return checker.getIndexInfosOfType(type).some(({ keyType }) => (keyType.flags & ts.TypeFlags.String) !== 0)
  }

  for (const source of program.getSourceFiles()) {
    const file = relative(PROJECT, source.fileName)
    if (source.isDeclarationFile || !LOOKED_AT.test(file) || file === HELPER) continue
    const note = (node: ts.Node) => {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
      found.push(`${file}:${line + 1} ${node.getText(source)}`)
    }
    const visit = (node: ts.Node): void => {
      if (ts.isElementAccessExpression(node)) {
        const name = checker.getTypeAtLocation(node.argumentExpression)
        if (isOpen(name) && inherits(checker.getTypeAtLocation(node.expression))) note(node)
      }
      if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InKeyword) {
        const name = checker.getTypeAtLocation(node.left)
        if (isOpen(name) && inherits(checker.getTypeAtLocation(node.right))) note(node)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

const { config } = ts.readConfigFile(`${PROJECT}/tsconfig.json`, ts.sys.readFile)
const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, PROJECT)

it('looks into no record by a name from outside but with entryOf', { timeout: 120_000 }, () => {
  const ours = fileNames.filter((file) => LOOKED_AT.test(relative(PROJECT, file)))
  expect(ours.length).toBeGreaterThan(150)
  expect(plainLookups(ours, options)).toEqual([])
})

it('would notice one', { timeout: 120_000 }, () => {
  const file = `${PROJECT}/src/a-lookup.ts`
  const source = `
    const limits: Readonly<Record<string, number>> = {}
    const few: { [name in 'a' | 'b']: number } = { a: 1, b: 2 }
    export const read = (tenant: string) => limits[tenant] ?? 1
    export const write = (tenant: string) => { const held: Record<string, number> = {}; held[tenant] = 1 }
    export const has = (tenant: string) => tenant in limits
    export const known = (name: 'a' | 'b', at: number, all: string[]) => [few[name], limits.a, all[at]]`
  expect(plainLookups([file], options, new Map([[file, source]]))).toEqual([
    'src/a-lookup.ts:4 limits[tenant]',
    'src/a-lookup.ts:5 held[tenant]',
    'src/a-lookup.ts:6 tenant in limits',
  ])
})
