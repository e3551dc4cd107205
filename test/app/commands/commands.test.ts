import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { Option } from 'commander'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { COMMANDS } from '../../../src/commands.ts'

const PLACES = [
  'src/app/commands',
  'src/lab/commands',
  'src/kit/bench',
  'src/kit/capacity',
  'src/kit/stack',
  'src/kit/demo',
]
/** A file that declares a command, by its text: to import every file would start the workers among them. */
const DECLARES = /^export const command: Command</m

const groups = new Set(COMMANDS.map(({ path }) => path.split(' ').slice(0, -1).join(' ')).filter((path) => path !== ''))

describe('every command', () => {
  it('is a file that the list has, each once', () => {
    const files = PLACES.flatMap((place) =>
      readdirSync(join(PROJECT, place), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(PROJECT, join(entry.parentPath, entry.name))),
    )
    const declared = files.filter((file) => DECLARES.test(readFileSync(join(PROJECT, file), 'utf8')))
    const lists = ['src/commands.ts', 'src/learn-commands.ts', 'src/stream-commands.ts', 'src/variant-commands.ts']
    const list = lists.map((file) => readFileSync(join(PROJECT, file), 'utf8')).join('\n')
    const listed = [...list.matchAll(/load: \(\) => import\('(.*)'\)/g)].map(([, path = '']) => join('src', path))
    expect(listed.toSorted()).toEqual(declared.toSorted())
    expect(declared.length).toBeGreaterThan(25)
    expect(new Set(COMMANDS.map(({ path }) => path)).size).toBe(COMMANDS.length)
  })

  it.each(COMMANDS)('$path has the one shape, or is a group of others', async ({ path, load }) => {
    if (load === undefined) return expect(groups.has(path)).toBe(true)
    const { command } = await load()
    expect(Object.keys(command).toSorted()).toEqual(['help', 'json', 'options', 'print', 'run'])
    for (const option of command.options) expect(option).toBeInstanceOf(Option)
    // Main adds these two, where they belong.
    expect(command.options.map(({ long }) => long)).not.toContain('--json')
    expect(command.options.map(({ long }) => long)).not.toContain('--config')
    expect([typeof command.json, typeof command.help]).toEqual(['boolean', 'string'])
    expect([typeof command.run, typeof command.print]).toEqual(['function', 'function'])
  })

  it('is behind its group in the list', () => {
    const seen = new Set<string>()
    for (const { path } of COMMANDS) {
      const group = path.split(' ').slice(0, -1).join(' ')
      expect(group === '' || seen.has(group)).toBe(true)
      seen.add(path)
    }
  })

  it('is imported only if its name is on the command line', async () => {
    const loaded = async (...args: string[]) => {
      const code = `
        import { registerHooks } from 'node:module'
        registerHooks({ load(url, context, next) { if (url.startsWith('file:')) process.stderr.write(url + '\\n'); return next(url, context) } })
        process.argv.splice(1, 0, 'gavel')
        await import(${JSON.stringify(join(PROJECT, 'src', 'main.ts'))})`
      const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code, '--', ...args]
      const { stderr } = await promisify(execFile)(process.execPath, flags, { maxBuffer: 32 * 1024 * 1024 })
      return stderr.split('\n')
    }
    const own = (files: string[]) => files.filter((url) => url.includes('/src/')).map((url) => url.split('/src/')[1])
    const forHelp = await loaded('--help')
    expect(own(forHelp)).toContain('commands.ts')
    expect(own(forHelp).filter((file) => /^(store|stream|judging|protocols|models|kit)\//.test(file ?? ''))).toEqual([])
    expect(forHelp.filter((url) => /node_modules\/(kafkajs|bullmq|ioredis|zod|pino|openai)\//.test(url))).toEqual([])
    expect(own(await loaded('library', 'list', '--help'))).toContain('app/commands/library/list.ts')
    // What draws a report's pictures is loaded when one is written.
    const drawing = (files: string[]) => files.filter((url) => /node_modules\/(@observablehq|d3|linkedom)\//.test(url))
    expect(drawing(forHelp)).toEqual([])
    for (const name of ['judge', 'eval']) {
      const files = await loaded(name, '--help')
      expect(own(files).some((file) => file?.endsWith(`/${name}.ts`))).toBe(true)
      expect(drawing(files)).toEqual([])
    }
  })
})
