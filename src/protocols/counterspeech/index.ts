import { snapshot } from '../../domain/thread.ts'
import type { Protocol } from '../../engine/script.ts'
import { both } from '../faults.ts'
import type { CalibrationParts, ProtocolParts } from '../kind.ts'
import { readPrompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { ASPECTS, HIGHEST } from './aspects.ts'
import { CALIBRATION_PROMPTS, stepsCalibration } from './calibration.ts'
import { COUNTERSPEECH_PROMPTS } from './questions.ts'
import { autoCsEval } from './script.ts'
import { applyPreset, counterspeechSettings } from './settings.ts'
import { readSteps } from './steps.ts'

/** Raise this whenever the script's rounds or its asks change shape. */
const VERSION = 1

/** Auto-CSEval (how good a reply to hate speech is) as a protocol of the engine. */
export const counterspeech = {
  name: 'counterspeech',
  settings: counterspeechSettings,
  paperModels: { roles: { scorer: 'gpt-4', 'steps-writer': 'gpt-4' } },
  scales: Object.fromEntries(
    ASPECTS.map((aspect): [string, readonly [number, number]] => [aspect, [1, HIGHEST[aspect]]]),
  ),
  ablations: {
    'zero-shot': { steps: 'zero-shot' },
    'model-written steps': { steps: 'model-written' },
    'shipped steps': { steps: 'shipped' },
  },
  make({ settings: given, prompts: promptFiles, fence, files }: ProtocolParts) {
    const settings = applyPreset(counterspeechSettings.parse(given))
    const [prompts, steps] = both(
      () => readPrompts(promptFiles, COUNTERSPEECH_PROMPTS, settings.preset),
      () => readSteps(settings, files),
    )
    const protocol: Protocol = {
      name: 'counterspeech',
      version: VERSION,
      stages: ['steps', 'score'],
      subject: 'reply',
      accepts: ({ text, hateSpeech }) => text.trim() !== '' && (hateSpeech ?? '').trim() !== '',
      paper: { calls: 4, depth: 1, of: 'Auto-CSEval: four aspects' },
      faithful: settings.preset === 'paper',
      labels: [],
      promptsHash: shortHash([prompts.hash, ...steps.texts]),
      settingsHash: shortHash(settings),
      script: (subject) => autoCsEval(snapshot.parse(subject), { settings, steps, prompts, fence }),
    }
    return protocol
  },
  calibration(
    name: string,
    { settings: given, prompts: promptFiles, calibrationPrompts, fence, files }: CalibrationParts,
  ) {
    const aspect = ASPECTS.find((one) => one === name)
    if (aspect === undefined) throw new Error(`there is no aspect ${name}, but ${ASPECTS.join(', ')}`)
    const settings = applyPreset(counterspeechSettings.parse(given))
    const [prompts, steps] = both(
      () => readPrompts(promptFiles, COUNTERSPEECH_PROMPTS, settings.preset),
      () => readSteps(settings, files),
    )
    return stepsCalibration(aspect, {
      ...{ settings, prompts, fence, stepsNow: steps.texts.get(aspect) },
      calibrationPrompts: readPrompts(calibrationPrompts, CALIBRATION_PROMPTS, settings.preset),
    })
  },
}
