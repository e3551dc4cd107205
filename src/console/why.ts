import { entryOf } from '../contracts/facts/entry-of.ts'
import type { CaseFile } from './case-file.ts'
import { covered, uncoveredAt } from './covers.ts'
import { scoreBar } from './kinds.ts'
import { TEXTS } from './texts.ts'
import { html, NOTHING, type TemplatePart, when, words } from './view.ts'

/**
 * The meaning of its numbers and its rule in plain words, and then the words of the deciding model or person. `name` tells it from others
 * on the same page; `cover`: why the post's own words are covered, and so are these, which may repeat them.
 */
export function whySection(
  file: CaseFile,
  { most = 6_000, name = '', cover }: { most?: number; name?: string; cover: string | null },
): TemplatePart {
  const { row, kind, debate } = file
  const { verdict } = row
  const { judge } = debate
  const isHuman = verdict.decidedBy === 'human'
  // Scores in place of a label stand in the headline.
  const tells =
    verdict.decidedBy === 'scores' && verdict.label === null
      ? []
      : (kind?.reading?.tells?.(verdict.scores, verdict.label) ?? [])
  // A rule says what would have counted: where there is no label, something else was in its way.
  const ruled = verdict.label === null ? [] : ruleMeanings(judge?.rule, kind)
  const facts = isHuman ? [] : [...tells, ...ruled]
  if (verdict.rationale === '' && facts.length === 0) return clausesIn(file, cover)
  const title = isHuman ? TEXTS.verdict.whyHuman : TEXTS.verdict.why
  const said = html`${isHuman ? NOTHING : strongest(file)}
${facts.length === 0 || verdict.rationale === '' ? NOTHING : html`<h3>${TEXTS.verdict.whyModels}</h3>`}
<div class="said">${words(verdict.rationale, { most })}</div>`
  return html`<section aria-labelledby="why${name}" class="why"><h2 id="why${name}">${title}</h2>
${facts.map((fact) => html`<p>${fact}</p>`)}${cover === null || verdict.rationale === '' ? said : covered(TEXTS.verdict.reasonsCovered(cover), said, { uncovered: uncoveredAt(verdict.id, 'reasons') })}
${clausesIn(file, cover)}</section>`
}

/** The clauses that it cites, each with the words of the post, and the policy that they are of. */
function clausesIn({ row, kind }: CaseFile, cover: string | null): TemplatePart {
  const { policy, clauses = [] } = row.verdict
  if (policy === undefined) return NOTHING
  if (clauses.length === 0)
    return html`<p class="faint">${TEXTS.verdict.byPolicy} ${words(policy.name, { most: 100 })} ${words(policy.version, { most: 40 })}</p>`
  const cited = clauses.map(({ id, quote }) => {
    const said = when(quote, (own) => html`<q>${words(own, { most: 500 })}</q>`)
    const title = kind?.clausesFor?.(row.subject).find((one) => one.id === id)?.title ?? ''
    return html`<li>${words(title === '' ? id : `${id} ${title}`, { most: 140 })}${quote === undefined ? NOTHING : html`: ${cover === null ? said : covered(cover, said)}`}</li>`
  })
  return html`<h3>${TEXTS.verdict.clauses} ${words(policy.name, { most: 100 })} ${words(policy.version, { most: 40 })}</h3><ul>${cited}</ul>`
}

/** Longest words of a comment that stand as one of the strongest. */
const MOST_QUOTED = 240

/** The comment that was scored highest on each side, by its words. */
function strongest({ kind, ruled, thread, debate: { marks } }: CaseFile): TemplatePart {
  if (kind?.reading?.debate?.showsComments !== true || thread === null) return NOTHING
  const sizeOf = (id: string) => Math.abs(marks.get(id)?.score ?? 0)
  return [ruled.evidence.support, ruled.evidence.oppose].map((side, at): TemplatePart => {
    const [first] = side.toSorted((one, other) => sizeOf(other) - sizeOf(one))
    const comment = thread.comments.find(({ id }) => id === first)
    const mark = marks.get(first ?? '')
    if (comment === undefined || mark === undefined) return NOTHING
    return html`<p><span class="faint">${TEXTS.verdict.strongest[at] ?? ''}</span> “${words(comment.text, { most: MOST_QUOTED })}” <span class="faint">${words(comment.author ?? TEXTS.verdict.unknown, { most: 60 })}</span> ${scoreBar(mark.score)}</p>`
  })
}

function ruleMeanings(rule: string | null | undefined, kind: CaseFile['kind']): string[] {
  const means = entryOf(kind?.reading?.rules ?? {}, rule ?? '')
  return means === undefined || rule === null || rule === undefined ? [] : [TEXTS.verdict.ruleSays(rule, means)]
}
