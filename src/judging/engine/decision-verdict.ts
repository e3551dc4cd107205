import { hash } from 'node:crypto'
import type { DecisionMessage, VerdictProposal } from '../../contracts/facts/decision-messages.ts'
import { proposal as proposalSchema } from '../../contracts/facts/decision-messages.ts'
import { jsonOf } from '../../contracts/facts/json-of.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import {
  noComments,
  noUsage,
  type RulingSummary,
  type Verdict,
  verdict as verdictSchema,
} from '../../contracts/facts/verdict.ts'
import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { namedIn, proposalIdFor, verdictScope } from '../../contracts/facts/verdict-id.ts'
import type { OverridingVerdict, VerdictTexts } from '../../contracts/ports/cases.ts'
import {
  type DecisionBasis,
  decisionName,
  type HumanDecision,
  type LabelledVerdict,
} from '../../contracts/ports/decisions.ts'
import { kindNamed } from './routes.ts'
import type { Protocol } from './script.ts'
import { fillSchemaTwo, inForm, pickSchemaTwo, storyPlaced } from './verdict-form.ts'
import { versionsOf } from './versions.ts'

/** What the ids of a subject's verdicts by this protocol have before their number. */
export function scopeOfSubject(
  { ref, protocol: name }: Pick<HumanDecision, 'ref' | 'protocol'>,
  protocol: Protocol | undefined,
): string {
  const named = kindNamed(protocol, ref.kind)
  return verdictScope({ protocol: name, tenant: ref.tenant, ...namedIn(ref), ...named })
}

/**
 * The verdict that a decision brings about: the human's; or, where that is withdrawn, the machines' last ruling again. Null where
 * none is kept and the subject can be judged anew.
 */
export function decidedVerdict(
  decision: HumanDecision,
  protocol: Protocol,
  on: DecisionBasis & { readonly lang?: string | undefined },
  writes: VerdictForm,
): LabelledVerdict | null {
  const ruling = on.machine === null ? null : rulingIn(on.machine)
  // Of a post that is no longer there only the machines' ruling may tell it.
  const basis = { ...on, ruling, lang: on.lang ?? ruling?.lang, gavel: writes.gavel }
  const decided = decision.withdraw ? restored(decision, protocol, basis) : human(decision, protocol, basis)
  if (decided === null) return null
  const made = inForm(decided, writes)
  const { protocol: name, tenant, subjectId, revision, final, label, scores, decidedBy, faults, usage, timing } = made
  const verdict: RulingSummary = {
    protocol: name,
    tenant,
    subjectId,
    revision,
    final,
    label,
    scores,
    decidedBy,
    faults,
    usage,
    timing,
    heldMs: 0,
    lostCalls: [],
  }
  const transcript = JSON.stringify({ schema: 1, verdictId: made.id, verdict, subject: null, turns: [], cut: [] })
  return { label: made.label, verdict: JSON.stringify(storyPlaced(made, decision.ref.kind)), transcript }
}

/** The same with the machines' last ruling as it was read, the post's language, and the version that writes. */
interface VerdictBasis extends DecisionBasis {
  readonly lang: string | undefined
  readonly ruling: Verdict | VerdictProposal | null
  readonly gavel: string
}

function human(decision: HumanDecision, protocol: Protocol, on: VerdictBasis): Verdict {
  const { label, why, by, place, against, force, unseen, cited } = decision
  return {
    ...bare(decision, protocol, on),
    ...cited,
    // Comments dispute it as before, whatever a person decides.
    ...(on.ruling?.opposed === undefined ? {} : { opposed: on.ruling.opposed }),
    label,
    rationale: why,
    decidedBy: 'human',
    decision: {
      by,
      against: against === 0 ? null : `${on.scope}${against}`,
      of: decisionName(place),
      ...(force ? { forced: true as const } : {}),
      ...(unseen === true ? { unseen } : {}),
    },
  }
}

function restored(decision: HumanDecision, protocol: Protocol, on: VerdictBasis): Verdict | null {
  const { ruling } = on
  if (ruling === null && on.isLive) return null
  const { why, by, place } = decision
  const taken = bare(decision, protocol, on)
  if (ruling === null)
    return {
      ...taken,
      degraded: ['the human verdict was withdrawn, and the machines’ ruling before it is no longer known'],
      faults: ['evidence'],
      restored: { from: null, by, why, of: decisionName(place) },
    }
  const { label, scores, rationale, decidedBy, rounds, evidence, degraded, faults, counts, models, versions, steps } =
    ruling
  return {
    ...taken,
    // A ruling of schema 1 says nothing of its debate but how long it was.
    debated: { held: rounds > 0, why: 'unknown' },
    ...pickSchemaTwo(ruling),
    label,
    scores,
    rationale,
    decidedBy,
    rounds,
    evidence,
    degraded,
    faults,
    counts,
    models,
    // Machines' rulings of schema 1 do not say by which version of Gavel.
    versions: { gavel: on.gavel, ...versions },
    steps,
    filtered: ruling.filtered,
    final: ruling.final,
    restored: { from: ruling.id, by, why, of: decisionName(place) },
  }
}

/** A verdict that machines reached, or a proposal; null if another version wrote it. */
function rulingIn(json: string): Verdict | VerdictProposal | null {
  const given = jsonOf({ value: json })
  const [ruled, proposed] = [verdictSchema.safeParse(given), proposalSchema.safeParse(given)]
  return ruled.success ? ruled.data : proposed.success ? proposed.data : null
}

/**
 * A verdict with nothing in it. Its times are the decision's own, so that every process writes the same; when its subject was written
 * is told by the machines' ruling.
 */
function bare({ ref, protocol: name, place }: HumanDecision, protocol: Protocol, on: VerdictBasis): Verdict {
  const at = new Date(place.timestamp).toISOString()
  const createdAt = on.ruling?.timing.createdAt ?? at
  return {
    schema: 2,
    id: `${on.scope}${on.number}`,
    ...namedIn(ref),
    ...fillSchemaTwo(ref.kind, on.lang),
    tenant: ref.tenant,
    protocol: name,
    revision: on.number,
    final: true,
    supersedes: on.published === 0 ? null : `${on.scope}${on.published}`,
    label: null,
    scores: {},
    rationale: '',
    decidedBy: 'none',
    rounds: 0,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [],
    faults: [],
    counts: noComments(),
    usage: noUsage(),
    models: {},
    versions: { gavel: on.gavel, ...versionsOf(protocol) },
    timing: { createdAt, receivedAt: at, openedAt: at, decidedAt: at, modelMs: 0, overheadMs: 0 },
  }
}

/** The same ruling as a proposal beneath a verdict that people brought about. It keeps its case's number, which is no verdict's then. */
export function proposalOf(ruled: Verdict, above: OverridingVerdict, transcript: (id: string) => string): VerdictTexts {
  const { revision, supersedes: _, ...ruling } = ruled
  const id = proposalIdFor(ruled.id)
  const differs = ruling.label !== null && ruling.label !== above.label
  const proposed: VerdictProposal = { ...ruling, id, proposal: revision, beneath: above.id, differs }
  return { verdict: JSON.stringify(proposed), transcript: transcript(id) }
}

/** A decision as it was read, on this subject. */
export function decisionOf(message: DecisionMessage, place: HumanDecision['place'], ref: ThreadRef): HumanDecision {
  const { protocol, label = null, withdraw = false, against, by, why } = message
  const { force = false, opinion = false, unseen, appeals, measure } = message
  const golden = opinion && message.golden !== undefined
  const more = [
    ...(golden ? [golden] : []),
    ...(message.clauses === undefined ? [] : [message.clauses]),
    // Some thousand characters of ids, kept with the subject.
    ...((appeals ?? measure) === undefined ? [] : [hash('sha256', JSON.stringify([appeals, measure]))]),
  ]
  const same = JSON.stringify([message.at, by, against, withdraw, label, force, opinion, ...more])
  return {
    ref,
    protocol,
    place,
    same,
    withdraw,
    label,
    against,
    force,
    opinion,
    golden,
    unseen,
    by,
    why,
  }
}

/** Whether a decision's label differs from that of the machines' last ruling, if one is kept. */
export function overrules({ label, withdraw }: HumanDecision, { machine }: DecisionBasis): boolean {
  const ruled = machine === null ? null : rulingIn(machine)
  return !withdraw && ruled !== null && ruled.label !== label
}
