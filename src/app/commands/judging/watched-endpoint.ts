import type { Settings } from '../../../../config/schema.ts'
import { OperatorError, PermanentError, RetryLaterError, withServersWords } from '../../../contracts/facts/errors.ts'
import { type EndpointNames, remedyFor } from '../../../contracts/facts/model-name.ts'
import type { Clock } from '../../../contracts/ports/clock.ts'
import type { Model } from '../../../contracts/ports/model.ts'
import { endpointOf, modelsOfEndpoints } from '../../../models/openai/models-of-endpoints.ts'

/** The model of a command that judges a file, and whether there is anybody to answer. */
export interface WatchedEndpoint {
  /** Fails no question any more once the endpoint is given up: the command ends, and what it has done stands. */
  readonly model: Model
  /** Why nothing more can be answered, and what to do; null while something can. */
  dead(): OperatorError | null
}

/** Calls in a row without any answer after which an endpoint is given up: at once where it never answered… */
const NEVER_ANSWERED = { calls: 4, ms: 2_000 }
/** …and after the usual tries where it has. */
const ANSWERED_BEFORE = { calls: 20, ms: 30_000 }
/** How servers and the proxies before them answer while a model is being loaded. */
const LOADING = /^status 50[0234]\b/
/** The error that the gateway gets for a question that is not answered any more: it ends with the command. */
const WAIT_MS = 600_000

/** The wait for a model that its server may still be loading. */
interface LoadWait {
  /** How long an endpoint that has never answered may answer as servers do that load a model, in ms. */
  readonly ms: number
  /** Called once, with why nobody answers yet, where, and what to check if no model is being loaded. */
  readonly waiting: (why: string, check: string) => void
}

/**
 * Watches the calls of a command. A service waits until an endpoint is mended; a command that judges a file would only
 * write verdicts without labels, or wait. It is given up when the account, the key or a model that has no other beside
 * it is refused, or when nobody answers; `givenUp` is called then. With `load`, a server that may be loading its model is waited for as a
 * busy one: what it says costs no attempt.
 */
export function watchedEndpoint(
  model: Model,
  endpointOf: (model: string) => EndpointNames & { readonly baseUrl: string },
  clock: Clock,
  { givenUp = () => {}, load = null }: { givenUp?: () => void; load?: LoadWait | null } = {},
): WatchedEndpoint {
  let dead: OperatorError | null = null
  let answered = false
  let silent: { calls: number; since: number } | null = null
  let loadingSince: number | null = null

  function giveUp(model: string, why: string, todo: string): never {
    if (dead === null) {
      dead = new OperatorError(`${why} (${withoutSecrets(endpointOf(model).baseUrl)}). ${todo}`)
      givenUp()
    }
    throw new RetryLaterError('aborted', 'the endpoint was given up', { delayMs: WAIT_MS, costsAttempt: false })
  }

  function giveUpSilent(model: string, error: RetryLaterError): never {
    const mayLoad = LOADING.test(error.message)
    giveUp(
      model,
      `The model does not answer: ${withServersWords(error)}`,
      `${remedyFor('unreachable', endpointOf(model), { why: error.message })}${mayLoad ? ' A server that is loading the model may answer so, too: then try again in a minute.' : ''}`,
    )
  }

  function noteSilence(model: string, error: RetryLaterError): void {
    silent = { calls: (silent?.calls ?? 0) + 1, since: silent?.since ?? clock() }
    const most = answered ? ANSWERED_BEFORE : NEVER_ANSWERED
    if (silent.calls >= most.calls && clock() - silent.since >= most.ms) giveUpSilent(model, error)
  }

  function noteLoading(model: string, error: RetryLaterError, { ms, waiting }: LoadWait): never {
    silent = null
    if (loadingSince === null) {
      loadingSince = clock()
      const at = endpointOf(model)
      waiting(`${withServersWords(error)} (${withoutSecrets(at.baseUrl)})`, remedyFor('unreachable', at))
    } else if (clock() - loadingSince >= ms) giveUpSilent(model, error)
    throw new RetryLaterError('rate-limited', error.message, { costsAttempt: false, cause: error })
  }

  return {
    model: {
      async complete(request) {
        if (dead !== null) giveUp(request.model, '', '')
        try {
          const reply = await model.complete(request)
          answered = true
          silent = null
          return reply
        } catch (error) {
          if (error instanceof PermanentError && error.operatorAction !== undefined) {
            const { model: name } = request
            // Models of one endpoint share its key.
            if (error.operatorAction === 'key' ? request.apart !== true : request.alone === true)
              giveUp(
                name,
                `The model ${name} cannot be asked: ${withServersWords(error)}`,
                remedyFor(error.operatorAction, endpointOf(name)),
              )
          } else if (error instanceof RetryLaterError && error.code === 'unavailable') {
            if (load !== null && !answered && LOADING.test(error.message)) noteLoading(request.model, error, load)
            noteSilence(request.model, error)
          }
          // Any other error is an answer.
          else if (
            error instanceof PermanentError ||
            (error instanceof RetryLaterError && error.code === 'rate-limited')
          )
            silent = null
          throw error
        }
      },
    },
    dead: () => dead,
  }
}

/** The models of the settings' endpoints, watched. */
export function watchedModel(settings: Settings, givenUp: () => void): WatchedEndpoint {
  return watchedEndpoint(modelsOfEndpoints(settings), (name) => endpointOf(settings, name), Date.now, { givenUp })
}

/** A URL without user and password. */
function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^@/\s]*@/, '//')
}
