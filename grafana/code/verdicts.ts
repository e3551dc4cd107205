import { dashboardOf, PROTOCOL } from './dashboard.ts'
import { lines, stat } from './panels.ts'

/** What is decided, how, and how sound it is. */
export const verdicts = () =>
  dashboardOf(
    {
      uid: 'gavel-verdicts',
      title: 'Verdicts',
      says: 'What is decided, how it comes about, and what was left out of it, by whose fault.',
    },
    [PROTOCOL],
    [
      {
        asks: 'What is decided?',
        panels: [
          stat(
            {
              title: 'Verdicts',
              says: 'Published verdicts in the chosen time, revisions and retractions among them.',
              unit: 'short',
              w: 6,
            },
            { from: 'blue' },
            { verdicts: 'sum(increase(gavel_verdicts_total{protocol=~"$protocol"}[$__range]))' },
          ),
          stat(
            {
              title: 'Deletions',
              says: 'Verdicts that were retracted because their post was deleted, in the chosen time.',
              unit: 'short',
              w: 6,
            },
            { from: 'blue' },
            {
              deletions:
                'sum(increase(gavel_verdicts_total{protocol=~"$protocol", decided_by="deleted"}[$__range])) or vector(0)',
            },
          ),
          stat(
            {
              title: 'Degraded by our fault',
              says: "Share of the verdicts of 5 minutes that Gavel or its settings degraded: deadlines, budgets, load, the library. Each verdict's `degraded` says what.",
              unit: 'percentunit',
              decimals: 1,
              w: 6,
              runbooks: ['GavelFaultBudgetBurns'],
            },
            { orange: 0.01, red: 0.05 },
            {
              ours: '(sum(rate(gavel_verdicts_total{protocol=~"$protocol", fault="ours"}[5m])) or vector(0)) / sum(rate(gavel_verdicts_total{protocol=~"$protocol"}[5m]))',
            },
          ),
          stat(
            {
              title: "Degraded by a model's fault",
              says: 'Share of the verdicts of 5 minutes that an answer or an endpoint degraded: unreadable, refused, unavailable. "Calls by outcome" on Models and money says which.',
              unit: 'percentunit',
              decimals: 1,
              w: 6,
              runbooks: ['GavelModelCallsFailing'],
            },
            { orange: 0.05, red: 0.2 },
            {
              model:
                '(sum(rate(gavel_verdicts_total{protocol=~"$protocol", fault="model"}[5m])) or vector(0)) / sum(rate(gavel_verdicts_total{protocol=~"$protocol"}[5m]))',
            },
          ),
          lines(
            {
              title: 'Verdicts by label',
              says: `Published verdicts a second by protocol and label. A label's share that jumps without an event behind it: a prompt, a model or a setting was changed, or somebody floods the stream.`,
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{protocol}} {{label}}':
                'sum by (protocol, label) (rate(gavel_verdicts_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Verdicts by how they were decided',
              says: `Consensus, judge, arbiter, majority, single (one opinion), scores, lane, or none. Many by the judge: debaters do not agree, which costs calls. Fewer by lane than its fit told: the decider is away. Many by none: answers can't be read or deadlines pass.`,
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{protocol}} {{decided_by}}':
                'sum by (protocol, decided_by) (rate(gavel_verdicts_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Controls that the debate changed',
              says: 'Share of the controls of a day whose debate changed the label: subjects that are debated though nothing calls for it (controlShare). High: the gate misses debates that matter, or debates break what was right; gavel eval tells which.',
              unit: 'percentunit',
              w: 6,
            },
            {
              '{{protocol}}':
                'sum by (protocol) (increase(gavel_controls_total{protocol=~"$protocol", outcome="changed"}[1d])) / clamp_min(sum by (protocol) (increase(gavel_controls_total{protocol=~"$protocol"}[1d])), 1)',
            },
            { max: 1 },
          ),
        ],
      },
      {
        asks: 'What do people say?',
        panels: [
          lines(
            {
              title: 'Decisions of people',
              says: 'Decisions a second by what came of them. late: another verdict had come since. refused and unknown are dead letters.',
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{protocol}} {{outcome}}':
                'sum by (protocol, outcome) (rate(gavel_decisions_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Overrulings',
              says: 'Share of the human verdicts of a day that say something else than machines said last. High: look at what is overruled (gavel review stats), and at the prompts.',
              unit: 'percentunit',
              w: 6,
            },
            {
              '{{protocol}}':
                'sum by (protocol) (increase(gavel_overrulings_total{protocol=~"$protocol"}[1d])) / clamp_min(sum by (protocol) (increase(gavel_decisions_total{protocol=~"$protocol", outcome="stands"}[1d])), 1)',
            },
            { max: 1 },
          ),
          lines(
            {
              title: 'Second looks, and proposals beneath human verdicts',
              says: 'Requests for review a second by why, and rulings of machines that are proposals. differs and edited: a human verdict may no longer be right.',
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{why}}': 'sum by (why) (rate(gavel_reviews_total{protocol=~"$protocol"}[$__rate_interval]))',
              proposals: 'sum(rate(gavel_proposals_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Decisions that wait',
              says: 'How long ago the oldest decision arrived that waits to be carried out. It waits for the verdict before it: verdicts are not published.',
              unit: 's',
              w: 6,
              runbooks: ['GavelDecisionsWait'],
            },
            { waits: 'max(gavel_decision_waiting_seconds)' },
          ),
        ],
      },
      {
        asks: 'What do variants judge?',
        panels: [
          lines(
            {
              title: 'Cases of variants',
              says: 'Cases a second that variants have judged: published ones of a ramp, and those in the shadow, which publish nothing.',
              off: 'no variant',
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{protocol}} {{variant}} {{way}}':
                'sum by (protocol, variant, way) (rate(gavel_variant_judged_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Dollars of variants',
              says: 'What they cost an hour. In the shadow it is beside the bill of what is live, and bounded by --budget.',
              off: 'no variant',
              unit: 'currencyUSD',
              w: 6,
            },
            {
              '{{protocol}} {{variant}} {{way}}':
                '3600 * sum by (protocol, variant, way) (rate(gavel_variant_usd_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Known to the shadow',
              says: 'Share of the questions of a variant in the shadow that the live case had an answer to. 0: all that it changes stands in every question.',
              off: 'no variant in the shadow',
              unit: 'percentunit',
              w: 6,
            },
            {
              '{{protocol}} {{variant}}':
                'sum by (protocol, variant) (rate(gavel_variant_questions_total{protocol=~"$protocol", answered="known"}[$__rate_interval])) / sum by (protocol, variant) (rate(gavel_variant_questions_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
            { max: 1 },
          ),
          lines(
            {
              title: 'The shadow waits',
              says: 'How many cases of a variant in the shadow wait for slots that nothing live needs, or for a new day of its budget. Always: give it a smaller share, or the service more slots.',
              off: 'no variant in the shadow',
              unit: 'short',
              w: 6,
            },
            {
              '{{protocol}} {{variant}}':
                'sum by (protocol, variant) (rate(gavel_variant_waited_seconds_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
        ],
      },
      {
        asks: 'How do they come about?',
        panels: [
          lines(
            {
              title: 'Debate rounds',
              says: 'Mean rounds of debate for a verdict, and the 95th percentile. At the set maximum all the time: debaters never agree; their model may be too weak, or the rounds a waste.',
              unit: 'short',
              decimals: 1,
              w: 6,
            },
            {
              '{{protocol}} mean':
                'sum by (protocol) (rate(gavel_debate_rounds_sum{protocol=~"$protocol"}[$__rate_interval])) / sum by (protocol) (rate(gavel_debate_rounds_count{protocol=~"$protocol"}[$__rate_interval]))',
              '{{protocol}} p95':
                'histogram_quantile(0.95, sum by (protocol, le) (rate(gavel_debate_rounds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Overhead by protocol',
              says: 'What Gavel itself took for a verdict. Bad at high load only: the stages are too narrow. Bad at low load: Redis or Kafka is slow, or the process is starved of CPU.',
              unit: 's',
              w: 6,
            },
            {
              '{{protocol}} p50':
                'histogram_quantile(0.5, sum by (protocol, le) (rate(gavel_verdict_overhead_seconds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
              '{{protocol}} p95':
                'histogram_quantile(0.95, sum by (protocol, le) (rate(gavel_verdict_overhead_seconds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Degraded by fault',
              says: "Verdicts a second from which something is missing by a fault: ours (Gavel's or its operator's) or a model's. Those whose evidence is thin are beside it: that is no failure.",
              unit: 'suffix:/s',
              w: 6,
              runbooks: ['GavelFaultBudgetBurns'],
            },
            {
              '{{fault}}':
                'sum by (fault) (rate(gavel_verdicts_total{protocol=~"$protocol", fault=~"ours|model"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Whole, or on thin evidence',
              says: 'Verdicts a second without a fault: with all they should rest on (none), or of a thread that has too few comments or too many (evidence). Nothing to mend: where threads are thin it is every verdict.',
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{fault}}':
                'sum by (fault) (rate(gavel_verdicts_total{protocol=~"$protocol", fault=~"evidence|none"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'In time, by protocol',
              says: 'Share of each protocol’s verdicts of 5 minutes that came within objectives.latency.',
              unit: 'percentunit',
              w: 12,
              runbooks: ['GavelLatencyBudgetBurns'],
            },
            {
              '{{protocol}}':
                '(sum by (protocol) (rate(gavel_objective_verdicts_total{protocol=~"$protocol", in_time="true"}[5m]))) / (sum by (protocol) (rate(gavel_objective_verdicts_total{protocol=~"$protocol"}[5m])) > 0)',
            },
            { max: 1 },
          ),
          lines(
            {
              title: 'Searches by shelf',
              says: 'Searches of the library a second, by shelf and by whether it had anything to show. Only false: the shelf is missing, empty or another embedder’s.',
              off: 'not set up',
              unit: 'suffix:/s',
              w: 12,
              runbooks: ['GavelShelfEmpty'],
            },
            {
              '{{protocol}} {{shelf}} {{found}}':
                'sum by (protocol, shelf, found) (rate(gavel_shelf_searches_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Erasures that wait',
              says: 'How long the oldest deletion has waited to be erased from shelves, and from cases that were shown something of it. 0: nothing waits.',
              unit: 's',
              w: 12,
              runbooks: ['GavelErasureWaits'],
            },
            { '{{at}}': 'max by (at) (gavel_erasure_oldest_waiting_seconds)' },
          ),
        ],
      },
      {
        asks: 'Is the record whole, and do people look?',
        panels: [
          lines(
            {
              title: 'The record: unread',
              says: 'Messages that the record has still to read. What it has not read it does not find, and does not erase. Empty where no process has the role record.',
              off: 'not set up',
              unit: 'short',
              w: 8,
              decimals: 0,
              runbooks: ['GavelRecordBehind'],
            },
            { '{{topic}}': 'max by (topic) (gavel_record_lag_messages)' },
          ),
          lines(
            {
              title: 'The record: size',
              says: 'Bytes of its file. Where it is full (record.maxBytes) the oldest transcripts make room.',
              off: 'not set up',
              unit: 'bytes',
              w: 8,
              runbooks: ['GavelRecordFull', 'GavelRecordShare'],
            },
            { bytes: 'max(gavel_record_bytes)', 'largest tenant': 'max(gavel_record_largest_tenant_bytes)' },
          ),
          lines(
            {
              title: 'The record: erasure',
              says: 'For how long the oldest deletion has waited to be gone from its log as well. 0: nothing waits.',
              off: 'not set up',
              unit: 's',
              w: 8,
              runbooks: ['GavelRecordErasureWaits'],
            },
            { oldest: 'max(gavel_record_erasure_oldest_waiting_seconds)' },
          ),
          lines(
            {
              title: 'Verdicts that wait for people',
              says: 'Undecided, contested, degraded, asked about again, or drawn for audit: gavel review list.',
              off: 'not set up',
              unit: 'short',
              w: 12,
              decimals: 0,
            },
            { '{{protocol}}': 'max by (protocol) (gavel_review_queue{protocol=~"$protocol"})' },
          ),
          lines(
            {
              title: 'The oldest of them',
              says: 'For how long it has waited. Age raises its place in the queue for two days, and then no further.',
              off: 'not set up',
              unit: 's',
              w: 12,
            },
            { '{{protocol}}': 'max by (protocol) (gavel_review_oldest_seconds{protocol=~"$protocol"})' },
          ),
          lines(
            {
              title: 'Appeals',
              says: 'Those that wait for an answer, and of these those that are overdue (appeals.due).',
              off: 'not set up',
              unit: 'short',
              w: 8,
              decimals: 0,
              runbooks: ['GavelAppealsOverdue'],
            },
            { open: 'max(gavel_appeals_open)', overdue: 'max(gavel_appeals_overdue)' },
          ),
          lines(
            {
              title: 'Outcomes of appeals',
              says: 'By what became of them. Many that are too-many: one contact, or one tenant, floods.',
              off: 'not set up',
              unit: 'short',
              w: 8,
            },
            {
              '{{outcome}}': 'sum by (outcome) (increase(gavel_appeals_total[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'The oldest appeal',
              says: 'For how long it has waited. Beyond appeals.due it is overdue: assign it to somebody who has not decided on it.',
              off: 'not set up',
              unit: 's',
              w: 8,
            },
            { oldest: 'max(gavel_appeals_oldest_seconds)' },
          ),
          lines(
            {
              title: 'Stories that contradict themselves',
              says: 'Posts in the same words whose verdicts contradict one another, until a person decides.',
              off: 'not set up',
              unit: 'short',
              w: 12,
              decimals: 0,
              runbooks: ['GavelStoryDiffers'],
            },
            { stories: 'max(gavel_story_differing)' },
          ),
          lines(
            {
              title: 'Verdicts in stories that a person decided',
              says: 'By whether they have the same label: then nobody decides again.',
              off: 'not set up',
              unit: 'short',
              w: 12,
            },
            {
              '{{protocol}} {{agrees}}':
                'sum by (protocol, agrees) (increase(gavel_story_decided_verdicts_total{protocol=~"$protocol"}[$__rate_interval]))',
            },
          ),
        ],
      },
    ],
  )
