import Table from 'cli-table3'

/** Where a command speaks: results on `out`, everything else on `say`. */
export interface Terminal {
  /** One line of result on standard output. */
  out(line: string): void
  /** One line for a person, on standard error. */
  say(line: string): void
  /** A line that the next one replaces; only where a person watches. */
  progress(line: string): void
}

export function terminal(out: NodeJS.WriteStream, error: NodeJS.WriteStream): Terminal {
  let progressing = false
  const clear = () => {
    if (progressing) error.write('\r\u001b[K')
    progressing = false
  }
  return {
    out(line) {
      clear()
      out.write(`${line}\n`)
    },
    say(line) {
      clear()
      error.write(`${line}\n`)
    },
    progress(line) {
      if (!error.isTTY) return
      clear()
      error.write(line.slice(0, (error.columns ?? 80) - 1))
      progressing = true
    },
  }
}

/** Strangers' text as one line that can't drive a terminal: no control or format characters, at most `width` long. */
export function printable(text: string, width: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\p{Cf}/gu, '')
    .trim()
  const characters = [...line]
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join('')}…`
}

/** JSON that can't drive a terminal either: what `JSON.stringify` leaves as it is and a terminal may obey is escaped. */
export function printableJson(json: string): string {
  return json.replace(/[\u007f-\u009f]|[\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** `1 verdict`, `2 verdicts`. */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const drawn = new Table({ head: [...head], style: { head: [], border: [], compact: true } })
  for (const row of rows) drawn.push([...row])
  return drawn.toString()
}
