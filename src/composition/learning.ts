import type { Settings } from '../../config/schema.ts'
import { CURATOR_PROMPTS, curation } from '../curator/curate.ts'
import { learner } from '../curator/learn.ts'
import { fences } from '../domain/fence.ts'
import { lots } from '../domain/lot.ts'
import type { Library } from '../ports/library.ts'
import { makeProtocols, promptsOf } from '../protocols/make.ts'
import { readPrompts } from '../protocols/prompts.ts'
import { PROTOCOLS } from '../protocols/registry.ts'
import { gatewayOf, memoryGatewayStores } from './gateway.ts'

/** Questions to the model at once. */
const ASKED_AT_ONCE = 8

/** What learns from feedback; `all`: also from cases that the verdict got right. */
export function learnerOf(settings: Settings, { all }: { readonly all: boolean }, library: Library) {
  const secret = 'one run'
  const clock = Date.now
  const fence = fences(settings.fences.key || secret, settings.fences)
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const stores = memoryGatewayStores(settings, clock)
  return learner({
    protocols: makeProtocols(settings.protocols, fence, lots('learn')),
    known: new Set(PROTOCOLS.map(({ name }) => name)),
    library,
    gateway: gatewayOf(settings, { stores, secret, clock, report: () => {} }),
    curate: curation(fence, readPrompts(promptsOf('curator'), CURATOR_PROMPTS)),
    clock,
    settings: {
      all,
      atOnce: ASKED_AT_ONCE,
      deadlineMs: settings.cases.deadline,
      patience: { attempts, backoffMs: backoff },
    },
  })
}
