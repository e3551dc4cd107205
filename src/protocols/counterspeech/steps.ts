import { neutralized } from '../../domain/neutralized.ts'
import { ASPECTS, type Aspect } from './aspects.ts'
import type { CounterspeechSettings } from './settings.ts'

/** The folder of steps for no particular model. */
const DEFAULT = 'default'

/** Evaluation steps by aspect, and which of them replace calibrated ones, in words. */
export interface Steps {
  readonly texts: ReadonlyMap<Aspect, string>
  readonly degraded: readonly string[]
}

/**
 * The steps that `settings` asks for, from the files under `config/steps/`: the model's own, or else the shipped ones;
 * `degraded` says so if calibrated ones were asked for. None if the scorer gets no steps, or writes its own. Throws one
 * error that names every fault in the files.
 */
export function readSteps(
  settings: Pick<CounterspeechSettings, 'steps' | 'stepsFor'>,
  files: (folder: string) => ReadonlyMap<string, string>,
): Steps {
  const texts = new Map<Aspect, string>()
  const degraded: string[] = []
  const faults: string[] = []
  if (settings.steps === 'zero-shot' || settings.steps === 'model-written') return { texts, degraded }
  const ours = files(`steps/${DEFAULT}`)
  const theirs = settings.stepsFor === DEFAULT ? new Map<string, string>() : files(`steps/${settings.stepsFor}`)
  for (const aspect of ASPECTS) {
    const file = `${aspect}.md`
    const calibrated = theirs.get(file)
    const text = withoutComment(calibrated ?? ours.get(file) ?? '')
    if (text !== '') texts.set(aspect, text)
    else
      faults.push(`config/steps/${calibrated === undefined ? DEFAULT : settings.stepsFor}/${file}: there are no steps`)
    if (settings.steps === 'calibrated' && calibrated === undefined)
      degraded.push(`no calibrated steps for ${aspect} (stepsFor: ${settings.stepsFor}); the shipped ones were used`)
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return { texts, degraded }
}

/** Steps that a model has written, as one text. They are instructions to be followed, so they are not fenced. */
export function numbered(steps: readonly string[]): string {
  return steps.map((step, index) => `${index + 1}. ${neutralized(step.replace(/\s+/g, ' '))}`).join('\n')
}

/** A file without the comment at its beginning, which is for people. */
function withoutComment(file: string): string {
  return file.replace(/^\s*<!--[\s\S]*?-->/, '').trim()
}
