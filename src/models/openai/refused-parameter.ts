import { DIALECT_TRAITS, type DialectTrait, NARROWING_KEYWORDS } from '../../contracts/facts/dialect.ts'

/** What is refused as a parameter; images have a row of their own among the refusals, and decisions an address. */
type Parameter = Exclude<DialectTrait, 'images' | 'decisions'>
const PARAMETERS = DIALECT_TRAITS.filter((trait): trait is Parameter => trait !== 'images' && trait !== 'decisions')

/** A parameter that a server refuses, and as far as its words tell, why. */
export interface RefusedParameter {
  readonly trait: DialectTrait
  /** The server's words around its name. */
  readonly words: string
  /** It may be the question itself that is refused. */
  readonly perhaps?: boolean
}

/** How each trait is named in errors. */
const NAMES: Readonly<Record<Parameter, RegExp>> = {
  'max-tokens': /\bmax_(?:completion_|output_|new_)?tokens\b/i,
  temperature: /\btemperature\b/i,
  effort: /\breasoning[_. ]effort\b/i,
  role: /\b(?:system|developer)['"`]? (?:role|messages?|instructions?)\b|\bmessages?\W{0,3}\d{0,4}\W{0,3}role\b|\broles?\b.{0,40}\b(?:system|developer)\b|\b(?:system|developer)\b.{0,40}\broles?\b|unknown variant `(?:system|developer)`/i,
  form: /\bresponse[_ ]?format\b|\bjson_schema\b|\bjson_object\b|\bjson mode\b|\bstructured[_ ]outputs?\b|\bresponse[_ ]?schema\b|\bguided_json\b|\boutput_config\b/i,
  logprobs: /\b(?:top_)?log_?probs\b/i,
  tier: /\bservice[_ ]tier\b|\b(?:flex|priority) (?:tier|processing|is)\b/i,
  breakpoints: /\bprompt_cache_(?:options|breakpoint|key)\b|\bcache[_ ]control\b/i,
}

/** Words that refuse: a name alone may stand in any message. */
const REFUSES =
  /not (?:yet )?(?:supported|permitted|allowed|available|enabled|accepted|recogni[sz]ed|be set|be used|valid)|unsupported|support|unrecogni[sz]ed|unknown|unexpected|unavailable|\binvalid|extra (?:inputs|fields)|extra_forbidden|forbidden|deprecated|no longer|must be|\bonly\b|cannot|can't|instead|out of range|less than|greater than|too (?:large|high)|at most|maximum|cannot find field|is disabled/i

/** Most places of a name that are looked at, and how many characters on each side of it. */
const MAX_PLACES = 10
const BEFORE = 120
const AFTER = 240

/**
 * The first parameter that an error names: as the parameter itself, or in words that refuse it. `isEchoed`: whether
 * words are only the question's own.
 */
export function refusedParameter(
  said: { readonly parameters: readonly string[]; readonly words: readonly string[] },
  isEchoed: (text: string) => boolean,
): RefusedParameter | undefined {
  for (const trait of PARAMETERS)
    if (said.parameters.some((name) => NAMES[trait].test(name))) return { trait, words: said.words.join(' ') }
  for (const trait of PARAMETERS)
    for (const text of said.words) {
      const around = placesOf(NAMES[trait], text).find((place) => refusesIn(place, isEchoed))
      if (around !== undefined) return { trait, words: around.words }
    }
  return undefined
}

/** Where a name stands: the words around it, and where it begins and ends in them. */
interface Place {
  readonly words: string
  readonly begin: number
  readonly end: number
}

function placesOf(name: RegExp, text: string): Place[] {
  return [...text.matchAll(new RegExp(name.source, 'gi'))].slice(0, MAX_PLACES).map(({ index, 0: found }) => {
    const from = Math.max(0, index - BEFORE)
    const begin = index - from
    const end = begin + found.length
    return { words: text.slice(from, index + found.length + AFTER), begin, end }
  })
}

/** Whether words refuse the name, and all from the one to the other are not only the question's own. */
function refusesIn({ words, begin, end }: Place, isEchoed: (text: string) => boolean): boolean {
  return [...words.matchAll(new RegExp(REFUSES.source, 'gi'))].some(
    ({ index, 0: found }) => !isEchoed(words.slice(Math.min(begin, index), Math.max(end, index + found.length))),
  )
}

/** Whether a schema's keyword is what is refused, and not the form as such. */
export function isOfKeyword(words: string): boolean {
  return NARROWING_KEYWORDS.some((keyword) => new RegExp(`\\b${keyword}\\b`).test(words))
}

/** Whether a parameter is refused for its value: another may be taken. */
export function isOfValue(words: string): boolean {
  return /unsupported value|invalid value|\btype\b|json_schema|json_object|\bvalues?\b/i.test(words)
}

/** The most that a server takes, if it names that, if that is less than what was sent. */
export function mostIn(words: string, sent: number): number | undefined {
  if (!/at most|maximum|less than|too (?:large|high)|range|exceed|up to|must be|<=|≤|\d\s*>\s*\d/i.test(words))
    return undefined
  if (/unsupported parameter|instead|unrecogni[sz]ed|unknown|extra/i.test(words)) return undefined
  const named = [...words.matchAll(/\d[\d,_]{0,9}(?:\.\d{1,3})?/g)].map(([digits]) =>
    Number(digits.replace(/[,_]/g, '')),
  )
  const lower = named.filter((number) => number < sent && number > 0)
  return lower.length === 0 ? undefined : Math.max(...lower)
}
