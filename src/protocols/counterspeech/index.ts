import { isBlank } from '../../contracts/facts/blank.ts'
import type { ReadingGuide } from '../../contracts/facts/reading.ts'
import { snapshot } from '../../contracts/facts/thread.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { DECISION_FOLDER, decisionPrompt } from '../decision-prompt.ts'
import { both } from '../faults.ts'
import type { AnsweredTurn, CalibrationParts, ProtocolParts } from '../kind.ts'
import { answersBySpeaker } from '../per-speaker-answers.ts'
import { readPrompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { aspectAnswerIn, scoreIn } from './answers.ts'
import { readAspects, scalesOf, UNIFIED } from './aspects.ts'
import { CALIBRATION_PROMPTS, stepsCalibration } from './calibration.ts'
import { COUNTERSPEECH_PROMPTS } from './questions.ts'
import { autoCsEval, mostCalls } from './script.ts'
import { type CounterspeechSettings, counterspeechSettings } from './settings.ts'
import { stepsFrom } from './steps.ts'

/** Raise this whenever the script's rounds or its asks change shape. */
const VERSION = 3

/** Auto-CSEval (how good a reply to hate speech is) as a protocol of the engine. */
export const counterspeech = {
  name: 'counterspeech',
  reading: {
    labels: { suitable: 'A good answer to the hateful text.', unsuitable: 'No good answer to the hateful text.' },
    tells: ({ [UNIFIED]: unified }) =>
      unified === undefined
        ? []
        : [`All in all ${Math.round(unified * 100) / 100}, from 1 (a bad answer) to 5 (a good one).`],
    voices: 'score',
  } satisfies ReadingGuide,
  roles: ['scorer', 'steps-writer'],
  folders: ['aspects'],
  settings: counterspeechSettings.schema,
  paperModels: { roles: { scorer: 'gpt-4', 'steps-writer': 'gpt-4' } },
  savings: counterspeechSettings.savings,
  setByPaper: counterspeechSettings.setByPaper,
  ablations: {
    'zero-shot': { steps: 'zero-shot' },
    'model-written steps': { steps: 'model-written' },
    'shipped steps': { steps: 'shipped', stepsFor: 'default' },
  },
  voices: (turns: readonly AnsweredTurn[]) =>
    answersBySpeaker(turns, 'score', scoreIn, (answer, _, name) => scoreIn(aspectAnswerIn(answer, name))),
  make(parts: ProtocolParts) {
    const { settings, prompts, decided, aspects, steps } = filesOf(parts)
    const { fence } = parts
    const protocol: Protocol = {
      name: 'counterspeech',
      version: VERSION,
      stages: ['steps', 'score'],
      subject: 'reply',
      accepts: ({ text, hateSpeech }) => !isBlank(text) && !isBlank(hateSpeech ?? ''),
      mostCalls: () => mostCalls(settings, aspects.list.length),
      paper: { calls: 4, depth: 1, of: 'Auto-CSEval: four aspects' },
      faithful: settings.preset === 'paper',
      labels: [],
      peopleLabels: ['suitable', 'unsuitable'],
      decides: ['scores'],
      scales: scalesOf(aspects.list),
      steps: Object.fromEntries(steps.used),
      promptsHash: shortHash([
        prompts.hash,
        aspects.hash,
        ...steps.texts,
        ...(decided === undefined ? [] : [decided.hash]),
      ]),
      settingsHash: hashOf(settings),
      script: (subject) =>
        autoCsEval(snapshot.parse(subject), { settings, aspects: aspects.list, steps, prompts, decided, fence }),
    }
    return protocol
  },
  calibration(name: string, parts: CalibrationParts) {
    const { settings, prompts, aspects, steps } = filesOf(parts)
    const aspect = aspects.list.find((one) => one.name === name)
    if (aspect === undefined)
      throw new Error(
        `there is no aspect ${name}, but ${aspects.list.map((one) => one.name).join(', ')}; one of your own is named in protocols.counterspeech.aspects`,
      )
    return stepsCalibration(aspect, {
      settings,
      prompts,
      fence: parts.fence,
      stepsNow: steps.texts.get(name),
      sourceNow: steps.texts.has(name) ? (steps.used.get(name)?.source ?? 'none') : 'none',
      calibrationPrompts: readPrompts(parts.calibrationPrompts, CALIBRATION_PROMPTS, settings.preset),
    })
  },
}

/** The protocol's settings with its prompts, aspects and steps; throws one error that names every fault in its files. */
function filesOf({
  settings: given,
  prompts: files,
  files: folder,
}: Pick<ProtocolParts, 'settings' | 'prompts' | 'files'>) {
  const settings = counterspeechSettings.parse(given)
  const [prompts, { aspects, steps }] = both(
    () => readPrompts(files, COUNTERSPEECH_PROMPTS, settings.preset),
    () => {
      const aspects = readAspects(settings.aspects, folder, settings.preset)
      return { aspects, steps: stepsFrom(settings, aspects.list, folder) }
    },
  )
  const isDecided = settings.scoresBy === 'decider'
  const decided = isDecided ? decisionPrompt(folder(DECISION_FOLDER), 'score', ['criterion', 'steps?']) : undefined
  return { settings, prompts, decided, aspects, steps }
}

/** What 0.2.0 did not have changes nothing of what is stored while it is not set. */
function hashOf({ scoresBy, ...others }: CounterspeechSettings): string {
  return shortHash({ ...others, ...(scoresBy === 'scorer' ? {} : { scoresBy }) })
}
