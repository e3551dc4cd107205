/**
 * Keeps the words of `words.ts` out of Gavel: part of `npm run check`. Prints each place as FILE:LINE with the word to use, and
 * ends with 1 if there is one.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { OLD_NAMES, OLD_WORDS, type OldWord } from './words.ts'

/** Texts whose hashes stand in verdicts, recorded data, and the lists themselves. */
const LEFT_OUT = /^(config\/(prompts|steps|demo|perspectives)\/|test\/vocabulary\/|package-lock\.json$|LICENSE$)/
const LOOKED_AT = /\.(ts|js|cjs|lua|md|ya?ml|json)$/

/** Names are looked at in what ships. */
const SHIPPED = /^(src|consumers|producers|config)\/.*\.ts$/

export interface Found {
  readonly file: string
  readonly line: number
  readonly word: string
  readonly now: string
}

/** The old words in a text: everywhere those of `OLD_WORDS`, and of TypeScript the declared names of `OLD_NAMES`. */
export function oldWordsIn(file: string, text: string): Found[] {
  const lines = text.split('\n')
  const words = OLD_WORDS.filter((word) => !stays(word, file)).flatMap(({ old, now }) =>
    lines.flatMap((line, at) => {
      const word = line.match(old)?.[0]
      return word === undefined ? [] : [{ file, line: at + 1, word, now }]
    }),
  )
  return SHIPPED.test(file) ? [...words, ...oldNamesIn(file, text)] : words
}

function oldNamesIn(file: string, text: string): Found[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Found[] = []
  const visit = (node: ts.Node): void => {
    const name = nameOf(node)
    if (name !== undefined && ts.isIdentifier(name))
      for (const word of OLD_NAMES)
        if (word.old.test(name.text) && !stays(word, file)) {
          const { line } = source.getLineAndCharacterOfPosition(name.getStart(source))
          found.push({ file, line: line + 1, word: name.text, now: word.now })
        }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** The name that a node declares, if it is one. */
function nameOf(node: ts.Node): ts.Node | undefined {
  const declares =
    ts.isVariableDeclaration(node) ||
    ts.isBindingElement(node) ||
    ts.isParameter(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isPropertySignature(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isMethodSignature(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node)
  return declares ? node.name : undefined
}

function stays({ stays: places = [] }: OldWord, file: string): boolean {
  return places.some((place) => place.file.test(file))
}

if (import.meta.main) {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => LOOKED_AT.test(file) && !LEFT_OUT.test(file))
  const found = files.flatMap((file) => oldWordsIn(file, readFileSync(file, 'utf8')))
  for (const { file, line, word, now } of found) process.stderr.write(`${file}:${line} "${word}": say ${now}\n`)
  if (found.length > 0) process.exitCode = 1
}
