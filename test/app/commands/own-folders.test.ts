import { expect, it } from 'vitest'
import { ownFolders } from '../../../src/app/commands/run.ts'

it('folders of variants are watched beside the protocols’ own', () => {
  const hate = { enabled: true, policiesPath: './policies', variants: { next: { ramp: 0, policiesPath: './next' } } }
  const protocols = { hate, rumor: { enabled: false, promptsPath: './prompts', variants: {} } }
  expect(ownFolders({ protocols } as Parameters<typeof ownFolders>[0])).toEqual(['./policies', './next', './prompts']) // As far as it reads them.
})
