import { Option } from 'commander'
import type { Settings } from '../../../../config/schema.ts'
import { withFirst, withValueAt } from '../../../../config/settings-file.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { protocolName } from '../../../cli/options.ts'
import { printable } from '../../../cli/terminal.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { variantsSettings } from '../../../protocols/registry.ts'
import { changeSettings } from './settings-change.ts'

/** Who sets a ramp, and whose variant's. */
export interface RampOptions {
  readonly by: string
  readonly protocol?: string
}

/** A variant of the settings, and the part of subjects that it judges. */
export interface VariantRamp {
  readonly protocol: string
  readonly variant: string
  readonly ramp: number
}

/** How the settings file was changed. */
export interface RampChange extends VariantRamp {
  readonly was: number
  /** What each variant of the protocol judges now. */
  readonly judged: readonly JudgedRamp[]
  readonly file: string
}

/** A variant, and the part of all subjects that it judges: of those that it draws, the ones before it have had theirs. */
export interface JudgedRamp extends VariantRamp {
  readonly judges: number
}

/** Every variant of the settings. */
export function rampsIn({ protocols }: Pick<Settings, 'protocols'>): VariantRamp[] {
  return Object.entries(protocols).flatMap(([protocol, own]) =>
    Object.entries(variantsSettings.parse(entryOf(own, 'variants') ?? {})).map(([variant, { ramp }]) => ({
      protocol,
      variant,
      ramp,
    })),
  )
}

/** Every variant of the settings with the part that it judges. Each draws by itself, and the first that draws a subject judges it. */
export function judgedRamps(settings: Pick<Settings, 'protocols'>): JudgedRamp[] {
  return [...Map.groupBy(rampsIn(settings), ({ protocol }) => protocol).values()].flatMap((own) => {
    let left = 1
    return own.map((one) => {
      const judges = left * one.ramp
      left -= judges
      return { ...one, judges }
    })
  })
}

/** A command that sets a variant's ramp in the settings file, and notes who did in the audit. */
export function rampCommand(
  help: string,
  rampOf: (args: readonly string[]) => number | null,
): Command<RampOptions, RampChange> {
  return {
    options: [
      new Option('--by <name>', 'who changes it, for the audit').makeOptionMandatory(),
      new Option('--protocol <name>', 'whose variant, if several protocols have one of this name').argParser(
        protocolName,
      ),
    ],
    json: true,
    help: `It changes the file of --config, and notes that in the audit. Reload each replica then. See docs/policies.md.\n\nExample:\n  $ ${help}`,
    run(invocation) {
      const ramp = rampOf(invocation.args)
      return ramp === null
        ? invocation.misused('Name the variant, and a percentage, as 10%.')
        : setRamp(invocation, ramp)
    },
    print(change, { json, terminal }) {
      if (json) return terminal.out(JSON.stringify(change))
      const { protocol, variant, was, ramp, judged, file } = change
      terminal.out(
        `${protocol}: ${variant} judges ${inPercent(ramp)} of subjects by ${printable(file, 200)}; it was ${inPercent(was)}. Reload each replica (docs/reload.md), unless it runs with --watch, which takes up to ten seconds.`,
      )
      for (const one of judged)
        if (one.variant !== variant && one.ramp > 0)
          terminal.out(`${protocol}: ${printable(one.variant, 60)} judges ${inPercent(one.judges)}.`)
    },
  }
}

/** A part of subjects, as 10%; null where it is none. */
export function percentIn(text = ''): number | null {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim()) ?? []
  return number === undefined || Number(number) > 100 ? null : Number(number) / 100
}

export function inPercent(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`
}

async function setRamp(invocation: Invocation<RampOptions>, ramp: number): Promise<RampChange> {
  const {
    args: [name = ''],
    options: { by, protocol: wanted },
    settingsFile: file,
  } = invocation
  if (file === undefined) throw new OperatorError('Which settings? Name their file: --config FILE.')
  const settings = invocation.settings()
  const found = rampsIn(settings).filter((one) => one.variant === name && (wanted ?? one.protocol) === one.protocol)
  const [variant, another] = found
  if (variant === undefined)
    throw new OperatorError(
      `The settings have no variant ${printable(name, 60)}: add it to protocols.NAME.variants (docs/policies.md).`,
    )
  if (another !== undefined)
    throw new OperatorError(`${found.map(({ protocol }) => protocol).join(' and ')} have it: name one with --protocol.`)
  const { protocol, ramp: was } = variant
  const path = ['protocols', protocol, 'variants']
  // One before it would have taken its subjects.
  const own = rampsIn(settings).filter((one) => one.protocol === protocol)
  const isBehind =
    ramp > 0 &&
    own
      .slice(
        0,
        own.findIndex((one) => one.variant === name),
      )
      .some((one) => one.ramp > 0)
  let judged: readonly JudgedRamp[] = []
  await changeSettings(
    file,
    {
      text: (before) => withValueAt(isBehind ? withFirst(before, path, name) : before, [...path, name, 'ramp'], ramp),
      isDone(next) {
        judged = judgedRamps(next).filter((one) => one.protocol === protocol)
        return judged.some((one) => one.variant === name && one.judges === ramp)
      },
      by,
      page: `/variant/${protocol}/${name}/${ramp}`,
    },
    invocation,
  )
  return { protocol, variant: name, was, ramp, judged, file }
}
