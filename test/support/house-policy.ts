import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Shown, startModelServer } from './model-server.ts'
import { environmentOn, protocolsOn } from './pipeline.ts'

/** The key of the fences, by which variants are drawn. */
export const HOUSE_KEY = 'a key of the operator’s own'

/** A model that follows the policy that it is shown: X1 forbids abuse of anybody. */
function obedient({ text }: Shown): object {
  return /^X1 /m.test(text) && /You are (such )?an idiot/.test(text)
    ? { reason: 'R', label: 'Hateful', clauses: [{ id: 'X1', quote: 'idiot' }] }
    : { reason: 'R', label: 'Not hateful' }
}

/** `hate` on a stack, judged by that model without debates, and `house`, a policy in the folder that is a stricter one than its own. */
export async function withHousePolicy(
  stack: Parameters<typeof environmentOn>[0],
  { folder, latencyMs }: { readonly folder: string; readonly latencyMs: number },
) {
  const model = await startModelServer(obedient, { latencyMs })
  const environment = environmentOn(stack, {
    ...protocolsOn('hate'),
    ...model.settings,
    GAVEL_CLOCK_IDLE_AFTER: '500ms',
    GAVEL_FENCES_KEY: HOUSE_KEY,
    GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'contested',
    GAVEL_PROTOCOLS_HATE_CONTROL_SHARE: '0',
  })
  const policiesPath = join(folder, 'policies')
  mkdirSync(policiesPath)
  writeFileSync(join(policiesPath, 'house.md'), '# House rules\n\n## X1 Abuse\nCovers:\n- abuse of anybody\n')
  return { model, environment, stricter: { policies: ['house'], policiesPath } }
}
