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
