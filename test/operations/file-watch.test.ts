import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { fileWatch } from '../../src/operations/file-watch.ts'
import { ownFolder } from '../support/own-folder.ts'

it('tells of a changed file, of one that is new in a folder and of one that is gone, once each, when they have stayed so', () => {
  const folder = ownFolder('watch')
  const [file, prompts] = [join(folder, 'gavel.yaml'), join(folder, 'prompts')]
  writeFileSync(file, 'name: a\n')
  mkdirSync(prompts)
  const changed = vi.fn()
  const { poll } = fileWatch(() => [file, prompts], changed)
  poll()
  poll()
  expect(changed).not.toHaveBeenCalled()
  writeFileSync(file, 'name: other\n')
  poll()
  expect(changed).not.toHaveBeenCalled()
  writeFileSync(join(prompts, 'judge.md'), 'Decide.\n')
  poll()
  expect(changed).not.toHaveBeenCalled()
  for (let n = 0; n < 3; n++) poll()
  expect(changed).toHaveBeenCalledTimes(1)
  renameSync(file, `${file}.away`)
  for (let n = 0; n < 3; n++) poll()
  expect(changed).toHaveBeenCalledTimes(2)
})

it('tells of a mounted ConfigMap that was replaced: only the link to its folder is another one', () => {
  const folder = ownFolder('watch')
  for (const [name, text] of [
    ['..1', 'name: a\n'],
    ['..2', 'name: b\n'],
  ] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'gavel.yaml'), text)
  }
  symlinkSync('..1', join(folder, '..data'))
  symlinkSync('..data/gavel.yaml', join(folder, 'gavel.yaml'))
  const changed = vi.fn()
  const { poll } = fileWatch(() => [join(folder, 'gavel.yaml')], changed)
  symlinkSync('..2', join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  poll()
  poll()
  expect(changed).toHaveBeenCalledTimes(1)
})

it('tells of what can’t be looked at, and of what can be again, and throws nothing', () => {
  const folder = ownFolder('watch')
  const file = join(folder, 'gavel.yaml')
  writeFileSync(file, 'name: a\n')
  const changed = vi.fn()
  const { poll } = fileWatch(() => [file, folder], changed)
  unlinkSync(file)
  // A link to itself: ELOOP, which is no absence.
  symlinkSync('gavel.yaml', file)
  for (let n = 0; n < 3; n++) poll()
  expect(changed).toHaveBeenCalledTimes(1)
  unlinkSync(file)
  writeFileSync(file, 'name: a\n')
  for (let n = 0; n < 3; n++) poll()
  expect(changed).toHaveBeenCalledTimes(2)
})

it('goes by the paths that there are now', () => {
  const folder = ownFolder('watch')
  const [one, other] = [join(folder, 'one'), join(folder, 'other')]
  for (const path of [one, other]) mkdirSync(path)
  let path = one
  const changed = vi.fn()
  const { poll } = fileWatch(() => [path], changed)
  path = other
  for (let n = 0; n < 3; n++) poll()
  changed.mockClear()
  writeFileSync(join(other, 'judge.md'), 'Decide.\n')
  for (let n = 0; n < 3; n++) poll()
  expect(changed).toHaveBeenCalledTimes(1)
})
