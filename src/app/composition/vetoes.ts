import type { Settings } from '../../../config/schema.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { LookedAtPictures, Vetoes } from '../../contracts/ports/vetoes.ts'
import { imageCache } from '../../models/image-cache.ts'
import { type DecodeImage, decoding } from '../../models/images/decoder.ts'
import { imageLoader } from '../../models/images/images.ts'
import { openVetoLists } from '../../models/vetoes/veto-lists.ts'
import { vetoChecks } from '../../models/vetoes/vetoes.ts'
import type { GatewayStores } from './gateway.ts'

/** Why lists stay as they were, and what to do. */
interface VetoRefusal {
  readonly why: string
  readonly advice: string
}

/** The vetoes of a process that judges. */
export interface VetoPart extends Vetoes {
  /** Fetches pictures for questions: what is on a list is refused. */
  readonly loadImage: LoadImage
  /**
   * Reads the lists anew; what came of it is reported, and a list that can't be read leaves all as they were. Resolves to why; null
   * if they were taken.
   */
  reload(settings: Settings): Promise<VetoRefusal | null>
  close(): Promise<void>
}

/**
 * The vetoes of the settings; undefined where they have none, and at a reload none can come: that needs a restart. Throws an
 * `OperatorError` that names a list that can't be read, or a label that a protocol has not.
 */
export async function vetoPart(
  settings: Settings,
  parts: {
    readonly looked: LookedAtPictures
    readonly keptImage: GatewayStores['keptImage']
    readonly loadImage?: LoadImage | undefined
    readonly labelsOf: (protocol: string) => readonly string[] | undefined
    readonly clock: Clock
    readonly report: Report
  },
): Promise<VetoPart | undefined> {
  if (Object.keys(settings.vetoes).length === 0) return undefined
  const { looked, keptImage, clock, report, loadImage = imageLoader(settings.images) } = parts
  checkLabels(settings, parts.labelsOf)
  let lists = await openVetoLists(settings.vetoes)
  const images = imageCache(loadImage, settings.images, clock, keptImage)
  const vetoes = vetoChecks({ lists: () => lists, looked, images, decode: pictureDecoder(), clock })
  report('vetoes:loaded', { lists: lists.sizes })
  async function readAnew(next: Settings): Promise<VetoRefusal | null> {
    try {
      checkLabels(next, parts.labelsOf)
      const before = lists
      lists = await openVetoLists(next.vetoes)
      report('vetoes:loaded', { lists: lists.sizes })
      await before.close()
      return null
    } catch (error) {
      const refusal = { why: error instanceof Error ? error.message : String(error), advice: STAND }
      report('vetoes:refused', refusal)
      return refusal
    }
  }
  // Of two reloads at once the later one's lists are those that stay.
  let reloaded: Promise<VetoRefusal | null> = Promise.resolve(null)
  return {
    check: vetoes.check,
    loadImage: vetoes.guard(loadImage),
    reload(next) {
      reloaded = reloaded.then(() => readAnew(next))
      return reloaded
    },
    close: async () => {
      await reloaded
      await lists.close()
    },
  }
}

/** Decodes pictures to their perceptual hashes. */
export function pictureDecoder(): DecodeImage {
  return decoding(['pdq-process', 'pdq'], { pixelBytes: HASHED_PIXEL_BYTES })
}

/** What decoding a picture and hashing it takes for each pixel, in bytes. */
const HASHED_PIXEL_BYTES = 21

const STAND = 'The lists stay as they were: mend what is named, and reload again. docs/vetoes.md'

/** Throws an `OperatorError` if an entry gives a protocol a label that it has not. */
export function checkLabels(
  { vetoes }: Pick<Settings, 'vetoes'>,
  labelsOf: (protocol: string) => readonly string[] | undefined,
): void {
  for (const [name, { labels }] of Object.entries(vetoes))
    for (const [protocol, label] of Object.entries(labels)) {
      const known = labelsOf(protocol)
      if (known !== undefined && !known.includes(label))
        throw new OperatorError(`vetoes.${name}.labels: ${protocol} has no label ${label}, but ${known.join(', ')}`)
    }
}
