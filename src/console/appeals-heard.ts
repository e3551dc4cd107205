import { randomUUID } from 'node:crypto'
import type { AppealWords } from '../contracts/facts/appeal-messages.ts'
import { LEFT_OUT } from '../contracts/facts/what-if-report.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { AppealHearings, HeardRuling, UnheardReason } from '../contracts/ports/hearings.ts'
import { leaveTurn } from '../platform/answer-turns.ts'
import { type Rate, rates } from '../platform/rates.ts'
import { openAppeals } from './appeals-section.ts'
import type { CaseFile } from './case-file.ts'
import { type ProtocolGuides, toneOf } from './kinds.ts'
import { REVIEW_TEXTS } from './review-texts.ts'
import { TEXTS as ALL_TEXTS } from './texts.ts'
import { html, NOTHING, type SafeMarkup, words } from './view.ts'

const { heard: TEXTS } = REVIEW_TEXTS.review.appeals

/** Most appeals that are heard at once. */
const MOST = 5
/** How long a hearing is known, in ms, and how many. */
const [KEPT_MS, MOST_KEPT] = [3_600_000, 1_000]
/** Hearings that one person, and people about one tenant, may ask this process for: more than anybody reads. */
const [OF_PERSON, OF_TENANT] = [
  { perSecond: 1 / 30, burst: 20 },
  { perSecond: 1 / 6, burst: 100 },
]
/** Most characters of the models' reasons that are shown. */
const MOST_REASONS = 2_000

/** What came of a hearing, and how many of the appeals were heard. */
export interface HearingResult {
  /** By it a form says that it was shown. */
  readonly id: string
  readonly came: HeardRuling | UnheardReason | 'often'
  readonly appeals: number
}

/** Has appeals heard by the models, for people who have chosen a label and a reason of their own: once, whoever asks, and however often. */
export class AppealsHeard {
  readonly when: 'by-person' | 'always'
  readonly #hearings: AppealHearings
  readonly #clock: Clock
  readonly #closing: AbortSignal
  readonly #known = new Map<
    string,
    { readonly id: string; readonly at: number; readonly came: Promise<HearingResult['came']> }
  >()
  readonly #asked = rates()

  /** `closing`: nobody waits any more. A hearing goes on where a person does not wait: it is paid, and known when they come back. */
  constructor(
    hearings: AppealHearings,
    { when, clock, closing }: { when: AppealsHeard['when']; clock: Clock; closing: AbortSignal },
  ) {
    this.when = when
    this.#hearings = hearings
    this.#clock = clock
    this.#closing = closing
  }

  /**
   * What is shown to a person before their decision counts; null where it counts at once: nobody asked for it, or their form was shown
   * it. `asks`: they ask for it; `shown`: which hearing the form was shown, empty where none.
   */
  async before(
    {
      by,
      ids,
      asks,
      shown,
    }: { readonly by: string; readonly ids: readonly string[]; readonly asks: boolean; readonly shown: string },
    file: CaseFile,
  ): Promise<HearingResult | null> {
    if (!asks && this.when === 'by-person') return null
    const now = this.#clock()
    for (const [old, { at }] of this.#known)
      if (now - at > KEPT_MS || this.#known.size > MOST_KEPT) this.#known.delete(old)
    const { protocol } = file.row.verdict
    const open = openAppeals({ protocol, reasons: ['appealed'] }, file.subjectRecord)
    const heard = open.filter(({ id }) => ids.includes(id)).slice(0, MOST)
    if (heard.length === 0) return null
    // By those that are heard: whatever else a form names, they are heard once.
    const key = JSON.stringify([file.ruled.id, heard.map(({ id }) => id).sort()])
    const known = this.#known.get(key)
    const isShown = known?.id === shown
    if (isShown && !asks) return null
    const begin = () => this.#begin(key, { by, heard, file, now })
    let hearing = known ?? begin()
    leaveTurn()
    const came = await hearing.came
    if (known !== undefined && (came === 'often' || (isShown && (came === 'failed' || came === 'budget')))) {
      const latest = this.#known.get(key)
      // Another request may have begun it anew meanwhile.
      hearing = latest === undefined || latest === known ? begin() : latest
    }
    return { id: hearing.id, came: await hearing.came, appeals: heard.length }
  }

  #begin(
    key: string,
    { by, heard, file, now }: { by: string; heard: readonly AppealWords[]; file: CaseFile; now: number },
  ) {
    const { tenant } = file.row.subject
    const take = (name: string, rate: Rate) => this.#asked.take(name, rate, { units: 1, own: 0 }, now) !== null
    const isOften = take(`person ${by}`, OF_PERSON) || take(`tenant ${tenant}`, OF_TENANT)
    const words = heard.map(({ by: side, text }) => ({ by: side, text }))
    const came = isOften ? Promise.resolve('often' as const) : this.#hearings.hear(file.ruled, words, this.#closing)
    const begun = { id: randomUUID(), at: now, came }
    this.#known.set(key, begun)
    came.catch(() => this.#known.delete(key))
    return begun
  }
}

/** The models' ruling, beside which the person's own choice stays as it is. */
export function heardSection(
  { came, appeals }: Omit<HearingResult, 'id'>,
  protocol: string,
  kinds: ProtocolGuides,
): SafeMarkup {
  const ruling =
    typeof came === 'string'
      ? html`<p>${TEXTS.not} ${{ ...LEFT_OUT, ...TEXTS.because }[came]}.</p>`
      : html`<p>${TEXTS.ruled(appeals, came.questions)} <strong class="label ${toneOf({ protocol, label: came.label }, kinds)}">${words(came.label ?? ALL_TEXTS.row.noLabel, { most: 64 })}</strong></p>
<blockquote>${words(came.rationale, { most: MOST_REASONS })}</blockquote>${came.degraded.length === 0 ? NOTHING : html`<ul class="faint">${came.degraded.map((one) => html`<li>${words(one, { most: 400 })}</li>`)}</ul>`}<p class="faint">${TEXTS.says}</p>`
  return html`<section aria-labelledby="heard" class="notice" role="status"><h3 id="heard">${TEXTS.title}</h3>${ruling}<p>${TEXTS.goOn}</p></section>`
}
