/** A setting that makes no mapping: where in it, and why. */
export class MappingSettingFault extends Error {
  override readonly name = 'MappingSettingFault'
  readonly path: readonly (string | number)[]

  constructor(path: readonly (string | number)[], why: string) {
    super(why)
    this.path = path
  }
}

/** A record that a mapping can't make messages of, with why. It quotes nothing of the record. */
export class UnmappedRecord extends Error {
  override readonly name = 'UnmappedRecord'
}

/** Of a number that JSON can write and a float can't hold, the digits are needed. */
export class InexactNumber extends Error {
  override readonly name = 'InexactNumber'
}

/** Why no messages can be made of a record. Throws what says nothing of it. */
export function whyUnmapped(error: unknown): string {
  if (error instanceof UnmappedRecord) return error.message
  if (error instanceof InexactNumber) return 'a number is too large to be read exactly'
  // Thrown for what a record holds, it would stop all that come after it.
  if (error instanceof RangeError) return 'it holds a value that is out of range'
  throw error
}
