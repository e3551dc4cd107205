import type { Settings } from '../../../config/schema.ts'
import { gatewayOf, memoryGatewayStores } from '../../service/composition/gateway.ts'
import { learner } from '../../service/curator/learn.ts'
import { fences } from '../../service/domain/fence.ts'
import { samplingRanks } from '../../service/domain/sampling-rank.ts'
import type { Library } from '../../service/ports/library.ts'
import type { Model } from '../../service/ports/model.ts'
import { makeCurations, makeProtocols } from '../../service/protocols/make.ts'
import { PROTOCOLS } from '../../service/protocols/registry.ts'

/** Most questions to the model in parallel. */
const ASKED_AT_ONCE = 8

/** The learner from feedback, which asks `model`; `all`: also from cases that the verdict got right. */
export function learnerOf(
  settings: Settings,
  { all, model }: { readonly all: boolean; readonly model: Model },
  library: Library,
) {
  const secret = 'one run'
  const clock = Date.now
  const fence = fences(settings.fences.key || secret, settings.fences)
  const { attempts, backoff } = settings.stages.default ?? { attempts: 1, backoff: 0 }
  const stores = memoryGatewayStores(settings, clock)
  return learner({
    protocols: makeProtocols(settings.protocols, fence, samplingRanks('learn')),
    known: new Set(PROTOCOLS.map(({ name }) => name)),
    library,
    gateway: gatewayOf(settings, { stores, secret, clock, model, report: () => {} }),
    curations: makeCurations(settings.protocols, fence),
    clock,
    settings: {
      all,
      atOnce: ASKED_AT_ONCE,
      deadlineMs: settings.cases.deadline,
      retries: { attempts, backoffMs: backoff },
    },
  })
}
