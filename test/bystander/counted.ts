/** Work on texts, in characters, as far as it can be counted: no time is measured. */
export interface Work {
  /** Characters put into a normal form; a run of marks counts as its square, which is what putting it in order takes. */
  readonly normalised: number
  /** Characters that patterns were matched against. */
  readonly matched: number
  /** Characters of JSON; a list or an object counts as a hundred, another value as ten, and as fifty where each is looked at. */
  readonly parsed: number
  /** Elements of lists that were compared with something, one by one. */
  readonly compared: number
}

export function total({ normalised, matched, parsed, compared }: Work): number {
  return normalised + matched + parsed + compared
}

/** The work that `run` does, within its call. */
export function counted(run: () => unknown): Work {
  const work = { normalised: 0, matched: 0, parsed: 0, compared: 0 }
  const restore = [
    replaced(
      String.prototype,
      'normalize',
      (original) =>
        function (this: string, form?: string): string {
          work.normalised += orderingOf(this)
          return original.call(this, form)
        },
    ),
    ...(['replace', 'match', 'search', 'split'] as const).map((name) =>
      replaced(
        String.prototype,
        name,
        (original) =>
          function (this: string, ...given: unknown[]): unknown {
            if (given[0] instanceof RegExp) work.matched += this.length
            return within(() => original.apply(this, given))
          },
      ),
    ),
    replaced(
      String.prototype,
      'matchAll',
      (original) =>
        function (this: string, pattern: RegExp): unknown {
          work.matched += this.length
          return within(() => [...original.call(this, pattern)])
        },
    ),
    replaced(
      RegExp.prototype,
      'exec',
      (original) =>
        function (this: RegExp, text: string): RegExpExecArray | null {
          const from = this.global || this.sticky ? this.lastIndex : 0
          const found = original.call(this, text)
          const to = found === null ? (this.sticky ? from + 1 : text.length) : found.index + found[0].length
          if (!inside) work.matched += Math.max(1, to - from)
          return found
        },
    ),
    replaced(
      Array.prototype,
      'some',
      (original) =>
        function (this: unknown[], is: (...of: unknown[]) => boolean, of?: unknown): boolean {
          return original.call(this, (...one: unknown[]) => {
            work.compared++
            return is.apply(of, one)
          })
        },
    ),
    replaced(JSON, 'parse', (original) => (text: string, ...more: unknown[]): unknown => {
      const { parts, values } = extentOf(text)
      work.parsed += text.length + 100 * parts + (more.length === 0 ? 10 : 50) * values
      return original.call(JSON, text, ...more)
    }),
  ]
  let inside = false
  function within<Result>(call: () => Result): Result {
    const before = inside
    inside = true
    try {
      return call()
    } finally {
      inside = before
    }
  }
  try {
    run()
  } finally {
    for (const undo of restore.reverse()) undo()
  }
  return work
}

/** Elements of lists that are copied, moved or looked at one by one until `run` is done. */
export async function elementsTouched(run: () => Promise<unknown>): Promise<number> {
  let touched = 0
  const whole = (['shift', 'unshift', 'splice', 'slice', 'filter', 'concat'] as const).map((name) =>
    replaced(
      Array.prototype,
      name,
      (original) =>
        function (this: unknown[], ...given: unknown[]): unknown {
          const made: unknown = original.apply(this, given)
          const copied = Array.isArray(made) ? made.length : 0
          touched += name === 'slice' ? copied : Math.max(this.length, copied)
          return made
        },
    ),
  )
  const upTo = (['includes', 'indexOf', 'lastIndexOf'] as const).map((name) =>
    replaced(
      Array.prototype,
      name,
      (original) =>
        function (this: unknown[], ...given: unknown[]): unknown {
          touched += this.length
          return original.apply(this, given)
        },
    ),
  )
  const oneByOne = (['some', 'every', 'find', 'findIndex'] as const).map((name) =>
    replaced(
      Array.prototype,
      name,
      (original) =>
        function (this: unknown[], is: (...of: unknown[]) => unknown, of?: unknown): unknown {
          return original.call(this, (...one: unknown[]) => {
            touched++
            return is.apply(of, one)
          })
        },
    ),
  )
  try {
    await run()
  } finally {
    for (const undo of [...whole, ...upTo, ...oneByOne]) undo()
  }
  return touched
}

/** Puts another function in the place of one; the result puts the first one back. */
function replaced<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  // biome-ignore lint/suspicious/noExplicitAny: any function of the language's own objects
  made: (original: any) => unknown,
): () => void {
  const original = owner[name]
  Object.defineProperty(owner, name, { value: made(original), configurable: true, writable: true })
  return () => void Object.defineProperty(owner, name, { value: original, configurable: true, writable: true })
}

/** Lists and objects of JSON, and their values. */
function extentOf(json: string): { parts: number; values: number } {
  let [parts, values, quoted] = [0, 0, false]
  for (let at = 0; at < json.length; at++) {
    const character = json.charAt(at)
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (!quoted && (character === '[' || character === '{')) parts++
    else if (!quoted && character === ',') values++
  }
  return { parts, values }
}

const MARK = /[\p{M}\uff9e\uff9f]/u

function orderingOf(text: string): number {
  let [sum, run] = [0, 0]
  for (const character of text) {
    // Compared by hand where it is quick: patterns are counted.
    if (character > '\u02ff' && MARKS.has(character)) run++
    else {
      sum += 1 + run * run
      run = 0
    }
  }
  return sum + run * run
}

const MARKS = {
  known: new Map<string, boolean>(),
  has(character: string): boolean {
    const known = this.known.get(character)
    if (known !== undefined) return known
    const is = exec.call(MARK, character) !== null
    this.known.set(character, is)
    return is
  },
}
const { exec } = RegExp.prototype
