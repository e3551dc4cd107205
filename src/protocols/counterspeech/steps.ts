import { isAbsolute, join, resolve } from 'node:path'
import { didYouMean } from '../../contracts/facts/did-you-mean.ts'
import { neutralized } from '../../contracts/facts/neutralized.ts'
import { readSteps, type UsedSteps } from '../../contracts/facts/steps.ts'
import { shortHash } from '../short-hash.ts'
import type { Aspect } from './aspects.ts'
import type { CounterspeechSettings } from './settings.ts'

/** The folder of steps for no particular model. */
const DEFAULT = 'default'

/** Evaluation steps by aspect, where they come from, and what is wrong with that, in words. */
export interface Steps {
  readonly texts: ReadonlyMap<string, string>
  readonly used: ReadonlyMap<string, UsedSteps>
  readonly degraded: readonly string[]
}

/**
 * The steps that `settings` asks for: those of `stepsFor`, or else the shipped ones; `degraded` names it if calibrated ones were
 * asked for, and where an aspect has none at all. None if the scorer gets no steps, or writes its own. Throws one error
 * that names every fault in the files: no steps in one, or steps that were found for another aspect or scale.
 */
export function stepsFrom(
  settings: Pick<CounterspeechSettings, 'steps' | 'stepsFor'>,
  aspects: readonly Aspect[],
  files: (folder: string) => ReadonlyMap<string, string>,
): Steps {
  const texts = new Map<string, string>()
  const used = new Map<string, UsedSteps>()
  const degraded: string[] = []
  const faults: string[] = []
  if (settings.steps === 'zero-shot' || settings.steps === 'model-written') {
    const source = settings.steps === 'zero-shot' ? 'none' : 'model-written'
    return { texts, used: new Map(aspects.map(({ name }) => [name, { source }])), degraded }
  }
  const { stepsFor } = settings
  const [shipped, own] = [`steps/${DEFAULT}`, stepsFor.includes('/') ? resolve(stepsFor) : `steps/${stepsFor}`]
  const [ours, theirs] = [files(shipped), own === shipped ? new Map<string, string>() : files(own)]
  if (isAbsolute(own) && theirs.size === 0) faults.push(`${own}: holds no steps, and the setting stepsFor names it`)
  const readable = new Set([...ours.keys(), ...aspects.map(({ name }) => `${name}.md`)])
  if (isAbsolute(own))
    for (const name of theirs.keys())
      if (!readable.has(name))
        faults.push(`${join(own, name)}: nothing reads a file of this name.${didYouMean(name, readable)}`)
  for (const aspect of aspects) {
    const file = `${aspect.name}.md`
    const found = theirs.get(file)
    const whole = found ?? ours.get(file)
    const folder = found === undefined ? shipped : own
    const path = join(isAbsolute(folder) ? '' : 'config', folder, file)
    if (settings.steps === 'calibrated' && found === undefined)
      degraded.push(
        `no calibrated steps for ${aspect.name} (stepsFor: ${stepsFor})${whole === undefined ? '' : '; the shipped ones were used'}`,
      )
    if (whole === undefined) {
      used.set(aspect.name, { source: 'none' })
      if (settings.steps !== 'calibrated') degraded.push(`no evaluation steps for ${aspect.name}: scored without any`)
      continue
    }
    const { text, header } = readSteps(whole)
    if (text === '') faults.push(`${path}: there are no steps`)
    for (const why of header === null ? [] : misfits(header, aspect)) faults.push(`${path}: ${why}`)
    texts.set(aspect.name, text)
    used.set(aspect.name, usedAs(found === undefined ? 'shipped' : 'own', text, header))
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return { texts, used, degraded }
}

/** What steps that were found for something else say of themselves. */
function misfits(header: ReadonlyMap<string, string>, { name, lowest, highest }: Aspect): string[] {
  const [aspect, scale] = [header.get('aspect'), header.get('scale')]
  const own = `${lowest} to ${highest}`
  return [
    ...(aspect === undefined || aspect === name ? [] : [`these steps were found for ${aspect}`]),
    ...(scale === undefined || scale === own
      ? []
      : [`these steps were found on a scale of ${scale}; that of ${name} is ${own}`]),
  ]
}

function usedAs(source: 'shipped' | 'own', text: string, header: ReadonlyMap<string, string> | null): UsedSteps {
  const of = (key: keyof UsedSteps, name: string = key) => {
    const value = header?.get(name)
    return value === undefined ? {} : { [key]: value }
  }
  return {
    source: header === null ? source : 'calibrated',
    digest: shortHash(text),
    ...of('model'),
    ...of('answeredAs', 'answered as'),
    ...of('ratings'),
    ...of('date'),
  }
}

/** Steps that a model has written, as one text; those without a word are left out. They are to be followed, so they are not fenced. */
export function numbered(steps: readonly string[]): string {
  return steps
    .map((step) => neutralized(step.replace(/\s+/g, ' ')).trim())
    .filter((step) => step !== '')
    .map((step, index) => `${index + 1}. ${step}`)
    .join('\n')
}
