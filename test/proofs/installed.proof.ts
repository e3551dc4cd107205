import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { COMMANDS } from '../../src/commands.ts'
import { ownFolder } from '../support/own-folder.ts'

/** Versions of Node, as npm names them. */
const NODES = ['22', '24', '26']
/** Most that the package and all that it brings may weigh without shelves, in MB. */
const MOST_MB = 150

/** The package as npm installs it from its tarball, from the registry that the machine has, with every command. */
describe.each(NODES)('installed, under Node %s', (node) => {
  const folder = join(ownFolder(`installed-${node}`), 'with a space')
  const installed = join(folder, 'node_modules', 'gavel-debate')
  const npm = (where: string, ...args: string[]) =>
    execFileSync('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline'], { cwd: where, encoding: 'utf8' })
  const run = (...args: string[]) =>
    spawnSync(
      join(folder, '..', 'node', 'node_modules', 'node', 'bin', 'node'),
      [join(installed, 'src', 'launch.js'), ...args],
      {
        cwd: folder,
        encoding: 'utf8',
        // No home, and nothing of this project's environment.
        env: { PATH: process.env.PATH, XDG_CACHE_HOME: join(folder, '..', 'cache') },
      },
    )
  const written = (under: string) =>
    readdirSync(under, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path, size: statSync(path).size, at: statSync(path).mtimeMs }))
  let before: unknown

  beforeAll(() => {
    const tools = join(folder, '..', 'node')
    mkdirSync(tools, { recursive: true })
    mkdirSync(folder, { recursive: true })
    npm(PROJECT, 'pack', '--pack-destination', folder)
    const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { version: string }
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    writeFileSync(join(tools, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }')
    npm(tools, 'install', `node@${node}`)
    npm(folder, 'install', `./gavel-debate-${version}.tgz`)
    before = written(installed)
  }, 600_000)

  it('is the Node that was meant, and weighs little', () => {
    const started = spawnSync(join(folder, '..', 'node', 'node_modules', 'node', 'bin', 'node'), ['--version'], {
      encoding: 'utf8',
    })
    expect(started.stdout).toMatch(new RegExp(`^v${node}\\.`))
    const megabytes = written(join(folder, 'node_modules')).reduce((sum, { size }) => sum + size, 0) / 2 ** 20
    process.stderr.write(`Node ${started.stdout.trim()}: ${Math.round(megabytes)} MB\n`)
    expect(megabytes).toBeLessThan(MOST_MB)
  })

  it.each(COMMANDS.map(({ path }) => path))('%s can be loaded', (path) => {
    expect(run(...path.split(' '), '--help')).toMatchObject({ status: 0, stderr: '' })
  })

  it('judges a file, and shows the demo to its end', () => {
    const post = { type: 'post', id: 'p1', text: 'The old bridge has collapsed.', createdAt: '2026-06-15T15:06:40Z' }
    writeFileSync(join(folder, 'posts.jsonl'), `${JSON.stringify(post)}\n`)
    expect(run('judge', 'posts.jsonl', '--protocol', 'rumor')).toMatchObject({ status: 0 })
    const demo = run('demo')
    expect(demo.stdout).toMatch(/lost 0, conflicting 0/)
    expect(demo.status).toBe(0)
  }, 300_000)

  it('has written nothing into itself', () => {
    expect(written(installed)).toEqual(before)
  })
})
