import { endBefore } from './cut.ts'

/** Untrusted text as one line that can't control a terminal: no control or format characters, at most `width` long. */
export function printable(text: string, width: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\p{Cf}/gu, '')
    .trim()
  const characters = [...line]
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join('')}…`
}

/** The same of a sentence: where it is cut it ends with a whole word, if one ends near. */
export function printableSentence(text: string, width: number): string {
  const line = printable(text, Number.POSITIVE_INFINITY)
  const shown = printable(line, width)
  return shown === line ? line : `${line.slice(0, endBefore(line, shown.length - 1)).trimEnd()}…`
}

/** Characters that a terminal may interpret: control and format characters, except line ends and tabs. */
const CONTROLS = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * JSON, or any text, made safe for a terminal: control characters are escaped as in JSON, so that the JSON keeps its
 * meaning.
 */
export function printableJson(json: string): string {
  return json.replace(CONTROLS, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
