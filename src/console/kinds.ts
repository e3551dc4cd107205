import { entryOf } from '../contracts/facts/entry-of.ts'
import type { ReadingGuide } from '../contracts/facts/reading.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type SafeMarkup, shown, words } from './view.ts'

/** A protocol's description of itself for people. */
export interface ProtocolGuide {
  /** What people may decide in its place. */
  readonly labels: readonly string[]
  readonly harmful?: string
  readonly harmless?: string
  readonly reading?: ReadingGuide
  /** The clauses that a decision of harm may cite, of the policy for a tenant's posts; none where there is no policy. */
  readonly clausesFor?: (subject: ThreadRef) => readonly { readonly id: string; readonly title: string }[]
  /** By words that its models answer with, in small letters, the labels that these mean. */
  readonly meanings?: Readonly<Record<string, string>>
}

/** The protocols by their names, also those that are switched off. */
export type ProtocolGuides = ReadonlyMap<string, ProtocolGuide>

type Labelled = Pick<Verdict, 'protocol' | 'label' | 'decidedBy' | 'scores'>

/** Whether a label means that something is wrong. */
export function toneOf({ protocol, label }: Pick<Labelled, 'protocol' | 'label'>, kinds: ProtocolGuides): string {
  const kind = kinds.get(protocol)
  if (label === null) return 'none'
  if (label === kind?.harmful) return 'bad'
  return label === kind?.harmless ? 'good' : 'plain'
}

/** A verdict's result in a word or a number. */
export function sayingOf({ label, scores, decidedBy }: Labelled): string {
  if (label !== null) return label
  if (decidedBy !== 'scores') return TEXTS.row.noLabel
  const [first] = Object.entries(scores).toReversed()
  return first === undefined ? TEXTS.row.noLabel : `${first[0]} ${Math.round(first[1] * 100) / 100}`
}

export function badge(verdict: Labelled, kinds: ProtocolGuides): SafeMarkup {
  return html`<strong class="label ${toneOf(verdict, kinds)}">${words(sayingOf(verdict), { most: 64 })}</strong>`
}

/** What a label means, in a sentence; empty where its protocol does not say. */
function meansOf(label: string | null, kind: ProtocolGuide | undefined): string {
  return label === null ? '' : (entryOf(kind?.reading?.labels ?? {}, label) ?? '')
}

/** What a verdict means, in a sentence: its label, or, where it has scores in its place, these. */
export function findingOf({ label, decidedBy, scores }: Labelled, kind: ProtocolGuide | undefined): string {
  if (decidedBy !== 'scores' || label !== null) return meansOf(label, kind)
  return (kind?.reading?.tells?.(scores, label) ?? []).join(' ')
}

/** How a verdict came about, in words; a way of another version by its own. */
export function howDecided({ decidedBy, rounds, label }: Pick<Verdict, 'decidedBy' | 'rounds' | 'label'>): string {
  if (decidedBy === 'scores' && label !== null) return TEXTS.unasked
  return entryOf(TEXTS.decidedBy, decidedBy)?.(rounds) ?? shown(decidedBy, 64)
}

/** How sure a number from -1 to 1 is, as a bar with its number beside it: colour alone tells nobody. */
export function scoreBar(score: number): SafeMarkup {
  const width = Math.round(Math.min(1, Math.abs(score)) * 20)
  const x = score < 0 ? 20 - width : 20
  const side = score > 0 ? 'plus' : score < 0 ? 'minus' : 'zero'
  return html`<span class="score ${side}"><svg class="bar-of" width="40" height="8" viewBox="0 0 40 8" aria-hidden="true"><line x1="20" y1="0" x2="20" y2="8" class="axis"></line><rect x="${x}" y="1" width="${width}" height="6" rx="1"></rect></svg>${signed(score)}</span>`
}

export function signed(score: number): string {
  const rounded = Math.round(score * 100) / 100
  return rounded > 0 ? `+${rounded}` : rounded < 0 ? `−${-rounded}` : '0'
}

export function meaning(says: string, kind: ProtocolGuide | undefined): SafeMarkup {
  const label = Object.entries(kind?.meanings ?? {}).find(([word]) => word === says.trim().toLowerCase())?.[1]
  const tone = label === undefined ? '' : label === kind?.harmful ? ' bad' : label === kind?.harmless ? ' good' : ''
  return html`<span class="says${tone}">${words(says, { most: 64 })}</span>${label === undefined ? NOTHING : html` <span class="faint">(${label})</span>`}`
}
