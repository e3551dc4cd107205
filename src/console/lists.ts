import { writtenOf } from '../contracts/facts/story-summary.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { nameIn } from '../contracts/facts/verdict-id.ts'
import type { CoverChoice, ReviewPictures } from '../contracts/ports/pictures.ts'
import type { RecordedRow, RecordFilter, RecordReader } from '../contracts/ports/record.ts'
import { covered, type Harm, harmIn, uncoveredAt, worstOf } from './covers.ts'
import { howDecided, type ProtocolGuides, sayingOf, toneOf } from './kinds.ts'
import { languageTag } from './languages.ts'
import { noteSeen } from './read-audit.ts'
import type { Session } from './sessions.ts'
import { TEXTS } from './texts.ts'
import { type ListedPictures, listedPictures, thumbnails } from './thumbnails.ts'
import { carriedId, html, link, moment, NOTHING, type SafeMarkup, shown, type TemplatePart, words } from './view.ts'

/** What an address asks for, as far as this session may see it: a tenant of others finds nothing. */
export function filterOf(query: URLSearchParams, { tenants }: Session): RecordFilter {
  const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 400)
  const tenant = given('tenant')
  const allowed = tenant === '' ? tenants : (tenants ?? [tenant]).filter((one) => one === tenant)
  const label = given('label')
  const [since, until] = [dayOf(given('from')), dayOf(given('to'))]
  return {
    tenants: allowed,
    ...text('protocol', given('protocol')),
    ...(label === '' ? {} : { label: label === NO_LABEL ? null : label }),
    ...text('author', given('author')),
    ...text('decider', given('decider')),
    ...text('lang', languageTag(given('lang'))),
    ...text('model', given('model')),
    ...text('prompts', given('prompts')),
    ...text('fault', given('fault')),
    ...text('before', given('before')),
    ...(query.has('contested') ? { contested: true as const } : {}),
    ...(query.has('opposed') ? { opposed: true as const } : {}),
    ...(query.has('degraded') ? { degraded: true as const } : {}),
    ...(since === null ? {} : { since }),
    // The day that is named counts whole.
    ...(until === null ? {} : { until: until + DAY_MS }),
  }
}

/** How an address asks for verdicts without a label. */
const NO_LABEL = 'none'
const DAY_MS = 86_400_000

function text<Name extends 'protocol' | 'author' | 'decider' | 'lang' | 'model' | 'prompts' | 'fault' | 'before'>(
  name: Name,
  value: string,
) {
  return value === '' ? {} : ({ [name]: value } as { readonly [One in Name]: string })
}

function dayOf(day: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return null
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(at) ? null : at
}

/** Of a subject so many characters stand in a list. */
const MOST_OF_WORDS = 160

/** A verdict in a list beside its subject, as plain words: what a page shows, and what its script is sent. */
export interface RowData {
  /** Names its subject, also beside those of other tenants. */
  readonly thread: string
  /** How its subject begins; null where the record does not have it. */
  readonly words: string | null
  /** Why these words are hidden until somebody asks; null if they are not. */
  readonly hidden: string | null
  readonly lang: string
  readonly of: string
  /** Carried, as the verdict's id. */
  readonly subject: string
  readonly id: string
  readonly href: string
  /** Where it is said that its subject's words were uncovered. */
  readonly uncovered: string
  /** ISO 8601. */
  readonly at: string
  /** When it was written; empty where its verdict does not say. ISO 8601. */
  readonly written: string
  /** Since when its comments dispute it, by this verdict; empty where they do not. ISO 8601. */
  readonly opposed: string
  readonly label: string
  readonly tone: string
  readonly protocol: string
  /** Whether it may still change, and what it lacks. */
  readonly how: string
  readonly decided: string
  readonly pictures: ListedPictures
}

/** What lists are shown with. */
export interface Lists {
  readonly kinds: ProtocolGuides
  readonly disturbing: DisturbingSubjects
  /** What each person wants to have covered. */
  readonly people: Pick<ReviewPictures, 'coversOf'>
}

export function rowData(row: RecordedRow, { kinds, disturbing }: Omit<Lists, 'people'>): RowData {
  const { verdict, author, lang, words: said } = row
  const { id, protocol, final, tenant, timing } = verdict
  const by = verdict.decision?.by
  const flags = [row.contested ? TEXTS.live.contested : '', verdict.degraded.length > 0 ? TEXTS.live.degraded : '']
  const parts = (all: readonly string[]) => all.filter((one) => one !== '').join(' · ')
  return {
    thread: carriedId(nameOf(row.subject)),
    words: said === null ? null : shown(said, MOST_OF_WORDS),
    hidden: said === null ? null : disturbing.because(row),
    lang: lang ?? '',
    of: parts([shown(author ?? '', 60), shown(lang ?? '', 20), tenant]),
    subject: carriedId(nameIn(row.subject)),
    id: carriedId(id),
    href: link('/verdict', { id }),
    uncovered: uncoveredAt(id),
    at: timing.decidedAt,
    written: writtenOf(verdict) ?? '',
    opposed: verdict.opposed?.since ?? '',
    label: shown(sayingOf(verdict), 64),
    tone: toneOf(verdict, kinds),
    protocol,
    how: parts([final ? TEXTS.row.final : TEXTS.row.forNow, ...flags]),
    decided: [howDecided(verdict), ...(by === undefined ? [] : [TEXTS.row.by, shown(by, 60)])].join(' '),
    pictures: listedPictures(id, row.pictures),
  }
}

/** How rows are shown. */
interface RowsForm {
  readonly choice: CoverChoice
  /** Also with what other protocols say of them now, which the list itself does not have. */
  readonly isWhole: boolean
  /** With the time when each was written. */
  readonly isDated?: true
  /** The words of each are a heading that leads there. */
  readonly leadsTo?: string
}

/** A list of posts and replies with their verdicts, each where the newest of these stands. */
export async function rowsOf(
  rows: readonly RecordedRow[],
  lists: Omit<Lists, 'people'>,
  form: RowsForm,
): Promise<TemplatePart> {
  const { isWhole } = form
  const current = await lists.disturbing.look(rows)
  const posts = Map.groupBy(rows, ({ subject }) => nameOf(subject))
  const others = (isWhole ? current : []).filter(({ subject, verdict: { protocol } }) => {
    const own = posts.get(nameOf(subject))
    return own?.every(({ verdict }) => verdict.protocol !== protocol) === true
  })
  noteSeen(...others.map(({ verdict }) => verdict.id))
  const also = Map.groupBy(others, ({ subject }) => nameOf(subject))
  const data = (all: readonly RecordedRow[]) => all.map((row) => rowData(row, lists))
  return [...posts].map(([name, own]) => postOf(data(own), data(also.get(name) ?? []), form))
}

/** `also`: verdicts that the list itself does not have. */
function postOf(
  own: readonly RowData[],
  also: readonly RowData[],
  { choice, isDated, leadsTo }: RowsForm,
): TemplatePart {
  const [newest] = own
  if (newest === undefined) return NOTHING
  const verdicts = [...own, ...also]
  const spoken = verdicts.find(({ words }) => words !== null)?.words ?? null
  const found = [...own.map((one) => verdictMarkup(one)), ...also.map((one) => verdictMarkup(one, 'found also'))]
  const why = verdicts.find(({ hidden }) => hidden !== null)?.hidden ?? null
  const written = isDated === true ? verdicts.find((one) => one.written !== '')?.written : undefined
  return postMarkup(newest, { said: saidOf(spoken, why, newest, leadsTo), found, choice, written })
}

/** A subject's words, if the record has them, behind a cover if that is why; `leadsTo`: where a heading leads that they are, or that says why they are covered. */
function saidOf(
  spoken: string | null,
  why: string | null,
  { lang, uncovered }: RowData,
  leadsTo: string | undefined,
): TemplatePart {
  const headed = (inside: TemplatePart) => html`<h2 class="row-words"><a href="${leadsTo ?? ''}">${inside}</a></h2>`
  if (spoken === null) return leadsTo === undefined ? NO_WORDS : headed(TEXTS.live.noWords)
  const said = words(spoken, { lang })
  const open = leadsTo === undefined || why !== null ? html`<p class="row-words">${said}</p>` : headed(said)
  if (why === null) return open
  return html`${leadsTo === undefined ? NOTHING : headed(why)}${covered(leadsTo === undefined ? why : TEXTS.live.itsWords, open, { uncovered })}`
}

const NO_WORDS = html`<p class="row-words none faint">${TEXTS.live.noWords}</p>`

function postMarkup(
  { thread, subject, at, of, pictures }: RowData,
  {
    said,
    found,
    choice,
    written,
  }: { said: TemplatePart; found: TemplatePart; choice: CoverChoice; written?: string | undefined },
): SafeMarkup {
  return html`<li class="row" data-thread="${thread}" data-subject="${subject}">${said}
<div class="row-head">${written === undefined ? moment(at) : html`<span>${TEXTS.row.written} ${moment(written)}</span> <span>${TEXTS.row.judged} ${moment(at)}</span>`} <span class="verdicts">${found}</span> ${thumbnails(pictures, choice)}<span class="row-of faint">${words(of)}</span></div></li>`
}

function verdictMarkup(
  { id, href, label, tone, protocol, how, decided, opposed }: RowData,
  name = 'found',
): SafeMarkup {
  return html`<span class="${name}" data-id="${id}" data-protocol="${protocol}"><span class="protocol">${protocol}</span> <a class="of" href="${href}" title="${decided}"><strong class="label ${tone}">${words(label)}</strong></a> <span class="faint how">${how}</span>${opposed === '' ? NOTHING : html` <span class="opposed">${TEXTS.row.opposed} ${moment(opposed)}</span>`} <span class="faint decided">${decided}</span></span>`
}

/** What a script fills with the data of a row: a post, and its verdict. */
export function rowTemplate(choice: CoverChoice): SafeMarkup {
  const never = '1970-01-01T00:00:00Z'
  const nothing = {
    id: '',
    href: '',
    at: never,
    opposed: never,
    written: '',
    label: '',
    tone: 'plain',
    protocol: '',
    how: '',
  }
  const data = {
    ...nothing,
    thread: '',
    words: '',
    hidden: null,
    lang: '',
    of: '',
    subject: '',
    decided: '',
    uncovered: '',
    pictures: { at: '', titles: [''] },
  }
  const said = html`<p class="row-words">${words('')}</p>`
  return html`<template>${postMarkup(data, { said: [said, covered('', said), NO_WORDS], found: verdictMarkup(data), choice })}</template>`
}

/** Protocols as options of a select. */
export function options(all: readonly string[], chosen: string): TemplatePart {
  return [
    html`<option value="">${TEXTS.live.all}</option>`,
    ...all.map((one) => html`<option value="${one}"${one === chosen ? html` selected` : NOTHING}>${one}</option>`),
  ]
}

/** A field of a form with its name. */
export function field(name: string, label: string, value: string, type = 'text'): SafeMarkup {
  return html`<label>${label} <input type="${type}" name="${name}" value="${value}" maxlength="400"></label>`
}

export function box(name: string, label: string, isOn: boolean): SafeMarkup {
  return html`<label class="box"><input type="checkbox" name="${name}" value="yes"${isOn ? html` checked` : NOTHING}> ${label}</label>`
}

/** Most subjects that are remembered; the oldest is forgotten. */
const MOST = 10_000
/** Most verdicts that are read at once. */
const MOST_CURRENT = 1_000

/**
 * Why the words of subjects are hidden in lists, until somebody asks for them: by the verdict that a list shows, or by what another
 * protocol says of the same subject now.
 */
export class DisturbingSubjects {
  readonly #kinds: ProtocolGuides
  readonly #record: Pick<RecordReader, 'find'>
  /** By subject, and by protocol, why. */
  readonly #why = new Map<string, Map<string, Harm>>()

  /** `record`: what is read of it is no entry of the audit, unless a list shows it. */
  constructor(kinds: ProtocolGuides, record: Pick<RecordReader, 'find'>) {
    this.#kinds = kinds
    this.#record = record
  }

  /** Reads what is now said of the subjects of these rows, before any of them is shown: a list lacks what is older, or does not fit a filter. */
  async look(rows: readonly RecordedRow[]): Promise<readonly RecordedRow[]> {
    const current = await this.#current(rows.map(({ subject }) => subject))
    this.#note([...rows, ...current])
    return current
  }

  /** The same of subjects of which a list has no rows. */
  async lookAt(subjects: readonly ThreadRef[]): Promise<readonly RecordedRow[]> {
    const current = await this.#current(subjects)
    this.#note(current)
    return current
  }

  async #current(subjects: readonly ThreadRef[]): Promise<readonly RecordedRow[]> {
    const tenants = [...new Set(subjects.map(({ tenant }) => tenant))]
    const subject = [...new Set(subjects.map(({ postId }) => postId))]
    return subject.length === 0 ? [] : this.#record.find({ tenants, subject, standing: true }, MOST_CURRENT)
  }

  #note(rows: readonly RecordedRow[]): void {
    for (const { verdict, subject, standing } of rows) {
      if (!standing) continue
      const name = nameOf(subject)
      const known = this.#why.get(name) ?? new Map<string, Harm>()
      const why = harmIn(verdict, this.#kinds)
      if (why === null) known.delete(verdict.protocol)
      else known.set(verdict.protocol, why)
      this.#why.delete(name)
      if (known.size > 0) this.#why.set(name, known)
    }
    for (const name of this.#why.keys()) if (this.#why.size > MOST) this.#why.delete(name)
  }

  /** Why a row's words are hidden; null if they are not. */
  because({ verdict, subject }: RecordedRow): string | null {
    const known = this.#why.get(nameOf(subject))?.values() ?? []
    return worstOf([harmIn(verdict, this.#kinds) ?? [], ...known].flat())?.why ?? null
  }
}

/**
 * How a subject begins, by rows of which some are its own; covered where it may harm, or where `isHarmful` says so. The cover does not say
 * why: that would tell what others found, of whom a second opinion may be asked for. Nothing where the record has no words of it.
 */
export function subjectWords(subject: ThreadRef, { rows, disturbing, isHarmful = false }: SubjectWords): TemplatePart {
  const own = rows.filter((row) => nameOf(row.subject) === nameOf(subject))
  const row = own.find((one) => one.words !== null)
  if (row?.words == null) return NOTHING
  const said = html`<p class="row-words">${words(row.words, { most: MOST_OF_WORDS, lang: row.lang ?? '' })}</p>`
  return isHarmful || own.some((one) => disturbing.because(one) !== null)
    ? covered(TEXTS.pictures.mayHarm, said, { uncovered: uncoveredAt(row.verdict.id) })
    : said
}

interface SubjectWords {
  readonly rows: readonly RecordedRow[]
  readonly disturbing: DisturbingSubjects
  readonly isHarmful?: boolean
}

export function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return JSON.stringify([tenant, kind, postId])
}
