import { entryOf } from '../domain/entry-of.ts'
import type { CaseFile } from './case-file.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type Part, words } from './view.ts'

/** What its numbers and its rule say in plain words, and then what was said by whoever decided. */
export function whySection({ row: { verdict }, kind, debate: { judge } }: CaseFile, most = 6_000): Part {
  const isHuman = verdict.decidedBy === 'human'
  const facts = isHuman ? [] : [...(kind?.reading?.tells?.(verdict.scores) ?? []), ...ruleSays(judge?.rule, kind)]
  if (verdict.rationale === '' && facts.length === 0) return NOTHING
  const title = isHuman ? TEXTS.verdict.whyHuman : TEXTS.verdict.why
  return html`<section aria-labelledby="why" class="why"><h2 id="why">${title}</h2>
${facts.map((fact) => html`<p>${fact}</p>`)}
${facts.length === 0 || verdict.rationale === '' ? NOTHING : html`<h3>${TEXTS.verdict.whyModels}</h3>`}
<div class="said">${words(verdict.rationale, { most })}</div></section>`
}

function ruleSays(rule: string | null | undefined, kind: CaseFile['kind']): string[] {
  const means = entryOf(kind?.reading?.rules ?? {}, rule ?? '')
  return means === undefined || rule === null || rule === undefined ? [] : [TEXTS.verdict.ruleSays(rule, means)]
}
