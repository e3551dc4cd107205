import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadFiles, loadSettings } from '../../config/load.ts'
import { makeProtocols, promptsOf } from '../../src/app/composition/make-protocols.ts'
import { fences } from '../../src/contracts/facts/fence.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import { ownFolder } from '../support/own-folder.ts'

/** A folder with these files. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = join(ownFolder('layered'), 'mine')
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** The protocols under these settings of one; the hash of its prompts tells which files it has. */
function made(protocol: string, own: object) {
  const file = join(ownFolder('layered'), 'mine.yaml')
  writeFileSync(file, JSON.stringify({ protocols: { [protocol]: own } }))
  const protocols = makeProtocols(loadSettings({}, file).protocols, fences('x', 100), samplingRanks('x'))
  const [found] = protocols.filter(({ name }) => name === protocol)
  if (found === undefined) throw new Error(protocol)
  return found
}

describe('a team’s files', () => {
  const stance = promptsOf('rumor').get('stance') ?? ''

  it('are laid over the shipped prompts file by file, and count as other prompts, not as other settings', () => {
    const shipped = made('rumor', {})
    const changed = made('rumor', {
      promptsPath: folderOf({ 'stance.md': `${stance}\nBe brief.`, 'README.md': 'Ours.' }),
    })
    expect(changed.promptsHash).not.toBe(shipped.promptsHash)
    expect(changed.settingsHash).toBe(shipped.settingsHash)
    expect(made('rumor', { promptsPath: folderOf({ 'stance.md': stance }) }).promptsHash).toBe(shipped.promptsHash)
  })

  it('may be links, as those of a mounted ConfigMap are', () => {
    const mounted = ownFolder('mounted')
    mkdirSync(join(mounted, '..2026_11_26'))
    writeFileSync(join(mounted, '..2026_11_26', 'stance.md'), `${stance}\nBe brief.`)
    symlinkSync('..2026_11_26', join(mounted, '..data'))
    symlinkSync(join('..data', 'stance.md'), join(mounted, 'stance.md'))
    expect(made('rumor', { promptsPath: mounted }).promptsHash).toBe(
      made('rumor', { promptsPath: folderOf({ 'stance.md': `${stance}\nBe brief.` }) }).promptsHash,
    )
    expect(made('rumor', { promptsPath: mounted }).promptsHash).not.toBe(made('rumor', {}).promptsHash)
  })

  it('are laid over perspectives and aspects, too, and may be new ones that the settings list', () => {
    const kold = loadFiles('perspectives').get('kold.yaml') ?? ''
    const shipped = made('hate', { debateWhen: 'contested', perspectives: ['kold'] })
    const changed = folderOf({ 'kold.yaml': kold.replace(/title: .*/, 'title: Ours') })
    expect(
      made('hate', { debateWhen: 'contested', perspectives: ['kold'], perspectivesPath: changed }).promptsHash,
    ).not.toBe(shipped.promptsHash)
    const added = folderOf({ 'house-rules.yaml': kold.replace(/title: .*/, 'title: House rules') })
    expect(made('hate', { debateWhen: 'contested', perspectives: ['house-rules'], perspectivesPath: added }).name).toBe(
      'hate',
    )
    const aspect = loadFiles('aspects').get('relevance.yaml') ?? ''
    expect(made('counterspeech', { aspectsPath: folderOf({ 'relevance.yaml': aspect }) }).promptsHash).toBe(
      made('counterspeech', {}).promptsHash,
    )
  })

  it('are an error where nothing reads a file of that name, with the name that was probably meant', () => {
    const wrong = folderOf({ 'stanse.md': stance })
    expect(() => made('rumor', { promptsPath: wrong })).toThrow(
      `${join(wrong, 'stanse.md')}: nothing reads a file of this name. Did you mean "stance.md"?`,
    )
    const unlisted = folderOf({ 'kolt.yaml': 'title: x' })
    expect(() => made('hate', { perspectivesPath: unlisted })).toThrow('Did you mean "kold.yaml"?')
    const steps = folderOf({ 'relevanse.md': '1. Read both.' })
    expect(() => made('counterspeech', { stepsFor: steps })).toThrow('Did you mean "relevance.md"?')
  })

  it('are an error where there are none', () => {
    expect(() => made('rumor', { promptsPath: join(ownFolder('layered'), 'nowhere') })).toThrow('holds no file')
    expect(() => made('rumor', { promptsPath: folderOf({}) })).toThrow('holds no file')
  })

  it('are only for what a protocol reads', () => {
    expect(() => made('rumor', { perspectivesPath: '.' })).toThrow('perspectivesPath')
  })
})
