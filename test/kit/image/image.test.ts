import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { PROJECT } from '../../../config/load.ts'
import { billOfMaterials } from '../../../src/kit/image/bill.ts'
import { prune } from '../../../src/kit/image/prune.ts'
import { ownFolder } from '../../support/own-folder.ts'

// The image itself is built and run by "npm run proof -- image": here is what can be seen without a builder of images.

const text = (name: string) => readFileSync(join(PROJECT, name), 'utf8')
const instructions = text('Containerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const stage = (nth: number) => instructions.join('\n').split(/^FROM .*$/m)[nth] ?? ''

describe('the Containerfile', () => {
  test('needs no shell in what it ships, runs as nobody in particular, and ends by the signal that the service drains on', () => {
    const shipped = stage(2)
    expect(shipped).not.toMatch(/^RUN /m)
    expect(shipped).toMatch(/^USER 10001:10001$/m)
    expect(shipped).toMatch(/^STOPSIGNAL SIGTERM$/m)
    for (const line of shipped.split('\n').filter((one) => /^(?:ENTRYPOINT|CMD|HEALTHCHECK)/.test(one)))
      expect(line).toMatch(/\[.*\]$/)
  })

  test('builds on the Node that the package was tried with', () => {
    const { devDependencies } = z
      .object({ devDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(text('package.json')))
    expect(instructions[0]).toBe(`ARG BUILD=node:${devDependencies.node}`)
  })

  test('is given no secret, and nothing that was made before', () => {
    const ignored = text('.dockerignore').split('\n')
    expect(ignored).toEqual(expect.arrayContaining(['.env*', '.git', '.gavel', 'node_modules', 'dist']))
  })
})

describe('packages for the image', () => {
  function packagesOf(files: readonly string[]): string {
    const folder = ownFolder('image')
    for (const file of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), 'x'.repeat(10))
    }
    return folder
  }
  const left = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .toSorted()

  test('lose what nothing reads, keep what is read, and licences', () => {
    const kept = [
      'one/LICENSE.md',
      'one/index.js',
      'one/lib/test.js',
      'one/package.json',
      'test/index.js',
      '@a/test/index.mjs',
      'luxon/build/node/luxon.js',
      'luxon/build/es6/luxon.mjs',
    ]
    const gone = [
      'one/index.d.ts',
      'one/index.js.map',
      'one/README.md',
      'one/test/index.js',
      '@a/test/test/x.js',
      'luxon/build/amd/luxon.js',
      'luxon/build/global/luxon.js',
      'luxon/src/luxon.js',
    ]
    const folder = packagesOf([...kept, ...gone, '@energetic-ai/embeddings/index.js'])
    expect(prune(folder, { shelves: true })).toBe(10 * gone.length)
    expect(left(folder)).toEqual([...kept, '@energetic-ai/embeddings/index.js'].toSorted())
    expect(prune(folder, { shelves: false })).toBe(10)
    expect(left(folder)).toEqual(kept.toSorted())
  })

  test('are listed, as the lock file has them, with Node: no more than is there', () => {
    const lock = z
      .object({
        packages: z.record(z.string(), z.object({ version: z.string().optional(), dev: z.boolean().default(false) })),
      })
      .parse(JSON.parse(text('package-lock.json')))
    const { components } = billOfMaterials(PROJECT, (name) => !name.startsWith('@energetic-ai/'), '24.0.0')
    const named = new Set(components.map(({ name, version }) => `${name}@${version}`))
    expect(named).toContain('node@24.0.0')
    expect(named).toContain(`zod@${lock.packages['node_modules/zod']?.version}`)
    expect(named).toContain(`kafkajs@${lock.packages['node_modules/kafkajs']?.version}`)
    for (const name of named) {
      if (name === 'node@24.0.0') continue
      const at = name.lastIndexOf('@')
      const found = Object.entries(lock.packages).some(
        ([path, { version, dev }]) =>
          path.endsWith(`node_modules/${name.slice(0, at)}`) && version === name.slice(at + 1) && !dev,
      )
      expect(found, name).toBe(true)
    }
    expect([...named].filter((name) => name.startsWith('@energetic-ai/') || name.startsWith('vitest@'))).toEqual([])
  })
})
