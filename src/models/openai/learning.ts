import type { DecisionWire } from '../../contracts/facts/ask.ts'
import { type Dialect, type DialectPart, type DialectTrait, NARROWING_KEYWORDS } from '../../contracts/facts/dialect.ts'
import { ParameterRefused, PermanentError, RetryLaterError, type Trial } from '../../contracts/facts/errors.ts'
import { isOfKeyword, isOfValue, mostIn, type RefusedParameter } from './refused-parameter.ts'

/** Something that a model's refusals have shown: the parameter, and what is done about it. */
export interface DialectLesson {
  readonly model: string
  readonly parameter: DialectTrait
  readonly lesson: string
  /** How `models.dialects` would say it: `temperature: never`. */
  readonly setting: string
}

/** Prepared for one call: the form of its request, and the callbacks for its outcome. */
export interface PreparedCall {
  readonly dialect: Dialect
  /** The call was answered: on which wire, and with images, if it showed some. */
  answered(sent: Pick<SentParameters, 'images' | 'wire'>): void
  /** The error to throw for a refused parameter; undefined for one that was not sent. */
  refused(refused: RefusedParameter, why: string, sent: SentParameters): PermanentError | undefined
}

/** What a call was sent with. */
export interface SentParameters {
  readonly maxTokens: number
  readonly temperature: number
  readonly tier: boolean
  readonly images: boolean
  readonly wire: DecisionWire
}

/** What is learnt is forgotten after this long, in ms: servers change. */
const KEPT_MS = 3_600_000

/** What was learnt of one model. */
interface Known {
  learnt: DialectPart
  at: number
  /** When it last answered a call with images, in ms since 1970. */
  tookImages: number
  /** When it last decided over an interface for that. */
  decided: number
  /** Ends when the call that is finding something out has ended; with an error where that answers nothing. */
  finding: Promise<RetryLaterError | null> | null
}

/**
 * Learns what models take beside their dialects: a call whose parameter is refused is made once more without it, and if
 * that is answered, the others are made so from then on. One call at a time finds out about a model; those that were
 * refused meanwhile wait for it. After an hour one call tries again what was refused. Images are no parameter: without them it
 * would be another question. So their refusal alone is learnt from, and the model is shown none, unless it was answering calls with
 * images within the last hour.
 */
export function learning(deps: {
  told: (model: string) => Dialect
  now: () => number
  /** Called once for each lesson. */
  learnt: (lesson: DialectLesson) => void
}) {
  const { told, now, learnt } = deps
  const models = new Map<string, Known>()
  const reported = new Set<string>()

  function knownOf(model: string): Known {
    const never = Number.NEGATIVE_INFINITY
    const known = models.get(model) ?? { learnt: {}, at: 0, tookImages: never, decided: never, finding: null }
    models.set(model, known)
    return known
  }

  /** Whether this call is the one that looks whether what was learnt still holds. */
  function looksAgain(known: Known): boolean {
    if (Object.keys(known.learnt).length === 0 || now() - known.at < KEPT_MS) return false
    known.at = now()
    return true
  }

  function keep(model: string, known: Known, changes: DialectPart): void {
    known.learnt = { ...known.learnt, ...changes }
    known.at = now()
    for (const lesson of lessonsOf(model, changes)) {
      const key = JSON.stringify(lesson)
      if (reported.has(key)) continue
      reported.add(key)
      learnt(lesson)
    }
  }

  return {
    prepare(model: string, trial?: Trial): PreparedCall {
      const known = knownOf(model)
      const again = trial === undefined && looksAgain(known)
      const changes: DialectPart = trial?.changes ?? {}
      const dialect: Dialect = Object.assign({}, told(model), again ? {} : known.learnt, changes)
      return {
        dialect,
        answered({ images, wire }) {
          if (images) known.tookImages = now()
          if (wire !== 'chat') known.decided = now()
          const lesson = images ? without('decisions', changes) : changes
          if (Object.keys(lesson).length > 0) keep(model, known, lesson)
          else if (again) known.learnt = {}
        },
        refused(refused, why, sent) {
          if (!wasSent(refused, dialect, sent)) return undefined
          // Of a model that decides otherwise it is this question; but images may be taken in a chat alone.
          if (refused.perhaps && !sent.images && now() - known.decided < KEPT_MS) return undefined
          if (refused.trait === 'images') {
            // Of a model that takes some it is this image: nobody has others' go unseen by one of their own.
            if (now() - known.tookImages >= KEPT_MS) keep(model, known, { images: false })
            return new PermanentError('rejected', `${why}: ${NO_IMAGES}`, { elsewhere: 'question' })
          }
          const message = `${why}: ${adviceOn(refused.trait)}`
          const change = changed(dialect, refused, { sent, tried: changes })
          if (change === null) return new PermanentError('rejected', message, { elsewhere: 'question' })
          return new ParameterRefused(message, async (ask, signal) => {
            // The call that finds out goes on finding out.
            if (Object.keys(changes).length > 0) return ask({ changes: { ...changes, ...change } })
            while (known.finding !== null) {
              const failed = await raced(known.finding, signal)
              if (failed !== null) throw failed
            }
            if (differs(dialect, Object.assign({}, told(model), known.learnt), change)) return ask({ changes: {} })
            return finding(known, () => ask({ changes: change }))
          })
        },
      }
    },
    /** What was learnt of a model, in words. */
    lessons: (model: string): readonly DialectLesson[] => lessonsOf(model, models.get(model)?.learnt ?? {}),
  }
}

async function finding<Result>(known: Known, ask: () => Promise<Result>): Promise<Result> {
  let ended: (failed: RetryLaterError | null) => void = () => {}
  known.finding = new Promise((resolve) => {
    ended = resolve
  })
  let failed: RetryLaterError | null = null
  try {
    return await ask()
  } catch (error) {
    if (error instanceof RetryLaterError) {
      const wait = { delayMs: error.delayMs ?? RETRY_MS, costsAttempt: false }
      failed = new RetryLaterError(error.code, 'the call that was to show what the model takes has failed', wait)
    }
    throw error
  } finally {
    known.finding = null
    ended(failed)
  }
}

/** How long those wait who were refused while the call that was to find out failed, in ms. */
const RETRY_MS = 1_000

async function raced<Result>(wait: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const stopped = () =>
    new RetryLaterError('aborted', 'the call was stopped', { costsAttempt: false, delayMs: 0, cause: signal.reason })
  if (signal.aborted) throw stopped()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(stopped())
    signal.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([wait, aborted]).finally(() => signal.removeEventListener('abort', stop))
}

function without(key: keyof DialectPart, { [key]: _, ...others }: DialectPart): DialectPart {
  return others
}

/** Whether what is known now is no longer what was sent, in what would be changed. */
function differs(sent: Dialect, known: Dialect, change: DialectPart): boolean {
  return (Object.keys(change) as (keyof Dialect)[]).some((key) => String(sent[key]) !== String(known[key]))
}

/** What a call with images fails with, at a model that takes none. */
export const NO_IMAGES = 'this model takes no images'

function wasSent({ trait }: RefusedParameter, dialect: Dialect, sent: SentParameters): boolean {
  if (trait === 'tier') return sent.tier
  if (trait === 'images') return sent.images
  if (trait === 'decisions') return sent.wire !== 'chat'
  return trait !== 'breakpoints' || dialect.breakpoints !== null
}

/** How to ask instead; null if there is no other way. What was tried and refused is not tried again. */
function changed(
  dialect: Dialect,
  { trait, words }: RefusedParameter,
  { sent, tried }: { sent: SentParameters; tried: DialectPart },
): DialectPart | null {
  switch (trait) {
    case 'max-tokens': {
      const most = mostIn(words, sent.maxTokens)
      if (most !== undefined && tried.mostTokens === undefined) return { mostTokens: most }
      if (tried.maxTokens !== undefined) return null
      return { maxTokens: dialect.maxTokens === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens' }
    }
    case 'temperature': {
      const highest = mostIn(words, sent.temperature)
      if (highest !== undefined && tried.highestTemperature === undefined) return { highestTemperature: highest }
      return dialect.temperature === 'never' ? null : { temperature: 'never' }
    }
    case 'effort':
      if (dialect.effort === null) return null
      return { effort: tried.effort === undefined ? effortIn(words, dialect.effort) : null }
    case 'role':
      if (dialect.system === 'user') return null
      if (tried.system !== undefined) return { system: 'user' }
      if (dialect.system === 'developer') return { system: 'system' }
      return { system: /\bdeveloper\b.{0,30}\binstead\b/i.test(words) ? 'developer' : 'user' }
    case 'form':
      if (dialect.form === 'text') return null
      if (dialect.form === 'json_schema' && dialect.withoutKeywords.length === 0 && isOfKeyword(words))
        return { withoutKeywords: [...NARROWING_KEYWORDS] }
      return { form: dialect.form === 'json_schema' && isOfValue(words) ? 'json_object' : 'text' }
    case 'logprobs':
      if (dialect.logprobs === 0) return null
      return { logprobs: tried.logprobs === undefined ? (mostIn(words, dialect.logprobs) ?? 0) : 0 }
    case 'tier':
      return { tiers: false }
    case 'breakpoints':
      return { breakpoints: null }
    case 'decisions':
      return { decisions: dialect.decisions === 'auto' ? 'systemone' : 'chat' }
    case 'images':
      return null
  }
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high']

/** The lowest effort that a server names beside the refused one; null if it names none. */
function effortIn(words: string, refused: string): string | null {
  return EFFORTS.find((effort) => effort !== refused && new RegExp(`['"\`]${effort}['"\`]`).test(words)) ?? null
}

function adviceOn(trait: DialectTrait): string {
  const [parameter, setting] = ADVICE[trait]
  return `${parameter} is refused; set what the model accepts in models.dialects (${setting})`
}

/** The parameter as it is sent, and the setting of a dialect that it follows. */
const ADVICE: Readonly<Record<DialectTrait, readonly [parameter: string, setting: string]>> = {
  'max-tokens': ['the longest answer', 'maxTokens, mostTokens'],
  temperature: ['temperature', 'temperature, highestTemperature'],
  effort: ['reasoning_effort', 'effort'],
  role: ["the system message's role", 'system'],
  form: ['response_format', 'form, withoutKeywords'],
  logprobs: ['logprobs', 'logprobs'],
  tier: ['service_tier', 'tiers'],
  breakpoints: ['a cache breakpoint', 'breakpoints'],
  decisions: ['a decision', 'decisions'],
  images: ['an image', 'images'],
}

function lessonsOf(model: string, changes: DialectPart): DialectLesson[] {
  return (Object.entries(LESSONS) as [keyof typeof LESSONS, (typeof LESSONS)[keyof typeof LESSONS]][]).flatMap(
    ([key, { parameter, words }]) => {
      const value = changes[key]
      if (value === undefined) return []
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return [{ model, parameter, lesson: words(value), setting: `${key}: ${text}` }]
    },
  )
}

const LESSONS = {
  maxTokens: { parameter: 'max-tokens', words: (name) => `the answer's limit is sent as ${String(name)}` },
  mostTokens: { parameter: 'max-tokens', words: (most) => `at most ${String(most)} tokens are asked for` },
  temperature: { parameter: 'temperature', words: () => 'no temperature is sent' },
  effort: { parameter: 'effort', words: () => 'no reasoning_effort is sent' },
  system: { parameter: 'role', words: (role) => `instructions are given in the role ${String(role)}` },
  form: {
    parameter: 'form',
    words: (form) => `the form of answers is asked for as response_format ${String(form)}, and checked here as always`,
  },
  withoutKeywords: { parameter: 'form', words: () => 'schemas are sent without minimum, maxItems and the like' },
  logprobs: {
    parameter: 'logprobs',
    words: (most) =>
      most === 0 ? 'no log-probabilities are asked for' : `${String(most)} log-probabilities are asked for`,
  },
  tiers: { parameter: 'tier', words: () => 'no tier is asked for' },
  breakpoints: { parameter: 'breakpoints', words: () => 'it is not told up to where a prompt is worth keeping' },
  decisions: {
    parameter: 'decisions',
    words: (wire) =>
      wire === 'chat'
        ? 'it is asked for decisions in a chat, over no interface for these'
        : `it is asked for decisions over ${String(wire)}`,
  },
  images: { parameter: 'images', words: () => 'it is shown no images' },
} satisfies Partial<Record<keyof Dialect, { parameter: DialectTrait; words: (value: unknown) => string }>>
