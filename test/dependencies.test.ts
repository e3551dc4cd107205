import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { PROJECT } from '../config/load.ts'

const read = (file: string): unknown => JSON.parse(readFileSync(join(PROJECT, file), 'utf8'))
const manifest = z
  .object({
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(read('package.json'))
const lock = z
  .object({
    lockfileVersion: z.literal(3),
    packages: z.record(
      z.string(),
      z.object({
        version: z.string().optional(),
        resolved: z.string().optional(),
        integrity: z.string().optional(),
        os: z.array(z.string()).optional(),
        license: z.string().optional(),
        dev: z.boolean().default(false),
        optional: z.boolean().default(false),
        link: z.boolean().default(false),
        hasInstallScript: z.boolean().default(false),
        engines: z.object({ node: z.string().default('*') }).default({ node: '*' }),
      }),
    ),
  })
  .parse(read('package-lock.json'))
/** Every package that a machine may get, by its folder. */
const packages = Object.entries(lock.packages).filter(([folder]) => folder !== '')
const nameOf = (folder: string) => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
const isHere = (folder: string) => existsSync(join(PROJECT, folder, 'package.json'))

it('every direct dependency is pinned to one version', () => {
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
    expect.soft(version, name).toMatch(/^\d+\.\d+\.\d+$/)
})

it('docs/dependencies.md names each direct dependency, and no other', () => {
  const page = readFileSync(join(PROJECT, 'docs/dependencies.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
  const direct = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies }
  expect(named.toSorted()).toEqual(Object.keys(direct).toSorted())
})

it('every package is checked against its hash, but builds for other machines whose hashes could not be had', () => {
  expect(packages.length).toBeGreaterThan(100)
  const unchecked = packages.filter(([, { integrity }]) => integrity === undefined)
  for (const [folder, one] of unchecked) {
    expect.soft(isHere(folder), folder).toBe(false)
    expect.soft(one, folder).toMatchObject({ optional: true, os: [expect.any(String)] })
    expect.soft(one.resolved, folder).toBeUndefined()
  }
  // npm ci takes a lock file only with a place for each of them; docs/threat-model.md says how to fill it. No more of them.
  expect(unchecked.length).toBeLessThanOrEqual(32)
  for (const [folder, { integrity = 'sha512-', link }] of packages) {
    expect.soft(link, folder).toBe(false)
    expect.soft(integrity, folder).toMatch(/^sha512-/)
  }
})

it('the lock file names no host: packages come from wherever npm is set to, and their hashes are checked', () => {
  for (const [folder, { resolved }] of packages) expect.soft(resolved, folder).toBeUndefined()
})

// Whatever npm runs under. An optional package that does not list it in its engines is left out in silence, and with it the
// native part of a package that lists it or is merely warned about.
it('npm leaves no optional package out for the Node that it runs under', () => {
  const optional = packages.filter(([, one]) => one.optional)
  expect(optional.length).toBeGreaterThan(20)
  for (const [folder, { engines }] of optional)
    for (const version of ['20.19.0', '20.20.2', '22.18.0', '24.0.0', '24.21.0'])
      expect.soft(allows(engines.node, version), `${folder}, ${engines.node}, under ${version}`).toBe(true)
})

it('no package runs a script when it is installed, but those that were looked at', () => {
  const scripted = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([folder]) => nameOf(folder))
  expect(scripted.filter((name) => manifest.allowScripts[name] === undefined)).toEqual([])
  expect(Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed)).toEqual([['node', true]])
})

it('what the service runs on is under licences that let anybody use it', () => {
  const free = new Set(['MIT', 'Apache-2.0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Unlicense'])
  const runtime = packages.filter(([folder, { dev }]) => !dev && isHere(folder))
  expect(runtime.length).toBeGreaterThan(50)
  for (const [folder, { license = formerly(folder) }] of runtime)
    expect.soft(free, `${folder}: ${license}`).toContain(license)
})

/** Whether a range of versions, of the few forms that engines are written in here, holds this one. */
function allows(range: string, version: string): boolean {
  const number = (parts: string) => {
    const [major = 0, minor = 0, patch = 0] = parts.split('.').map(Number)
    return (major * 1_000 + minor) * 1_000 + patch
  }
  return range.split('||').some((one) => {
    const [, sign, from = ''] = /^(\*|>=|\^|) *([\d.]*)$/.exec(one.trim()) ?? []
    if (sign === undefined) throw new Error(`the range ${range} is of a form that is not read here`)
    if (sign === '*') return true
    const sameMajor = from.split('.')[0] === version.split('.')[0]
    return number(version) >= number(from) && (sign === '>=' || sameMajor)
  })
}

/** The licence in the form that npm's manifests had until 2015. */
function formerly(folder: string): string | undefined {
  const { licenses } = z
    .object({ licenses: z.tuple([z.object({ type: z.string() })]).optional() })
    .parse(read(`${folder}/package.json`))
  return licenses?.[0].type
}
