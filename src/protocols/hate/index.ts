import { createHash } from 'node:crypto'
import { snapshot } from '../../domain/thread.ts'
import type { Protocol } from '../../engine/script.ts'
import { both } from '../faults.ts'
import type { ProtocolParts } from '../kind.ts'
import { readPrompts } from '../prompts.ts'
import { readPerspectives } from './perspectives.ts'
import { HATE_PROMPTS } from './questions.ts'
import { predict } from './script.ts'
import { applyPreset, hateSettings } from './settings.ts'

/** Raised whenever the script's rounds or its asks change shape. */
const VERSION = 1

/** PREDICT (hate speech, seen from several perspectives) as a protocol of the engine. */
export const hate = {
  name: 'hate',
  settings: hateSettings,
  make({ settings: given, prompts: files, fence, files: folder }: ProtocolParts) {
    const settings = applyPreset(hateSettings.parse(given))
    const [prompts, perspectives] = both(
      () => readPrompts(files, HATE_PROMPTS),
      () => readPerspectives(folder('perspectives'), settings.perspectives),
    )
    const protocol: Protocol = {
      name: 'hate',
      version: VERSION,
      stages: ['retrieve', 'perspective', 'debate', 'judge'],
      subject: 'post',
      accepts: (post) => post.text.trim() !== '' && post.hateSpeech === undefined,
      paper: { calls: 10, depth: 6, of: 'PREDICT: five perspectives, two rounds, judge' },
      labels: ['hate', 'non-hate'],
      shelves: [...new Set(perspectives.list.map(({ shelf }) => shelf))],
      promptsHash: shortHash(`${prompts.hash} ${perspectives.hash}`),
      settingsHash: shortHash(JSON.stringify(settings)),
      script: (subject) =>
        predict(snapshot.parse(subject), { settings, perspectives: perspectives.list, prompts, fence }),
    }
    return protocol
  },
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
