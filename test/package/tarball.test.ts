import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PROJECT } from '../../config/load.ts'
import { commandsIn } from '../clone/commands.ts'
import { ownFolder } from '../support/own-folder.ts'

const manifest = z
  .object({ name: z.string(), version: z.string(), peerDependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')))
const { packages } = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        version: z.string().optional(),
        dev: z.boolean().default(false),
        devOptional: z.boolean().default(false),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')))
const npm = join(dirname(process.execPath), 'npm')
const PATH = [dirname(process.execPath), ...(process.env.PATH ?? '').split(delimiter)].join(delimiter)

const RELEASE = join(PROJECT, 'src/kit/release/main.ts')

it('a release is made of no tree in which a file is not committed, and its name is said', () => {
  const clone = ownFolder('unclean')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { cwd: clone })
  for (const name of ['changed.ts', 'kept.ts']) writeFileSync(join(clone, name), '')
  writeFileSync(join(clone, '.gitignore'), 'ignored\n')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  writeFileSync(join(clone, 'changed.ts'), 'x')
  for (const name of ['new.ts', 'ignored']) writeFileSync(join(clone, name), '')
  mkdirSync(join(clone, 'out'))
  writeFileSync(join(clone, 'out', 'made.tgz'), '')
  const { status, stderr } = spawnSync(process.execPath, [RELEASE, 'out', 'key'], { cwd: clone, encoding: 'utf8' })
  expect([status, stderr.split('\n').slice(1, -1)]).toEqual([1, [' M changed.ts', '?? new.ts']])
  expect(readdirSync(join(clone, 'out'))).toEqual(['made.tgz'])
})

/**
 * What `npm run release` makes, its package unpacked into an empty project beside what an installation brings: the packages outside development.
 * `npm run proof -- installed` installs it for real, with every command, under three versions of Node.
 */
describe('the package', () => {
  const folder = join(ownFolder('package'), 'with a space')
  const installed = join(folder, 'node_modules', 'gavel-debate')
  const release = join(folder, 'release')
  let [files, before, archive]: [string[], string[], string] = [[], [], '']

  /** The program as somebody without a home runs it. */
  const gavel = (...args: string[]) =>
    spawnSync(process.execPath, [join(installed, 'src', 'launch.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH, XDG_CACHE_HOME: join(folder, 'cache') },
    })
  const written = () =>
    readdirSync(installed, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => `${path} ${statSync(path).mtimeMs}`)
      .sort()

  beforeAll(() => {
    mkdirSync(installed, { recursive: true })
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'a test', '-f', join(folder, 'key')])
    // Of whatever stands here now.
    execFileSync(process.execPath, [RELEASE, release, join(folder, 'key'), '--try'], {
      cwd: PROJECT,
      env: { ...process.env, PATH },
    })
    archive = join(release, `${manifest.name}-${manifest.version}.tgz`)
    files = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''))
    execFileSync('tar', ['-xzf', archive, '-C', installed, '--strip-components=1'])
    for (const [path, { dev }] of Object.entries(packages)) {
      const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? []
      if (name === undefined || dev || !existsSync(join(PROJECT, path))) continue
      mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
      symlinkSync(join(PROJECT, path), join(folder, 'node_modules', name))
    }
    before = written()
  })

  it('holds the program and what it reads, and nothing else', () => {
    for (const needed of [
      'src/launch.js',
      'dist/src/main.js',
      'config/gavel.yaml',
      'config/prompts/rumor/stance.md',
      'LICENSE',

      'dist/src/store/thread/put-comments.lua',
      'dist/src/console/assets/console.js',
      'grafana/dashboards/overview.json',
      'config/kafka/pom.xml',
      'config/schemas/verdicts.schema.json',
      'config/schemas/asyncapi.json',
    ])
      expect(files).toContain(needed)
    for (const needed of [
      'client/client.js',
      'client/client.d.ts',
      'client/messages.d.ts',
      'contracts/facts/verdict.d.ts',
    ])
      expect(files).toContain(`dist/src/${needed}`)
    const others = files.filter((path) => !/^dist\/src\/(client|contracts\/facts)\/[^/]+\.d\.ts$/.test(path))
    expect(others.filter((path) => /(^|\/)test\/|\.ts$|\.map$|\.log$|^\.|grafana\/code/.test(path))).toEqual([])
  })

  it('comes with a bill of materials, sums of both, and a signature that the releaser’s key alone makes', () => {
    const [name, bill] = [`${manifest.name}-${manifest.version}.tgz`, `${manifest.name}-${manifest.version}.cdx.json`]
    expect(readdirSync(release).sort()).toEqual(['SHA256SUMS', 'SHA256SUMS.sig', bill, name].sort())
    const { specVersion, metadata, components } = z
      .object({
        specVersion: z.string(),
        metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
        components: z.array(z.object({ name: z.string(), version: z.string(), purl: z.string() })),
      })
      .parse(JSON.parse(readFileSync(join(release, bill), 'utf8')))
    expect([specVersion, metadata.component]).toEqual(['1.5', { name: manifest.name, version: manifest.version }])
    const brought = Object.entries(packages).filter(
      ([path, { dev, devOptional }]) => path !== '' && !(dev || devOptional),
    )
    expect(components.map((one) => `${one.name}@${one.version}`).sort()).toEqual(
      [...new Set(brought.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`))].sort(),
    )
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['zod', 'pg', 'openai', '@energetic-ai/core']),
    )

    // The lines of docs/releases.md, in the folder where a reader has put the files.
    const lines = commandsIn('docs/releases.md')
      .map(({ script }) => script)
      .filter((line) => /^(?:ssh-keygen|sha256sum)/.test(line))
    expect(lines).toHaveLength(2)
    const checked = () => lines.map((line) => spawnSync('sh', ['-c', line], { cwd: release, encoding: 'utf8' }).status)
    const trusted = (key: string) => {
      const [kind, base64] = readFileSync(`${key}.pub`, 'utf8').split(' ')
      writeFileSync(join(release, 'allowed_signers'), `releases@gavel ${kind} ${base64}\n`)
    }
    trusted(join(folder, 'key'))
    expect(checked()).toEqual([0, 0])
    appendFileSync(join(release, bill), ' ')
    expect(checked()).toEqual([0, 1])
    appendFileSync(join(release, 'SHA256SUMS'), '\n')
    expect(checked()[0]).not.toBe(0)
    writeFileSync(join(release, 'SHA256SUMS'), readFileSync(join(release, 'SHA256SUMS'), 'utf8').trimEnd().concat('\n'))
    expect(checked()[0]).toBe(0)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'other')])
    trusted(join(folder, 'other'))
    expect(checked()[0]).not.toBe(0)
  })

  it('would be published as it is', () => {
    // Nobody is asked: npm itself says whether it would take it.
    const nobody = ['--registry', 'http://127.0.0.1:9/', '--fetch-retries', '0']
    const { status, stdout, stderr } = spawnSync(
      existsSync(npm) ? npm : 'npm',
      ['publish', archive, '--dry-run', '--json', ...nobody],
      { cwd: folder, encoding: 'utf8', env: { ...process.env, PATH } },
    )
    expect(stderr).not.toMatch(/npm (error|ERR)|auto-corrected/)
    expect(status).toBe(0)
    // Some versions of npm put it under the package's name.
    const said = z.record(z.string(), z.unknown()).parse(JSON.parse(stdout))
    expect(said[manifest.name] ?? said).toMatchObject({
      name: manifest.name,
      version: manifest.version,
      files: expect.objectContaining({ length: files.length }),
    })
  })

  it('says its version and its commands, without a home and from a path with a space', () => {
    expect(gavel('--version')).toMatchObject({ status: 0, stdout: `${manifest.version}\n` })
    expect(gavel('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('Usage: gavel') })
  })

  it('judges a file', () => {
    const post = { type: 'post', id: 'p1', text: 'The old bridge has collapsed.', createdAt: '2026-06-15T15:06:40Z' }
    writeFileSync(join(folder, 'posts.jsonl'), `${JSON.stringify(post)}\n`)
    const { status, stdout, stderr } = gavel('judge', 'posts.jsonl', '--protocol', 'rumor', '--json')
    expect(stderr).not.toMatch(/unexpected|Cannot find/)
    expect(status).toBe(0)
    expect(stdout).toContain('"subjectId":"p1"')
  })

  it('names the packages that shelves need where these are missing, in the versions that it was tried with', () => {
    const wanted = Object.entries(manifest.peerDependencies).map(([name, version]) => `${name}@${version}`)
    const line = `npm install ${wanted.join(' ')}`
    writeFileSync(join(folder, 'shelf.jsonl'), '{"text":"A text.","label":"offensive"}\n')
    const importing = gavel('library', 'import', 'shelf.jsonl', '--shelf', 'kold')
    expect(importing.status).toBe(1)
    expect(importing.stderr).toContain(line)
    expect(importing.stderr).not.toContain('unexpected')
    expect(gavel('doctor').stdout).toContain(line)
  })

  it('has written nothing into itself meanwhile', () => {
    expect(written()).toEqual(before)
    expect(existsSync(join(folder, 'cache', 'gavel', 'compiled'))).toBe(true)
  })
})
