import { distance } from 'fastest-levenshtein'

/** How many letters of a name may be wrong for it to be meant; two that changed places are two. */
function mostWrong(letters: number): number {
  return letters < 4 ? 1 : Math.max(2, Math.floor(letters * 0.3))
}

/** The name among these that was probably meant; undefined where none is near. */
function meant(word: string, names: Iterable<string>): string | undefined {
  if (word === '') return undefined
  const wanted = word.toLowerCase()
  const near = [...new Set(names)]
    .map((name) => ({ name, off: distance(wanted, name.toLowerCase()) }))
    .filter(({ name, off }) => off <= mostWrong(Math.max(name.length, wanted.length)))
    .sort((one, other) => one.off - other.off)
  return near[0]?.name
}

/** ` Did you mean "hate"?`, for the end of a sentence; empty where no name is near. */
export function didYouMean(word: string, names: Iterable<string>): string {
  const name = meant(word, names)
  return name === undefined ? '' : ` Did you mean "${name}"?`
}
