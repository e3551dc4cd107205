import { type Form, folded, isFree, keysOf } from './form.ts'
import { Bare, type LooseObject } from './loose-json.ts'
import { FENCED } from './text.ts'

const LABEL =
  /^[\s>#*_•-]{0,12}(?:\d{1,2}[.)]\s{0,3})?[*_`"]{0,4}(\p{L}[\p{L} _-]{0,39})[*_`"]{0,4}\s?[:：=][*_`]{0,4}(.*)$/su

/**
 * The answer from lines `Key: value`, for a form without lists; free text continues to the next label, other values end
 * with their line.
 */
export function labelledLines(text: string, { json, names }: Form): LooseObject | undefined {
  const keys = keysOf(json)
  if (keys.some(({ inner: { type } }) => type === 'array' || type === 'object')) return undefined
  const found: { name: string; value: string }[] = []
  for (const line of text.split('\n')) {
    if (FENCED.test(line)) continue
    const [, label = '', rest = ''] = LABEL.exec(line) ?? []
    const last = found.at(-1)
    if (names.has(folded(label))) found.push({ name: folded(label), value: rest })
    else if (last !== undefined) last.value += `\n${line}`
  }
  const answer: LooseObject = Object.create(null)
  for (const { key, inner, own, same } of keys) {
    const [only, ...more] = found.filter(({ name }) => name === own || same.includes(name))
    if (only === undefined || more.length > 0) return undefined
    answer[key] = isFree(inner) ? only.value.trim() : new Bare(only.value.trim())
  }
  return answer
}

const KEY =
  /["'“”„‘＂«]([\p{L}_ -]{1,40})["'“”’＂»]\s{0,9}[:：]|["'“”’＂»]\s{0,9}[,，]\s{0,9}([\p{L}_]{1,40})\s{0,9}[:：]/gu

/** Whether prose contains a key as in an object, or a line with a deciding key. */
export function hasKey(prose: string, { names, decisive }: Form): boolean {
  if ([...prose.matchAll(KEY)].some(([, quoted, bare]) => names.has(folded(quoted ?? bare ?? '')))) return true
  return prose.split('\n').some((line) => {
    const [, label = '', rest = ''] = LABEL.exec(line) ?? []
    return decisive.has(folded(label)) && /[\p{L}\p{N}]/u.test(rest)
  })
}
