import { z } from 'zod'
import { variantName } from '../contracts/facts/shadow-verdict.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { labelsForPeople, type Protocol } from '../judging/engine/script.ts'
import * as all from './all.ts'
import type { ProtocolKind } from './kind.ts'

/** All protocols. A new one is a folder beside `rumor/` and one line in `all.ts`. */
export const PROTOCOLS: readonly ProtocolKind[] = Object.values<ProtocolKind>(all)

/** A path that is null is not set, nor are variants and lanes of which there are none. */
function withoutUnset<Own extends object>(own: Own): Own {
  return Object.fromEntries(
    Object.entries(own).filter(([key, value]) =>
      key === 'variants' || key === 'lane' ? Object.keys(value).length > 0 : !key.endsWith('Path') || value !== null,
    ),
  ) as Own
}

const folder = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe('A folder of your own, whose files replace the shipped ones of the same name. null: none.')

/** The setting `lane`. */
export const laneFiles = z
  .array(z.string().min(1))
  .default([])
  .describe('Files of first lanes (docs/lane.md), at most one for a tenant and one for all others. Empty: none.')

/** Other settings of a protocol, laid over its own, for a part of its subjects. */
export const variantsSettings = z.record(
  variantName,
  z.looseObject({ ramp: z.number().min(0).max(1).describe('The part of subjects that it judges, from 0 to 1.') }),
)

/**
 * The settings' block `protocols`: the switches that each protocol brings, whether it is on, and folders of the user's own in
 * place of shipped files.
 */
export const protocolsSettings = z.strictObject(
  Object.fromEntries(
    PROTOCOLS.map(({ name, settings, mayHaveLane, folders = [] }) => [
      name,
      settings
        .extend({
          enabled: z.boolean().default(true).describe('Whether it judges.'),
          variants: variantsSettings
            .default({})
            .describe(
              'Variants by name: `ramp`, the part of subjects that one judges, and the settings of the protocol that it has otherwise.',
            ),
          ...(mayHaveLane === true ? { lane: laneFiles } : {}),
          ...Object.fromEntries(['prompts', ...folders].map((one) => [`${one}Path`, folder])),
        })
        .transform(withoutUnset)
        .prefault({}),
    ]),
  ),
)

/** What these protocols say of themselves to people, by name. */
export function sayingsForPeople(protocols: readonly Protocol[]) {
  const said = protocols.map((protocol) => {
    const { labels, reading } = PROTOCOLS.find(({ name }) => name === protocol.name) ?? {}
    const { name, meanings } = protocol
    const clausesFor = (subject: ThreadRef) =>
      (protocol.variantFor?.(subject) ?? protocol).policyFor?.(subject.tenant)?.clauses ?? []
    const own = {
      ...(reading === undefined ? {} : { reading }),
      ...(meanings === undefined ? {} : { meanings }),
      ...(protocol.policyFor === undefined ? {} : { clausesFor }),
    }
    return [name, { labels: labelsForPeople(protocol), ...labels, ...own }] as const
  })
  return new Map(said)
}
