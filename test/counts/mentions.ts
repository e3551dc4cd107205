import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { PROJECT } from '../../config/load.ts'

/** A concept that touches more rooms than its folders tell, and the words by which code and settings name it. */
const MENTIONED: Readonly<Record<string, RegExp>> = {
  webhook: /webhook/i,
  memo: /\bmemos?\b|\bmemo[A-Z_-]|[a-z]Memo(?:s?\b|[A-Z])|\bMemo(?:s?\b|[A-Z])/,
}
const FOLDERS = ['src', 'consumers', 'producers', 'config', 'grafana', 'deploy', 'docs']
export const MAP = join(PROJECT, 'ARCHITECTURE.md')

/** ARCHITECTURE.md with its lists of every file that names such a concept, as the tree is now. */
export function withMentions(): { readonly written: string; readonly current: string } {
  const written = readFileSync(MAP, 'utf8')
  let current = written
  for (const [concept, words] of Object.entries(MENTIONED)) {
    const [begin, end] = [`<!-- files: ${concept} -->`, '<!-- end -->']
    const from = current.indexOf(begin)
    const to = current.indexOf(end, from)
    if (from < 0 || to < 0) throw new Error(`ARCHITECTURE.md lacks ${begin} … ${end}`)
    current = `${current.slice(0, from + begin.length)}\n\n${mentionsOf(concept, words)}\n\n${current.slice(to)}`
  }
  return { written, current }
}

/** A line for each folder. A concept's own files belong to it whatever they say. */
function mentionsOf(concept: string, words: RegExp): string {
  const isNamed = (file: string) =>
    file.startsWith(`src/store/${concept}/`) || words.test(readFileSync(join(PROJECT, file), 'utf8'))
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
    .filter((file) => /\.(?:ts|js|lua|json|ya?ml|md)$/.test(file) && isNamed(file))
    .map((file) => file.replace(/^src\//, ''))
    .toSorted()
  return [...Map.groupBy(files, dirname)]
    .map(
      ([folder, names]) => `- ${folder === '.' ? 'src' : folder}/: ${names.map((name) => basename(name)).join(', ')}`,
    )
    .join('\n')
}
