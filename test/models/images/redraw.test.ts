import photon from '@silvia-odwyer/photon-node'
import { describe, expect, test } from 'vitest'
import { redrawing } from '../../../src/models/images/redraw.ts'
import { drawnPng, withExif } from '../../support/drawn.ts'
import { gif, png } from '../../support/pictures.ts'

const never = new AbortController().signal
const drawing = redrawing()
const whose = { name: 'acme', part: 'ann' }
const redraw = (image: Buffer, signal: AbortSignal) => drawing(image, whose, signal)

/** What is seen at a place of a picture, from 0 to 1 each way, roughly. */
function seen(jpeg: Uint8Array) {
  const image = photon.PhotonImage.new_from_byteslice(jpeg)
  const [width, height] = [image.get_width(), image.get_height()]
  const pixels = image.get_raw_pixels()
  const at = (across: number, down: number) => {
    const from = 4 * (Math.floor(down * (height - 1)) * width + Math.floor(across * (width - 1)))
    return [...pixels.subarray(from, from + 3)].map((one) => Math.round(one / 64) * 64)
  }
  return { size: [width, height], at }
}

const RED = [255, 0, 0, 255] as const
const BLUE = [0, 0, 255, 255] as const
const [SEEN_RED, SEEN_BLUE] = [
  [256, 0, 0],
  [0, 0, 256],
]
/** Red at its left third, blue at the rest. */
const aPng = (width: number, height: number) => drawnPng(width, height, (x) => (x < width / 3 ? RED : BLUE))
const whyNot = (image: Buffer) =>
  redraw(image, never).then(
    () => 'drawn',
    (error: Error) => error.message,
  )

describe('an image that people see', () => {
  test('is drawn anew, at most 1,024 pixels long, with a cover that shows nothing of it', async () => {
    const { picture, cover } = await redraw(aPng(2_048, 512), never)
    expect(seen(picture).size).toEqual([1_024, 256])
    expect([seen(picture).at(0.1, 0.5), seen(picture).at(0.9, 0.5)]).toEqual([SEEN_RED, SEEN_BLUE])
    expect(seen(cover).size).toEqual([16, 4])
  })

  test('has no metadata, and stands as its camera was held', async () => {
    const plain = Buffer.from((await redraw(aPng(90, 30), never)).picture)
    expect(plain.includes('Exif')).toBe(false)
    const places = await Promise.all(
      [1, 3, 6, 8].map(async (orientation) => {
        const { picture } = await redraw(withExif(plain, orientation), never)
        const bytes = Buffer.from(picture)
        const { size, at } = seen(picture)
        const red = [
          ['left', at(0.1, 0.5)],
          ['right', at(0.9, 0.5)],
          ['top', at(0.5, 0.1)],
          ['bottom', at(0.5, 0.9)],
        ].find(([, colour]) => String(colour) === String(SEEN_RED))?.[0]
        return [size.join('x'), red, bytes.includes('Exif') || bytes.includes('GPS')]
      }),
    )
    expect(places).toEqual([
      ['90x30', 'left', false],
      ['90x30', 'right', false],
      ['30x90', 'top', false],
      ['30x90', 'bottom', false],
    ])
  })

  test('shows what is transparent on two greys, so that no colour is lost', async () => {
    const { picture } = await redraw(
      drawnPng(64, 64, () => [255, 255, 255, 0]),
      never,
    )
    expect([seen(picture).at(0.1, 0.1), seen(picture).at(0.4, 0.1)]).toEqual([
      [256, 256, 256],
      [192, 192, 192],
    ])
  })

  test('of another format is drawn too', async () => {
    const image = photon.PhotonImage.new_from_byteslice(aPng(30, 30))
    expect(seen((await redraw(Buffer.from(image.get_bytes_webp()), never)).picture).at(0.1, 0.5)).toEqual(SEEN_RED)
  })

  test('that is damaged, or would take too much memory, is none', async () => {
    const damaged = 'its data are damaged, or of a kind that is not read'
    expect(await Promise.all([png(9, 9), gif(9, 9).subarray(0, 40), Buffer.from('<svg/>')].map(whyNot))).toEqual([
      damaged,
      damaged,
      damaged,
    ])
    expect(await whyNot(png(5_001, 5_000))).toBe('more than 25,000,000 pixels')
  })

  test('whose colour profile unfolds to more memory than a decoder may have is none', async () => {
    const bomb = drawnPng(30, 30, () => RED, { profile: Buffer.alloc(300_000_000) })
    expect(bomb.length).toBeLessThan(400_000)
    expect(await whyNot(bomb)).toMatch(/^its data are damaged/)
  })

  test('that takes too long is given up, and the next is drawn', async () => {
    const hasty = redrawing({ longestMs: 1 })
    await expect(hasty(aPng(30, 30), whose, never)).rejects.toThrow('it takes too long to draw')
    expect(await whyNot(aPng(30, 30))).toBe('drawn')
  })

  test('of one tenant waits for its own others, and not for those of another', async () => {
    const ended: string[] = []
    const draw = async (name: string, nth: number, image: Buffer) => {
      await drawing(image, { name, part: `author ${nth}` }, never)
      ended.push(name)
    }
    const [slow, quick] = [aPng(3_000, 2_000), aPng(30, 30)]
    await Promise.all([draw('acme', 0, slow), draw('acme', 1, slow), draw('acme', 2, slow), draw('other', 0, quick)])
    expect(ended.indexOf('other')).toBeLessThanOrEqual(1)
  })

  test('that somebody does not wait for any longer is not called hard to draw', async () => {
    const given = redraw(aPng(3_000, 2_000), AbortSignal.timeout(30))
    await expect(given).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
