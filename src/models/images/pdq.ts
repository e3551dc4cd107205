// PDQ, the perceptual hash of pictures that was published with Meta's ThreatExchange: 256 bits, which of two pictures that look alike
// differ in few places. All sums are rounded to 32 bits, as the reference's are, so that no bit is another one.

/** The side of the shrunken picture, and how many of its frequencies count, each way. */
const [SIDE, FREQUENCIES] = [64, 16]
/** How often it is blurred each way before it is shrunk. */
const BLURS = 2
/** Smaller pictures have no hash. */
const LEAST_SIDE = 5
/** What of red, green and blue is light. */
const [RED, GREEN, BLUE] = [0.299, 0.587, 0.114]

/** The light of a picture's pixels, row by row. */
export interface PictureLight {
  readonly light: Float32Array
  readonly rows: number
  readonly columns: number
}

/** The light of a picture that was decoded to red, green, blue and opacity. */
export function lightOf(rgba: Uint8Array, columns: number, rows: number): PictureLight {
  const light = new Float32Array(rows * columns)
  for (let at = 0; at < light.length; at++) {
    const red = 4 * at
    light[at] = RED * number(rgba, red) + GREEN * number(rgba, red + 1) + BLUE * number(rgba, red + 2)
  }
  return { light, rows, columns }
}

/**
 * The hash in hexadecimal digits, and how much there is to tell pictures apart by, from 0 to 100; null of a tiny picture. A large one
 * is blurred where it is, for it takes much memory.
 */
export function pdqOf(picture: PictureLight): { readonly hash: string; readonly quality: number } | null {
  if (picture.rows < LEAST_SIDE || picture.columns < LEAST_SIDE) return null
  const small = shrunk(picture)
  const waves = frequencies(small)
  const median = waves.toSorted()[waves.length / 2 - 1] ?? 0
  let bits = ''
  for (let at = waves.length - 1; at >= 0; at--) bits += number(waves, at) > median ? '1' : '0'
  const digits = bits.match(/.{4}/g) ?? []
  return { hash: digits.map((four) => Number.parseInt(four, 2).toString(16)).join(''), quality: qualityOf(small) }
}

function shrunk({ light, rows, columns }: PictureLight): Float32Array {
  if (rows === SIDE && columns === SIDE) return light
  const [across, down] = [columns, rows].map((side) => Math.floor((side + 2 * SIDE - 1) / (2 * SIDE))) as [
    number, // of two sides there are two windows
    number,
  ]
  const line = new Float32Array(Math.max(rows, columns))
  for (let nth = 0; nth < BLURS; nth++) {
    for (let row = 0; row < rows; row++) blur(light, line, { from: row * columns, step: 1, length: columns }, across)
    for (let column = 0; column < columns; column++)
      blur(light, line, { from: column, step: columns, length: rows }, down)
  }
  const small = new Float32Array(SIDE * SIDE)
  for (let row = 0; row < SIDE; row++)
    for (let column = 0; column < SIDE; column++) {
      const [y, x] = [Math.trunc(((row + 0.5) * rows) / SIDE), Math.trunc(((column + 0.5) * columns) / SIDE)]
      small[row * SIDE + column] = number(light, y * columns + x)
    }
  return small
}

/** Writes the means of the windows around each pixel of a row or column in their places; `line` has room for it. */
function blur(
  given: Float32Array,
  line: Float32Array,
  { from, step, length }: { readonly from: number; readonly step: number; readonly length: number },
  window: number,
): void {
  const ahead = Math.floor((window + 2) / 2) - 1
  const behind = window - 1 - ahead
  let [sum, count] = [0, 0]
  for (let right = 0; right < length + ahead; right++) {
    const at = right - ahead
    if (right < length) {
      sum = Math.fround(sum + number(given, from + right * step))
      count++
    }
    const gone = at - behind - 1
    if (gone >= 0) {
      sum = Math.fround(sum - number(given, from + gone * step))
      count--
    }
    if (at >= 0) line[at] = sum / count
  }
  for (let at = 0; at < length; at++) given[from + at * step] = number(line, at)
}

/** The lowest frequencies each way, without the mean. */
const WAVES = Float32Array.from({ length: FREQUENCIES * SIDE }, (_, at) => {
  const [wave, place] = [Math.floor(at / SIDE), at % SIDE]
  return Math.fround(Math.sqrt(2 / SIDE)) * Math.cos((Math.PI / 2 / SIDE) * (wave + 1) * (2 * place + 1))
})

function frequencies(small: Float32Array): Float32Array {
  const down = new Float32Array(FREQUENCIES * SIDE)
  for (let wave = 0; wave < FREQUENCIES; wave++)
    for (let column = 0; column < SIDE; column++) {
      let sum = 0
      for (let row = 0; row < SIDE; row++)
        sum = Math.fround(sum + Math.fround(number(WAVES, wave * SIDE + row) * number(small, row * SIDE + column)))
      down[wave * SIDE + column] = sum
    }
  const both = new Float32Array(FREQUENCIES * FREQUENCIES)
  for (let row = 0; row < FREQUENCIES; row++)
    for (let wave = 0; wave < FREQUENCIES; wave++) {
      let sum = 0
      for (let column = 0; column < SIDE; column++)
        sum = Math.fround(sum + Math.fround(number(down, row * SIDE + column) * number(WAVES, wave * SIDE + column)))
      both[row * FREQUENCIES + wave] = sum
    }
  return both
}

/** How much its light changes from pixel to pixel. */
function qualityOf(small: Float32Array): number {
  let changes = 0
  const change = (one: number, other: number) => {
    changes += Math.abs(Math.trunc((Math.fround(number(small, one) - number(small, other)) * 100) / 255))
  }
  for (let row = 0; row < SIDE; row++)
    for (let column = 0; column < SIDE; column++) {
      const at = row * SIDE + column
      if (row < SIDE - 1) change(at, at + SIDE)
      if (column < SIDE - 1) change(at, at + 1)
    }
  return Math.min(100, Math.trunc(changes / 90))
}

/** The bits that are set in a word of 32. */
export function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

const number = (numbers: ArrayLike<number>, at: number) => numbers[at] ?? 0
