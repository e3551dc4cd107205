import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../config/load.ts'
import { nodeEnvironment, nodeFlags } from '../src/platform/node-flags.js'

test('a process of the service has bounded memory, unless somebody set bounds of their own', () => {
  expect(nodeFlags()).toContain('--max-old-space-size=192')
  expect(nodeFlags('--max-old-space-size=4096').join(' ')).not.toMatch(/size|growing/)
  // What these hold grows with the topics that they read.
  for (const name of ['recover', 'judge-again', 'record', 'verdicts'])
    expect(nodeFlags('', [name, '--dry-run']).join(' ')).not.toMatch(/size|growing/)
  expect(nodeFlags('', ['--config', 'own.yaml', 'recover']).join(' ')).not.toMatch(/size|growing/)
  expect(nodeFlags('', ['run', '--roles', 'record'])).toContain('--max-old-space-size=192')
  expect(nodeEnvironment({ PATH: '/bin' })).toMatchObject({ PATH: '/bin', MALLOC_ARENA_MAX: '1' })
  expect(nodeEnvironment({ MALLOC_ARENA_MAX: '8' })).toMatchObject({ MALLOC_ARENA_MAX: '8' })
})

test('what Node has compiled is kept for the next start, unless somebody keeps it elsewhere', () => {
  const folder = nodeEnvironment({}).NODE_COMPILE_CACHE ?? ''
  expect(folder).toBe(join(import.meta.dirname, '..', 'node_modules', '.cache', 'gavel'))
  expect(nodeEnvironment({ NODE_COMPILE_CACHE: '/elsewhere' }).NODE_COMPILE_CACHE).toBe('/elsewhere')
  // The tests' own runner keeps what it compiles elsewhere.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const help = spawnSync(process.execPath, [join(import.meta.dirname, '..', 'src', 'launch.js'), '--help'], {
    encoding: 'utf8',
    env,
  })
  expect(help.stdout).toContain('Usage: gavel')
  expect(readdirSync(folder, { recursive: true }).length).toBeGreaterThan(10)
})

test('the images that are kept fit into it, each once more while its call is under way', () => {
  const most = Number(/--max-old-space-size=(\d+)/.exec(nodeFlags().join(' '))?.[1]) * 2 ** 20
  expect(2 * loadSettings({}).images.keepBytes).toBeLessThan(0.4 * most)
})
