import { html, type SafeMarkup } from './view.ts'

const NAMES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

/** Languages of two letters by their codes. */
const LANGUAGES = new Map(
  LETTERS.flatMap((one) => LETTERS.map((other) => `${one}${other}`)).flatMap((code) => {
    const name = NAMES.of(code)
    // A code that stands for another is offered under that one.
    return name === undefined || Intl.getCanonicalLocales(code)[0] !== code ? [] : [[code, name] as const]
  }),
)
const CODES = new Map([...LANGUAGES].map(([code, name]) => [name.toLowerCase(), code]))

/** What a language is called, by the tag that a message names it with; the tag itself where it is none. */
export function languageName(tag: string): string {
  try {
    return NAMES.of(tag) ?? tag
  } catch {
    return tag
  }
}

/** The tag that somebody means who wrote it, or its name. */
export function languageTag(written: string): string {
  return CODES.get(written.toLowerCase()) ?? written
}

/** Whether it is a tag of a language that has a name. */
export function isLanguage(tag: string): boolean {
  try {
    return NAMES.of(tag) !== undefined
  } catch {
    return false
  }
}

/** A field in which a language is named, with the names that there are. */
export function languageField(label: string, value: string): SafeMarkup {
  // A name that leads to no tag, as one of a region, would find nothing when the form is sent again.
  const name = languageTag(languageName(value)) === value ? languageName(value) : value
  return html`<label>${label} <input name="lang" value="${name}" maxlength="40" list="languages" autocomplete="off"></label><datalist id="languages">${[...new Set(LANGUAGES.values())].toSorted().map((name) => html`<option value="${name}">`)}</datalist>`
}
