import { LEFT_OUT } from '../contracts/facts/what-if-report.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { AppealHearings, HeardRuling, UnheardReason } from '../contracts/ports/hearings.ts'
import { openAppeals } from './appeals-section.ts'
import type { CaseFile } from './case-file.ts'
import { type ProtocolGuides, toneOf } from './kinds.ts'
import { REVIEW_TEXTS } from './review-texts.ts'
import { TEXTS as ALL_TEXTS } from './texts.ts'
import { html, NOTHING, type SafeMarkup, words } from './view.ts'

const { heard: TEXTS } = REVIEW_TEXTS.review.appeals

/** Most appeals that are heard at once. */
const MOST = 5
/** How long what somebody was shown is kept, in ms, and for how many decisions. */
const [KEPT_MS, MOST_KEPT] = [3_600_000, 1_000]
/** Most characters of the models' reasons that are shown. */
const MOST_REASONS = 2_000

/** What came of a hearing, and how many of the appeals were heard. */
export interface HearingResult {
  readonly came: HeardRuling | UnheardReason
  readonly appeals: number
}

/** Has appeals heard by the models, for people who have chosen a label and a reason of their own: to each the same once. */
export class AppealsHeard {
  readonly when: 'by-person' | 'always'
  readonly #hearings: AppealHearings
  readonly #clock: Clock
  readonly #shown = new Map<string, HearingResult & { readonly at: number }>()

  constructor(hearings: AppealHearings, when: AppealsHeard['when'], clock: Clock) {
    this.when = when
    this.#hearings = hearings
    this.#clock = clock
  }

  /**
   * What is shown to a person before their decision counts; null where it counts at once: nobody asked for it, or they were shown it.
   * `asks`: they ask for it.
   */
  async before(
    { by, ids, asks }: { readonly by: string; readonly ids: readonly string[]; readonly asks: boolean },
    file: CaseFile,
    signal: AbortSignal,
  ): Promise<HearingResult | null> {
    if (!asks && this.when === 'by-person') return null
    const now = this.#clock()
    for (const [old, { at }] of this.#shown)
      if (now - at > KEPT_MS || this.#shown.size > MOST_KEPT) this.#shown.delete(old)
    const { protocol } = file.row.verdict
    const open = openAppeals({ protocol, reasons: ['appealed'] }, file.subjectRecord)
    const heard = open.filter(({ id }) => ids.includes(id)).slice(0, MOST)
    if (heard.length === 0) return null
    // By those that are heard: whatever else a form names, they are heard once.
    const key = JSON.stringify([by, file.row.verdict.id, heard.map(({ id }) => id).sort()])
    const known = this.#shown.get(key)
    if (known !== undefined && (!asks || known.came !== 'failed')) return asks ? known : null
    const came = await this.#hearings.hear(
      file.ruled,
      heard.map(({ by: side, text }) => ({ by: side, text })),
      signal,
    )
    const shown = { came, appeals: heard.length, at: now }
    this.#shown.set(key, shown)
    return shown
  }
}

/** The models' ruling, beside which the person's own choice stays as it is. */
export function heardSection({ came, appeals }: HearingResult, protocol: string, kinds: ProtocolGuides): SafeMarkup {
  const ruling =
    typeof came === 'string'
      ? html`<p>${TEXTS.not} ${came === 'no-place' ? TEXTS.noPlace : LEFT_OUT[came]}.</p>`
      : html`<p>${TEXTS.ruled(appeals, came.questions)} <strong class="label ${toneOf({ protocol, label: came.label }, kinds)}">${words(came.label ?? ALL_TEXTS.row.noLabel, { most: 64 })}</strong></p>
<blockquote>${words(came.rationale, { most: MOST_REASONS })}</blockquote>${came.degraded.length === 0 ? NOTHING : html`<ul class="faint">${came.degraded.map((one) => html`<li>${words(one, { most: 400 })}</li>`)}</ul>`}<p class="faint">${TEXTS.says}</p>`
  return html`<section aria-labelledby="heard" class="notice" role="status"><h3 id="heard">${TEXTS.title}</h3>${ruling}<p>${TEXTS.goOn}</p></section>`
}
