import { type Post, shownIn, snapshot } from '../contracts/facts/thread.ts'
import type { Transcript, Verdict } from '../contracts/facts/verdict.ts'
import { argumentSection, benchSection, restSection, voicesSection } from './argument.ts'
import { debateOf } from './debate.ts'
import { threadTable, turnsSection } from './evidence.ts'
import { badge, howDecided, type ProtocolGuide } from './kinds.ts'
import { usd } from './notes.ts'
import { toFile } from './page-file.ts'
import { TEXTS } from './texts.ts'
import { claimCard } from './thread.ts'
import { html, NOTHING, type SafeMarkup, shown, type TemplatePart, words } from './view.ts'

/** One judging of an item, by its name. */
export interface DebateRun {
  readonly name: string
  readonly verdict: Verdict
  readonly transcript: Transcript
}

/** An item with everything that was said of it. */
export interface DebatedItem {
  readonly id: string
  readonly data: string
  /** What people say; null where they only rate. */
  readonly gold: string | null
  readonly runs: readonly DebateRun[]
}

const SAYS = {
  back: 'All items',
  people: 'People say',
  left: 'Left',
  right: 'Right',
  isRight: 'as people say',
  isWrong: 'not as people say',
  calls: (calls: number) => `${calls} ${calls === 1 ? 'call' : 'calls'}`,
  beside: 'Two runs side by side',
} as const

/** Two runs stand beside each other, one below the other on a narrow screen; without its script all of them do. */
const STYLE = `
main { max-inline-size: none }
.runs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 2rem; align-items: start }
.run { min-inline-size: 0; overflow-wrap: anywhere; border-block-start: 2px solid var(--line) }
.run[hidden] { display: none }
.run.second { order: 1 }
.run .columns { grid-template-columns: 1fr }
.run .side-head { display: none }
.run .side-name { position: static; inline-size: auto; block-size: auto; clip-path: none; font-weight: 650 }
.run .one .side-name { color: var(--one) }
.run .other .side-name { color: var(--other) }
.run pre { white-space: pre-wrap }
.choose { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem }
select { font: inherit; max-inline-size: 100% }
`

/**
 * Shows the two runs that are chosen: at first the one that the address names, else a debate that people contradict, a debate, or another
 * that they contradict; and one that has another label, a debate if there is one.
 */
const SCRIPT = `
const runs = [...document.querySelectorAll('.run')]
const [one, other] = document.querySelectorAll('select')
const show = () => {
  for (const run of runs) {
    const at = run.id.slice(4)
    run.hidden = at !== one.value && at !== other.value
    run.classList.toggle('second', at === other.value && at !== one.value)
  }
}
const first = (tests) => tests.map((test) => runs.find(test)).find(Boolean)
const isDebated = (run) => run.querySelector('.speech') !== null
const isWrong = (run) => run.dataset.is === 'wrong'
const named = first([(run) => '#' + run.id === location.hash, (run) => isWrong(run) && isDebated(run), isDebated, isWrong, () => true])
const differs = (run) => run.dataset.label !== named.dataset.label
const beside = first([(run) => differs(run) && isDebated(run), differs, (run) => run !== named, () => true])
one.value = named.id.slice(4)
other.value = beside.id.slice(4)
for (const choice of [one, other]) choice.addEventListener('change', show)
document.querySelector('.choose').hidden = runs.length < 2
show()
`

/** Everything that was said of an item as one page, which needs no server: every turn and prompt of its runs, two of them beside each other. */
export function debateFile(
  { id, data, gold, runs }: DebatedItem,
  { kind, style, back }: { kind: ProtocolGuide | undefined; style: string; back: string },
): string {
  const thread = runs.flatMap(({ transcript }) => snapshot.safeParse(transcript.subject).data ?? [])[0] ?? null
  const [first] = runs
  const options = runs.map(({ name }, at) => html`<option value="${at}">${shown(name, 120)}</option>`)
  const chosen = [SAYS.left, SAYS.right].map((side) => html`<label>${side} <select>${options}</select></label>`)
  const body = html`<p><a href="${back}">${SAYS.back}</a></p>
<h1>${words(id, { most: 200 })} <small>${words(data, { most: 120 })}</small></h1>
${gold === null ? NOTHING : html`<p>${SAYS.people} <strong>${words(gold, { most: 64 })}</strong></p>`}
${thread === null ? NOTHING : claimCard(thread, { pictures: picturesOf(thread.post) })}
<p class="choose" role="group" aria-label="${SAYS.beside}">${chosen}</p>
<div class="runs">${runs.map((run, at) => runSection(run, { at, gold, kind }))}</div>
${thread === null || first === undefined || thread.comments.length === 0 ? NOTHING : html`<div id="comments">${threadTable({ thread, debate: viewOf(first, kind) })}</div>`}`
  return toFile(`${shown(id, 100)} · ${shown(data, 100)}`, body, { style: `${style}${STYLE}`, script: SCRIPT })
}

function viewOf({ verdict, transcript }: DebateRun, kind: ProtocolGuide | undefined) {
  const comments = snapshot.safeParse(transcript.subject).data?.comments ?? []
  return debateOf(transcript, kind?.reading, { evidence: verdict.evidence, comments })
}

function runSection(
  run: DebateRun,
  { at, gold, kind }: { at: number; gold: string | null; kind: ProtocolGuide | undefined },
): SafeMarkup {
  const { name, verdict, transcript } = run
  const { label, evidence, rationale, usage, models, degraded } = verdict
  const kinds = new Map(kind === undefined ? [] : [[verdict.protocol, kind] as const])
  const debate = viewOf(run, kind)
  const comments = snapshot.safeParse(transcript.subject).data?.comments ?? []
  const sides = kind?.reading?.debate?.showsComments === true ? [evidence.support, evidence.oppose] : [[], []]
  const is = gold === null ? '' : label === gold ? SAYS.isRight : SAYS.isWrong
  const asked = [...new Set(Object.entries(models).flatMap(([role, model]) => (role === 'library' ? [] : [model])))]
  return html`<section class="run" id="run-${at}" data-label="${shown(label ?? '', 64)}" data-is="${gold === null || label === gold ? '' : 'wrong'}" aria-labelledby="name-${at}"><h2 id="name-${at}">${words(name, { most: 120 })}: ${badge(verdict, kinds)} <small>${is}</small></h2>
<p class="faint">${words(howDecided(verdict))} ${SAYS.calls(usage.calls)}, $${usd(usage.costUsd)}${asked.length === 0 ? NOTHING : html`, ${words(asked.join(', '), { most: 400 })}`}</p>
${degraded.length === 0 ? NOTHING : html`<p class="notice">${words(degraded.join('; '), { most: 1_000 })}</p>`}
<div class="said">${words(rationale, { most: 6_000 })}</div>
${voicesSection(debate, kind, `-${at}`)}
${argumentSection({ debate, kind, comments, shown: [sides[0] ?? [], sides[1] ?? []], placeOf: () => null, name: `-${at}` })}
${benchSection(debate, kind, { rationale, title: TEXTS.verdict.bench, name: `-${at}` })}
${restSection(debate, null)}
${turnsSection(transcript)}</section>`
}

/** What is said of a post's images: a file shows none of them, which may be large and lie anywhere. */
function picturesOf({ media = [] }: Post): TemplatePart {
  return media.map((medium) => html`<p class="image">${words(shownIn(medium) ?? '[image]', { most: 1_000 })}</p>`)
}
