import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { runCommandLine } from '../../../src/cli/command-line.ts'
import { terminal } from '../../../src/cli/terminal.ts'
import { COMMANDS, startStandIn } from '../../../src/commands.ts'
import { COMMANDS as DOCUMENTED } from '../../clone/commands.ts'

const read = (page: string) => readFileSync(join(PROJECT, page), 'utf8')
const PAGES = ['.', 'docs', 'docs/runbooks'].flatMap((folder) =>
  readdirSync(join(PROJECT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

/** The command lines of a page: what stands in blocks and in spans of code, with lines that go on joined. */
function linesOf(page: string): string[] {
  const text = read(page).replaceAll(/\\\n\s*/g, ' ')
  const blocks = [...text.matchAll(/^ *```[^\n]*\n([\s\S]*?)^ *```/gm)].flatMap(([, block = '']) => block.split('\n'))
  const spans = [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...blocks, ...spans]
}

/** What is wrong with the calls of `gavel` in a line of a shell. */
async function faultsIn(line: string): Promise<string[]> {
  const calls = line.matchAll(/(?:^\s*|npx +|[;(&|$] *|\w=\S+ +)gavel((?: +[^\s;|&)#<>'"]+)+)/g)
  const faults = await Promise.all([...calls].map(([, words = '']) => faultsOf(words.trim().split(/ +/))))
  return faults.flat()
}

async function faultsOf([first = '', second = '', ...rest]: string[]): Promise<string[]> {
  if (!/^[a-z][a-z-]+$/.test(first)) return []
  const one = COMMANDS.find(({ path }) => path === `${first} ${second}`) ?? COMMANDS.find(({ path }) => path === first)
  if (one === undefined) return [`gavel ${first} is no command`]
  const { options = [] } = one.load === undefined ? {} : (await one.load()).command
  const known = new Set(['--config', '--json', '--help', ...options.map(({ long }) => long)])
  return [second, ...rest]
    .filter((word) => word.startsWith('--') && !known.has(word.replace(/[=,.:)].*$/, '')))
    .map((word) => `gavel ${one.path} has no ${word}`)
}

describe('a command in a page', () => {
  test.each(PAGES)('is there: %s', { timeout: 60_000 }, async (page) => {
    const lines = linesOf(page)
    const named = lines.flatMap((line) => [...line.matchAll(/npm run ([a-z][\w:-]*)/g)].map(([, name = '']) => name))
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
    expect((await Promise.all(lines.map(faultsIn))).flat()).toEqual([])
  })
})

/** Every command, as it is declared; none does anything. */
const IDLE = COMMANDS.map((listed) => {
  const { load } = listed
  if (load === undefined) return listed
  return { ...listed, load: async () => ({ command: { ...(await load()).command, run: async () => {}, print() {} } }) }
})

/** What `gavel` says of these words as a user types them, before it does anything. */
async function saidOf(words: readonly string[]): Promise<string> {
  const said: string[] = []
  const write = (text: string) => void said.push(text)
  const code = await runCommandLine(words, {
    version: '0',
    commands: IDLE,
    environment: {},
    terminal: terminal({ write }, { write }),
    startStandIn,
    signal: new AbortController().signal,
    stopped: new Promise(() => {}),
    writing: { writeOut: write, writeErr: write },
    begins() {},
    lastWords: write,
  })
  return code === 0 ? '' : said.join('')
}

/** The words of a line of a shell, without where it writes to. */
const wordsOf = (line: string) =>
  [...line.replace(/ >+ ?\S+/g, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')

test('every documented call is understood as it stands', { timeout: 60_000 }, async () => {
  const lines = Object.keys(DOCUMENTED).filter((line) => /^npx gavel [^|;&<$()`]*$/.test(line))
  expect(lines.length).toBeGreaterThan(100)
  const said = await Promise.all(lines.map(async (line) => [line, await saidOf(wordsOf(line).slice(2))]))
  expect(said.filter(([, what]) => what !== '')).toEqual([])
})
