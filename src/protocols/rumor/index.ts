import { createHash } from 'node:crypto'
import type { Fence } from '../../domain/fence.ts'
import { snapshot } from '../../domain/thread.ts'
import type { Protocol } from '../../engine/script.ts'
import { readPrompts } from '../prompts.ts'
import { RUMOR_PROMPTS } from './questions.ts'
import { rumorCarry, s2mad } from './script.ts'
import { applyPreset, rumorSettings } from './settings.ts'

/** S2MAD (rumors in breaking events) as a protocol of the engine. */
export const rumor = {
  name: 'rumor',
  settings: rumorSettings,
  make({ settings: given, prompts: files, fence }: { settings: unknown; prompts: ReadonlyMap<string, string>; fence: Fence }) {
    const settings = applyPreset(rumorSettings.parse(given))
    const prompts = readPrompts(files, RUMOR_PROMPTS)
    const protocol: Protocol = {
      name: 'rumor',
      version: 1,
      stages: ['stance', 'subjectivity', 'opinion', 'debate', 'judge'],
      subject: 'thread',
      labels: ['rumor', 'non-rumor'],
      promptsHash: prompts.hash,
      settingsHash: createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16),
      script: (subject, carry) =>
        s2mad(snapshot.parse(subject), carry === null || carry === undefined ? null : rumorCarry.parse(carry), {
          settings,
          prompts,
          fence,
        }),
    }
    return protocol
  },
}
