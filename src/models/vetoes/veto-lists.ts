import { OperatorError } from '../../contracts/facts/errors.ts'
import { normalized } from '../../contracts/facts/normalized.ts'
import type { PictureHashes, VetoHit } from '../../contracts/ports/vetoes.ts'
import { type HashList, openHashList } from './hash-list.ts'
import { type AskingTurn, hashService, NoAnswerYet } from './hash-service.ts'
import { openPatterns, type PatternList } from './patterns.ts'

/** What is vetoed, as in the settings: by a file or a service, of which the other is empty. */
export interface OneVeto {
  readonly kind: 'sha256' | 'pdq' | 'pattern'
  readonly list: string
  readonly service: string
  /** Of perceptual hashes: in how many bits they may differ. */
  readonly distance: number
  /** Of a service, in ms. */
  readonly timeout: number
  /** What becomes of pictures that can't be compared. */
  readonly unavailable: 'fail-closed' | 'fail-open'
  readonly labels: Readonly<Record<string, string>>
}

type HashKind = Exclude<OneVeto['kind'], 'pattern'>

/** A list or service of hashes, by its name. */
interface HashVeto {
  readonly name: string
  readonly kind: HashKind
  readonly given: OneVeto
  /** Whether it has this hash, or one that is near: which entry. */
  find(hash: string, turns: VetoTurns): Promise<string | null>
}

/** What is known of a picture. */
export type KnownHashes = { readonly [Kind in keyof PictureHashes]?: PictureHashes[Kind] | undefined }

/** How many entries a list has; null of a service, which says nothing of that. */
export interface VetoListSize {
  readonly name: string
  readonly kind: OneVeto['kind']
  readonly entries: number | null
}

/** A hash list that did not answer. */
export interface SilentList {
  readonly list: string
  readonly why: string
  readonly isClosed: boolean
  /** It has failed for moments: who can wait asks it again. */
  readonly mayAnswerSoon: boolean
}

/** What came of looking for a picture: found, or which lists have not said that they don't have it. */
export type PictureSearch = VetoHit | { readonly silent: readonly SilentList[] }

/** Has a look at a list, which keeps this process busy, and a question to a service wait until they may begin. */
export interface VetoTurns {
  readonly look: <Found>(look: () => Promise<Found>) => Promise<Found>
  readonly ask: AskingTurn
}
const AT_ONCE: VetoTurns = { look: (look) => look(), ask: (ask) => ask() }

/** The lists of the settings, read. */
export interface VetoLists {
  readonly sizes: readonly VetoListSize[]
  /** The kinds of hashes that some list asks for. */
  readonly wants: ReadonlySet<HashKind>
  /** Whether what can't be looked for leaves nothing harmless: the strictest of the lists that ask for one of these hashes. */
  isClosed(kinds: ReadonlySet<HashKind>): boolean
  findWords(texts: readonly string[], turns?: VetoTurns): Promise<VetoHit | null>
  /**
   * Looks on the lists whose hash is known, or of these on those that are named; null: there is too little in the picture for one of
   * that kind. One that does not answer keeps none from being looked at.
   */
  findPicture(hashes: KnownHashes, turns?: VetoTurns, among?: ReadonlySet<string>): Promise<PictureSearch>
  /** Does work that looks several times: the lists are not closed meanwhile. */
  during<T>(work: () => Promise<T>): Promise<T>
  /** Closes the lists, once no work is under way on them. */
  close(): Promise<void>
}

/** Opens every list. Throws an `OperatorError` that names the first that can't be read. */
export async function openVetoLists(settings: Readonly<Record<string, OneVeto>>): Promise<VetoLists> {
  const opened: { close(): Promise<void> }[] = []
  const ofHashes: HashVeto[] = []
  const ofWords: { readonly name: string; readonly given: OneVeto; readonly patterns: PatternList }[] = []
  const sizes: VetoListSize[] = []
  try {
    for (const [name, given] of Object.entries(settings)) {
      const { kind, list: path } = given
      if (kind === 'pattern') {
        const patterns = await openPatterns(path)
        ofWords.push({ name, given, patterns })
        sizes.push({ name, kind, entries: patterns.entries })
        continue
      }
      const list = path === '' ? null : await openHashList(path)
      if (list !== null) opened.push(list)
      ofHashes.push({ name, kind, given, find: list === null ? findByService(kind, given) : findOn(list, kind, given) })
      sizes.push({ name, kind, entries: list?.entries ?? null })
    }
  } catch (error) {
    await Promise.all(opened.map((one) => one.close()))
    if (error instanceof OperatorError) throw new OperatorError(`vetoes: ${error.message}`)
    throw error
  }
  let [underWay, isClosed] = [0, false]
  const close = async () => void (await Promise.all(opened.map((one) => one.close())))
  const hitOf = (name: string, { labels }: OneVeto, entry: string): VetoHit => ({ list: name, entry, labels })
  return {
    sizes,
    wants: new Set(ofHashes.map(({ kind }) => kind)),
    isClosed: (kinds) => ofHashes.some(({ kind, given }) => kinds.has(kind) && given.unavailable === 'fail-closed'),
    async findWords(texts, { look } = AT_ONCE) {
      const forms = [...new Set(texts.flatMap((text) => [text, readable(text)]))]
      for (const { name, given, patterns } of ofWords) {
        const entry = await look(() => patterns.find(forms))
        if (entry !== null) return hitOf(name, given, entry)
      }
      return null
    },
    async findPicture(hashes, turns = AT_ONCE, among) {
      const silent: SilentList[] = []
      for (const { name, kind, given, find } of ofHashes) {
        const hash = hashes[kind]
        if (hash === undefined || hash === null || among?.has(name) === false) continue
        try {
          const entry = await find(hash, turns)
          if (entry !== null) return hitOf(name, given, entry)
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error)
          const mayAnswerSoon = error instanceof NoAnswerYet
          silent.push({ list: name, why, isClosed: given.unavailable === 'fail-closed', mayAnswerSoon })
        }
      }
      return { silent }
    },
    async during(work) {
      underWay++
      try {
        return await work()
      } finally {
        underWay--
        if (isClosed && underWay === 0) await close()
      }
    },
    async close() {
      isClosed = true
      if (underWay === 0) await close()
    },
  }
}

function findOn(list: HashList, kind: HashKind, { distance }: OneVeto): HashVeto['find'] {
  return (hash, { look }) => look(() => list.find(hash, kind === 'pdq' ? distance : 0))
}

function findByService(kind: HashKind, { service, timeout, distance }: OneVeto): HashVeto['find'] {
  const find = hashService(service, timeout)
  return (hash, { ask }) => find({ kind, hash, ...(kind === 'pdq' ? { distance } : {}) }, ask)
}

const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/** As a reader sees it: in one form of each letter, and without what is invisible, or becomes so in that form. */
function readable(text: string): string {
  return normalized(text.replace(INVISIBLE, ''), 'NFKC').replace(INVISIBLE, '')
}
