import { dashboardOf, PROTOCOL } from './dashboard.ts'
import { heat, lines, stat, table, timeline } from './panels.ts'

const FIRING = 'alertname=~"Gavel.*", alertstate="firing", gavel=~"$gavel|"'
/** 1 while a ticket fires, 2 while a page does, by alert; a row of 0 tells that Prometheus was there. */
const FIRED = [
  `max by (alertname, severity) (ALERTS{${FIRING}, severity="page"}) * 2`,
  `max by (alertname, severity) (ALERTS{${FIRING}, severity!="page"})`,
  'label_replace(label_replace(vector(0), "alertname", "Prometheus", "", ""), "severity", "answers", "", "")',
].join(' or ')

/** One look: do users wait, and is it Kafka, a stage, Redis, the model or a tenant? */
export const overview = () =>
  dashboardOf(
    {
      uid: 'gavel-overview',
      title: 'Overview',
      says: "Are verdicts on time and sound, and if not, where does it come from? Read it from top to bottom: each panel's description says what it means and what to do when it is bad.",
    },
    [PROTOCOL],
    [
      {
        asks: null,
        panels: [
          timeline(
            {
              title: 'Alerts that fired',
              says: 'From when to when each alert fired: red pages, orange is a ticket. The first red one is where to begin: docs/runbooks has a page of its name. What a cause explains fires here too, and sends nothing. Green: Prometheus was there to see.',
              unit: 'none',
            },
            { orange: 1, red: 2, texts: { '0': 'answers', '1': 'ticket', '2': 'page' } },
            {
              '{{alertname}} {{severity}}': FIRED,
            },
          ),
          stat(
            {
              title: 'Verdicts in time',
              says: 'Share of the verdicts of an hour that came within objectives.latency; what waits longer, unread in Kafka too, counts as late already. The objective is 99 %. Below: "Where it waits" says where.',
              unit: 'percentunit',
              decimals: 2,
              runbooks: ['GavelLatencyBudgetBurns', 'GavelLatencyBudgetLeaks'],
            },
            { from: 'red', green: 0.99 },
            { 'in time': '1 - max(gavel:late:ratio1h{gavel=~"$gavel"})' },
          ),
          stat(
            {
              title: 'Verdicts sound',
              says: 'Share of the verdicts of an hour that nothing of ours degraded: no deadline, budget, load or library. The objective is 99 %. Below: the dashboard Verdicts says which faults.',
              unit: 'percentunit',
              decimals: 2,
              runbooks: ['GavelFaultBudgetBurns', 'GavelFaultBudgetLeaks'],
            },
            { from: 'red', green: 0.99 },
            { sound: '1 - max(gavel:ours:ratio1h{gavel=~"$gavel"})' },
          ),
          stat(
            {
              title: 'Overdue',
              says: 'What waits longer than objectives.latency now: posts and counterspeech unread in Kafka, due threads, open cases, and records that Kafka has not got. "Where it waits" says which.',
              unit: 'short',
              runbooks: ['GavelCasesStuck'],
            },
            { orange: 1, red: 100 },
            { overdue: 'max(gavel:overdue{gavel=~"$gavel"})' },
          ),
          stat(
            {
              title: 'Alerts',
              says: 'Alerts that fire now, tickets among them. Any: its runbook says what it means and what to do (docs/runbooks).',
              unit: 'short',
            },
            { orange: 1, red: 3 },
            { alerts: 'count(ALERTS{alertname=~"Gavel.*", alertstate="firing", gavel=~"$gavel|"}) or vector(0)' },
          ),
          stat(
            {
              title: 'Replicas',
              says: 'Gavel processes that answer scrapes, of all that Prometheus knows. Fewer than all: read the end of the log of the one that is gone.',
              unit: 'short',
              decimals: 0,
              runbooks: ['GavelReplicaDown', 'GavelDown'],
            },
            {},
            { up: 'sum(up{job="gavel"})', of: 'count(up{job="gavel"})' },
          ),
          stat(
            {
              title: 'Intake',
              says: 'Paused: Redis, the outbox or the number of due threads is at its limit, and Kafka holds the rest. Goes on by itself; if not, see "Backlog" for what is deep, threads or outbox.',
              unit: 'none',
              runbooks: ['GavelIntakePaused'],
            },
            { orange: 1, texts: { '0': 'reading', '1': 'paused' } },
            { intake: 'max(gavel_intake_paused)' },
          ),
          stat(
            {
              title: 'Verdicts per second',
              says: 'Published verdicts a second, over the last 5 minutes. At 0 while messages come in: see "Stream clock behind", then "Open cases".',
              unit: 'suffix:/s',
              decimals: 2,
            },
            { from: 'blue' },
            { 'verdicts/s': 'sum(rate(gavel_verdict_latency_seconds_count{protocol=~"$protocol"}[5m]))' },
          ),
          stat(
            {
              title: 'Verdict latency',
              says: 'From the message, or the due time, that opened a revision to its acknowledged publication: median and 95th percentile of 5 minutes. Over 60 s: "Where the time goes" says whether models or Gavel itself are slow.',
              unit: 's',
              decimals: 2,
              runbooks: ['GavelLatencyBudgetBurns', 'GavelVerdictsLate'],
            },
            { orange: 30, red: 60 },
            {
              p50: 'histogram_quantile(0.5, sum by (le) (rate(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[5m])))',
              p95: 'histogram_quantile(0.95, sum by (le) (rate(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[5m])))',
            },
          ),
          stat(
            {
              title: 'Overhead p95',
              says: 'Latency less the critical path of model calls and less imposed waits: what Gavel itself took. Over a second something is queueing: see "Stages at a glance".',
              unit: 's',
              decimals: 3,
            },
            { orange: 0.25, red: 1 },
            {
              p95: 'histogram_quantile(0.95, sum by (le) (rate(gavel_verdict_overhead_seconds_bucket{protocol=~"$protocol"}[5m])))',
            },
          ),
          stat(
            {
              title: 'Degraded',
              says: 'Share of verdicts of 5 minutes that had to leave something out by a fault of ours or of a model. What a post or its thread lacks is not counted: where threads are thin that is every verdict, and no fault (on the dashboard Verdicts). High: read `degraded` in a few verdicts (gavel verdicts); mostly failed asks, see "Calls by outcome".',
              unit: 'percentunit',
              decimals: 1,
              runbooks: ['GavelFaultBudgetBurns'],
            },
            { orange: 0.05, red: 0.2 },
            {
              degraded:
                '(sum(rate(gavel_verdicts_total{protocol=~"$protocol", fault=~"ours|model"}[5m])) or vector(0)) / sum(rate(gavel_verdicts_total{protocol=~"$protocol"}[5m]))',
            },
          ),
          stat(
            {
              title: 'Without a label',
              says: 'Share of verdicts of 5 minutes that could not be decided. High: unreadable or refused answers, or missed deadlines; each verdict says which.',
              unit: 'percentunit',
              decimals: 1,
              runbooks: ['GavelVerdictsWithoutLabel'],
            },
            { orange: 0.01, red: 0.05 },
            {
              'no label':
                '(sum(rate(gavel_verdicts_total{protocol=~"$protocol", decided_by="none"}[5m])) or vector(0)) / sum(rate(gavel_verdicts_total{protocol=~"$protocol"}[5m]))',
            },
          ),
          stat(
            {
              title: 'Dead letters',
              says: 'Messages in the chosen time that could not be read or judged. Any: gavel dead-letters list says what was wrong with each; replay them once the cause is gone. corrupt-batch and refused can not be replayed.',
              unit: 'short',
              decimals: 0,
              runbooks: ['GavelDeadLetters', 'GavelMessageLost'],
            },
            { orange: 1, red: 100 },
            { 'dead letters': 'sum(increase(gavel_dead_letters_total[$__range]))' },
          ),
          stat(
            {
              title: 'Stream clock behind',
              says: `How far event time is behind the wall clock. In a replay of old content this is that content's age. Growing on live content: a partition is not being read, and nothing falls due; see "Kafka lag".`,
              unit: 's',
              decimals: 0,
            },
            { orange: 60, red: 300 },
            { behind: 'max(gavel_stream_clock_lag_seconds)' },
          ),
          stat(
            {
              title: 'Kafka lag',
              says: 'For how long the partition that is furthest behind has been so; – where that is not known. High: intake is paused, too narrow, or stuck; see "Kafka lag, messages".',
              unit: 's',
              decimals: 0,
              runbooks: ['GavelKafkaLag'],
            },
            { orange: 30, red: 120 },
            { lag: 'max(gavel_kafka_lag_seconds)' },
          ),
          stat(
            {
              title: 'Open cases',
              says: 'Cases that are being judged now. At cases.maxOpen (1000 by default) new ones wait in the thread store: widen the stage that waits.',
              unit: 'short',
              decimals: 0,
            },
            { orange: 900 },
            { open: 'max(gavel_backlog{what="open-cases"})' },
          ),
          stat(
            {
              title: 'Model calls failing',
              says: `Share of calls of 5 minutes that brought no usable answer; calls cut off by a stop don't count. High: "Calls by outcome" names the reason, "Errors by model" the model.`,
              unit: 'percentunit',
              decimals: 1,
              runbooks: ['GavelModelCallsFailing'],
            },
            { orange: 0.05, red: 0.2 },
            {
              failing:
                '(sum(rate(gavel_model_calls_total{outcome!~"answered|aborted|content-filter|refused"}[5m])) or vector(0)) / sum(rate(gavel_model_calls_total[5m]))',
            },
          ),
        ],
      },
      {
        asks: 'Are verdicts on time?',
        panels: [
          lines(
            {
              title: 'Verdict latency by protocol',
              says: `Quantiles from message or due time to acknowledged publication; the red line is the alert's 60 s. p50 high: everything is slow, look at the models. Only p95 high: some cases wait, look at the stages.`,
              unit: 's',
              runbooks: ['GavelVerdictsLate', 'GavelLatencyBudgetBurns'],
            },
            {
              '{{protocol}} p50':
                'histogram_quantile(0.5, sum by (protocol, le) (rate(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
              '{{protocol}} p95':
                'histogram_quantile(0.95, sum by (protocol, le) (rate(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
              '{{protocol}} p99':
                'histogram_quantile(0.99, sum by (protocol, le) (rate(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[$__rate_interval])))',
            },
            { alertAt: 60 },
          ),
          heat(
            {
              title: 'Verdict latency, all',
              says: 'How many verdicts took how long. Two bands: two kinds of cases, such as those with and without a judge. A band that climbs: a queue is building up.',
              unit: 's',
            },
            'sum by (le) (increase(gavel_verdict_latency_seconds_bucket{protocol=~"$protocol"}[$__rate_interval]))',
          ),
          lines(
            {
              title: 'Where the time goes',
              says: `Mean latency in two parts: Gavel's own (queueing, storage, publication), and models with imposed waits (Retry-After, budget). The larger one is where to look: "Stages at a glance" or "Call duration".`,
              unit: 's',
            },
            {
              'Gavel itself':
                'sum(rate(gavel_verdict_overhead_seconds_sum{protocol=~"$protocol"}[$__rate_interval])) / sum(rate(gavel_verdict_overhead_seconds_count{protocol=~"$protocol"}[$__rate_interval]))',
              'models and waits':
                'clamp_min(sum(rate(gavel_verdict_latency_seconds_sum{protocol=~"$protocol"}[$__rate_interval])) - sum(rate(gavel_verdict_overhead_seconds_sum{protocol=~"$protocol"}[$__rate_interval])), 0) / sum(rate(gavel_verdict_latency_seconds_count{protocol=~"$protocol"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Where it waits',
              says: 'What waits longer than objectives.latency: unread in Kafka (intake, or Redis), as a due thread (cases.maxOpen or a pause), as an open case of a protocol (a stage or a model), or in the outbox (Kafka). Of those unread all count that wait in a partition which has been behind for so long; none while Kafka does not tell.',
              unit: 'short',
              runbooks: ['GavelCasesStuck', 'GavelPartitionStuck'],
            },
            { '{{at}} {{protocol}}': 'max by (at, protocol) (gavel_overdue_verdicts)' },
            { stacked: true },
          ),
          lines(
            {
              title: 'Late, by window',
              says: 'Share of verdicts that are late, over windows of 5 minutes to 6 hours. Short and long high: a page. Only the long one: it is over, and what it cost shows here.',
              unit: 'percentunit',
              runbooks: ['GavelLatencyBudgetBurns'],
            },
            {
              '5 m': 'max(gavel:late:ratio5m{gavel=~"$gavel"})',
              '1 h': 'max(gavel:late:ratio1h{gavel=~"$gavel"})',
              '6 h': 'max(gavel:late:ratio6h{gavel=~"$gavel"})',
            },
          ),
          lines(
            {
              title: 'Degraded by our fault, by window',
              says: 'Share of verdicts that Gavel or its settings degraded, over windows of 5 minutes to 6 hours: deadlines, budgets, load, the library.',
              unit: 'percentunit',
              runbooks: ['GavelFaultBudgetBurns'],
            },
            {
              '5 m': 'max(gavel:ours:ratio5m{gavel=~"$gavel"})',
              '1 h': 'max(gavel:ours:ratio1h{gavel=~"$gavel"})',
              '6 h': 'max(gavel:ours:ratio6h{gavel=~"$gavel"})',
            },
          ),
        ],
      },
      {
        asks: 'Is intake keeping up?',
        panels: [
          lines(
            {
              title: 'Kafka lag, messages',
              says: 'Messages not yet read, by topic, over all replicas. Falling: it catches up. Growing while intake is not paused: add replicas with --roles intake, up to one for each partition.',
              unit: 'short',
              decimals: 0,
              runbooks: ['GavelPartitionStuck'],
            },
            { '{{topic}}': 'sum by (topic) (max by (topic, partition) (gavel_kafka_lag_messages))' },
          ),
          lines(
            {
              title: 'Kafka lag, seconds',
              says: `For how long a partition has been behind, as far as it was watched; no line where that is not known. The red line is the alert's 120 s. Growing by a second a second: nobody reads; see "Intake" and "Troubles".`,
              unit: 's',
              runbooks: ['GavelKafkaLag'],
            },
            { '{{topic}}': 'max by (topic) (gavel_kafka_lag_seconds)' },
            { alertAt: 120 },
          ),
          lines(
            {
              title: 'Stream clock',
              says: 'How far event time is behind the wall clock, and whether intake is paused (1). Nothing falls due while the clock stands: one partition without a reader is enough.',
              unit: 's',
              runbooks: ['GavelIntakePaused'],
            },
            { behind: 'max(gavel_stream_clock_lag_seconds)', 'intake paused': 'max(gavel_intake_paused)' },
            { yesOrNo: 'intake paused' },
          ),
          lines(
            {
              title: 'Messages by outcome',
              says: 'Input messages a second by what became of them; each has exactly one outcome. Many duplicates: a producer or a rebalance sends again; after an outage or a restart what was taken in but not yet committed is read once more, and judged no second time. Many late or orphans: topics are out of step. unrouted: no protocol wants them.',
              unit: 'suffix:/s',
              w: 12,
            },
            { '{{topic}} {{outcome}}': 'sum by (topic, outcome) (rate(gavel_messages_total[$__rate_interval]))' },
            { stacked: true, values: true },
          ),
          lines(
            {
              title: 'Dead letters by reason',
              says: 'Messages that could not be read or judged. not-json, invalid: a producer changed. future: its clock is ahead. orphan-expired: posts are missing. over-share: a tenant holds its share of Redis. corrupt-batch, refused: lost until sent anew. gavel dead-letters list shows each.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelDeadLetters', 'GavelMessageLost'],
            },
            { '{{reason}}': 'sum by (reason) (increase(gavel_dead_letters_total[$__rate_interval]))' },
            { bars: true },
          ),
          lines(
            {
              title: 'Kafka lag by partition',
              says: 'Messages not yet read, by partition, also while nobody reads them. One that only grows while others are read: a member of the group holds it and does nothing.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelPartitionStuck'],
            },
            { '{{topic}} {{partition}}': 'max by (topic, partition) (gavel_kafka_lag_messages)' },
            { values: true },
          ),
          table(
            {
              title: 'Readers of partitions',
              says: 'Which replica reads which partition, and how much is unread in it. nobody: no replica of Gavel has it; if it grows, a stranger in the group holds it, or nobody does.',
              unit: 'short',
              w: 12,
              h: 8,
              runbooks: ['GavelPartitionStuck', 'GavelConsumerDown'],
            },
            { topic: 'Topic', partition: 'Partition', instance: 'Replica' },
            [
              {
                name: 'Unread',
                expr: 'max by (topic, partition) (gavel_kafka_lag_messages) * on (topic, partition) group_right () max by (topic, partition, instance) (gavel_partition_assigned) or label_replace(max by (topic, partition) (gavel_kafka_lag_messages) unless on (topic, partition) gavel_partition_assigned, "instance", "nobody", "", "")',
                decimals: 0,
              },
            ],
            'Unread',
          ),
          lines(
            {
              title: 'Stream clock, moved in a minute',
              says: 'How far event time has moved in the last minute: 60 s on live content, more (drawn up to 300) while it catches up, 0, or no line where it is not known, while one partition holds it, and with it every verdict that waits for an age.',
              unit: 's',
              w: 12,
              runbooks: ['GavelPartitionStuck'],
            },
            { moved: 'clamp(60 * (1 - deriv((max(gavel_stream_clock_lag_seconds) >= 0)[1m:1s])), 0, 300)' },
          ),
          lines(
            {
              title: 'Intake paused by',
              says: '1 while a replica has paused its intake, for each of the reasons: what is too deep or too full. Again and again by one of them: that part is too narrow for the stream. Opening: no case opens, because verdicts pile up in the outbox.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelIntakePaused'],
            },
            { '{{reason}}': 'max by (reason) (gavel_intake_paused_by)', opening: 'max(gavel_opening_paused)' },
            { max: 1 },
          ),
          lines(
            {
              title: 'Spared under load',
              says: 'The step of cases.overload that is in force: 1 one opinion in place of a debate, 2 a sample of the comments, 3 what has a verdict waits. More is due than can be judged: more models, more workers, or fewer posts (routes.sample).',
              unit: 'short',
              w: 6,
              runbooks: ['GavelIntakePaused'],
            },
            { step: 'max(gavel_overload_step)' },
            { max: 3 },
          ),
          lines(
            {
              title: 'Consumer down',
              says: 'How long each replica has been without a working Kafka consumer; it makes itself a new one. Climbing: Kafka, or the network to it.',
              unit: 's',
              w: 6,
              runbooks: ['GavelConsumerDown', 'GavelKafkaUnreachable'],
            },
            { '{{instance}}': 'gavel_consumer_down_seconds' },
          ),
        ],
      },
      {
        asks: 'Does the HTTP door answer?',
        panels: [
          lines(
            {
              title: 'Requests at the door',
              says: 'Requests a second by route and how they ended. refused: a fault of their own. busy: a rate, a queue or intake is full. away: Kafka, Redis or a model does not answer. failed: a fault of ours. Empty where no process has the role door.',
              unit: 'suffix:/s',
              w: 8,
              runbooks: ['GavelDoorFailing'],
            },
            {
              '{{route}} {{outcome}}':
                'sum by (route, outcome) (rate(gavel_door_requests_total[$__rate_interval])) > 0',
            },
            { stacked: true },
          ),
          lines(
            {
              title: "The door's own time, p99",
              says: `Without waiting for verdicts and models; of messages with Kafka's acknowledgement. The red line is the alert's quarter of a second.`,
              unit: 's',
              w: 8,
              runbooks: ['GavelDoorSlow'],
            },
            {
              '{{route}}':
                'histogram_quantile(0.99, sum by (route, le) (rate(gavel_door_own_seconds_bucket[$__rate_interval])))',
            },
            { alertAt: 0.25 },
          ),
          lines(
            {
              title: 'Waiting at the door, median',
              says: 'How long requests wait for a verdict or a model: a property of models and load, not of the door.',
              unit: 's',
              w: 8,
            },
            {
              '{{route}}':
                'histogram_quantile(0.5, sum by (route, le) (rate(gavel_door_wait_seconds_bucket[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Webhooks',
              says: 'Verdicts that wait to be sent to a receiver, and that no try has brought there. Parked: gavel webhooks list says why.',
              unit: 'short',
              w: 8,
              decimals: 0,
              runbooks: ['GavelWebhooksParked'],
            },
            { waiting: 'max(gavel_webhooks_waiting)', parked: 'max(gavel_webhooks_parked)' },
          ),
          lines(
            {
              title: 'Webhook tries',
              says: 'Tries a second by how they ended: sent, failed and to be tried again, or parked after the last; and statements of reasons that could not be made, and are never sent. Dropped: never tried, as its tenant holds its share of Redis (shares.tenant).',
              unit: 'suffix:/s',
              w: 8,
            },
            {
              '{{outcome}}': 'sum by (outcome) (rate(gavel_webhook_tries_total[$__rate_interval]))',
              'statements given up': 'sum(rate(gavel_statements_given_up_total[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Keys, last read',
              says: 'How long ago each door last saw its file of API keys. Climbing: it can not be read, and keys that were revoked since are still taken.',
              unit: 's',
              w: 8,
              runbooks: ['GavelDoorKeysUnread'],
            },
            { '{{instance}}': 'max by (instance) (gavel_door_keys_age_seconds)' },
          ),
        ],
      },
      {
        asks: 'Is the service itself well?',
        panels: [
          lines(
            {
              title: 'Backlog',
              says: 'Open cases, threads with a due time (also one that is still to come), and the outbox: decided, not yet published. An outbox that grows: Kafka takes no verdicts, or no replica has the publish role.',
              unit: 'short',
              w: 6,
              decimals: 0,
              runbooks: ['GavelCasesStuck', 'GavelPublicationHeld'],
            },
            { '{{what}}': 'max by (what) (gavel_backlog)' },
          ),
          lines(
            {
              title: 'Time since the start',
              says: 'How long each replica has been running: a fall to 0 is a start, a gap a replica that does not answer. One after the other is a deployment; the same one again and again is a crash loop.',
              unit: 's',
              w: 6,
              runbooks: ['GavelCrashLoop', 'GavelReplicaDown', 'GavelDown'],
            },
            { '{{instance}}': 'time() - process_start_time_seconds{job="gavel"}' },
          ),
          lines(
            {
              title: 'Memory',
              says: 'Resident memory of each replica. It is flat under load; one that only grows is a leak: restart it, and file it with a heap snapshot.',
              unit: 'bytes',
              w: 6,
            },
            { '{{instance}}': 'process_resident_memory_bytes{job="gavel"}' },
          ),
          lines(
            {
              title: 'CPU',
              says: 'Cores used by each replica. A Node process has one for its own code: near 1 it is the bottleneck, so add replicas.',
              unit: 'short',
              w: 6,
            },
            { '{{instance}}': 'rate(process_cpu_seconds_total{job="gavel"}[$__rate_interval])' },
          ),
          lines(
            {
              title: 'Event loop lag, p99',
              says: 'How long work waits for the event loop. Over 0.1 s: a replica is starved; locks and heartbeats are missed at some seconds.',
              unit: 's',
            },
            { '{{instance}}': 'nodejs_eventloop_lag_p99_seconds{job="gavel"}' },
          ),
          lines(
            {
              title: 'Troubles',
              says: 'Errors outside of any one message or ask, by where: Redis, Kafka, publisher, a worker. They are tried again by themselves; a steady stream needs a look at the log, which has each with its name and code.',
              unit: 'short',
              runbooks: ['GavelTroubles'],
            },
            {
              '{{where}}':
                'sum by (where) (increase(gavel_troubles_total[$__rate_interval])) or on () label_replace(vector(0), "where", "none", "", "")',
            },
            { bars: true },
          ),
          lines(
            {
              title: 'Scrapes',
              says: 'How long each replica takes to hand out its metrics, and 0 where it does not answer. Slow: its event loop is blocked or starved of CPU; spread the load over more replicas.',
              unit: 's',
            },
            { '{{instance}}': 'scrape_duration_seconds{job="gavel"} * up{job="gavel"}' },
          ),
          lines(
            {
              title: 'Redis memory',
              says: 'Share of its maxmemory that Redis uses, or of its machine’s memory where it has none. Intake pauses at intake.pauseAtMemory (0.9); at 1 nothing is judged: raise maxmemory, all goes on by itself. No line while Redis does not answer.',
              unit: 'percentunit',
              w: 12,
              runbooks: ['GavelRedisFull', 'GavelRedisNearFull'],
            },
            { 'of maxmemory': 'max(gavel_redis_memory_share)' },
          ),
          lines(
            {
              title: 'Data lost',
              says: '1 while Redis has lost what it had acknowledged (emptied, rolled back) and Gavel stands still: run gavel recover.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelStateLost'],
            },
            { lost: 'max(gavel_state_lost)' },
          ),
          lines(
            {
              title: 'Redis faults',
              says: '1 for what is wrong with Redis, by reason: it refuses what it is asked (disk, no-replicas, loading …), or is set so that data are lost or doubled (eviction, split, or split-accepted where the settings accept it).',
              unit: 'short',
              w: 6,
              runbooks: ['GavelRedisFault'],
            },
            { '{{reason}}': 'max by (reason) (gavel_redis_fault)' },
          ),
          lines(
            {
              title: 'Loops, time since the last success',
              says: 'How long ago each loop of each replica last succeeded. Climbing second by second: it fails or hangs, and the log says why; kafka lag: Kafka is not reachable, store watch: Redis.',
              unit: 's',
              w: 12,
              runbooks: ['GavelLoopFrozen', 'GavelRedisUnreachable', 'GavelKafkaUnreachable'],
            },
            {
              '{{loop}}':
                'max by (loop) (gavel_host_time_seconds - on (instance) group_right gavel_loop_last_success_timestamp_seconds)',
            },
          ),
          lines(
            {
              title: 'Publication',
              says: '1 while records wait in a replica because Kafka does not accept them, by kind; with the setting to change where no retry mends it. Nothing is lost: they stay in the outbox.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelPublicationHeld', 'GavelPublicationClosed'],
            },
            {
              '{{what}} {{instance}}': 'gavel_publication_held',
              '{{what}} {{setting}} {{instance}}': 'gavel_publication_closed',
            },
            { max: 1 },
          ),
          lines(
            {
              title: 'Clocks',
              says: 'How far the clock of each replica is off that of Prometheus. Minutes: deadlines of that replica are wrong, put its time service right.',
              unit: 's',
              w: 6,
              runbooks: ['GavelClockOff'],
            },
            { '{{instance}}': 'abs(gavel_host_time_seconds - timestamp(gavel_host_time_seconds))' },
          ),
          lines(
            {
              title: 'Paused protocols',
              says: '1 while somebody has paused a protocol with "gavel protocols pause". What comes due meanwhile is remembered.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelProtocolPaused'],
            },
            { '{{protocol}}': 'max by (protocol) (gavel_protocol_paused{protocol=~"$protocol"})' },
          ),
          lines(
            {
              title: 'First lanes',
              says: '1 for how each lane stands: open; void, it holds for other prompts, policies or models; closed, people found it wrong too often; closed-in-part, those of some tenants did.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelLaneShut'],
            },
            {
              '{{protocol}} {{lane}} {{state}}':
                'max by (protocol, lane, state) (gavel_lane_state{protocol=~"$protocol"})',
            },
          ),
          table(
            {
              title: 'Builds',
              says: 'The version, roles, settings and prompts of each replica. Two fingerprints outside a deployment: a replica runs with other settings or prompts than the rest.',
              unit: 'short',
              h: 8,
              runbooks: [
                'GavelReplicasDiffer',
                'GavelAllWait',
                'GavelReplicaWaits',
                'GavelDoorGone',
                'GavelRoleGone',
                'GavelReloadRefused',
                'GavelCertificateEnds',
              ],
            },
            {
              instance: 'Replica',
              version: 'Version',
              roles: 'Roles',
              settings: 'Settings',
              prompts: 'Prompts',
              host: 'Host',
            },
            [{ name: 'Up', expr: 'max by (instance, version, roles, settings, prompts, host) (gavel_build_info)' }],
            'Up',
          ),
          lines(
            {
              title: 'Bluesky, seconds behind',
              says: 'How far what is read of Bluesky is behind what its relay sees. Nothing where no process has the role jetstream. Climbing: no stream, or a pause for the backlog; the log says which.',
              unit: 's',
              w: 12,
              runbooks: ['GavelJetstreamBehind'],
            },
            { behind: 'max(gavel_jetstream_lag_seconds)' },
            { alertAt: 300 },
          ),
          lines(
            {
              title: 'Bluesky, events',
              says: 'Events a second by what became of them; what is passed over is left out. A gap: the relay no longer had what lay between.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelJetstreamGap'],
            },
            {
              '{{outcome}}':
                'sum by (outcome) (rate(gavel_jetstream_events_total{outcome!~"passed|duplicate"}[$__rate_interval]))',
              gaps: 'sum(increase(gavel_jetstream_gaps_total[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Traces',
              says: 'Cases a second whose trace the collector has accepted, and spans and events that it refused for good. Nothing while traces are off.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelTracesHeld'],
            },
            {
              accepted: 'sum(rate(gavel_traces_total[5m]))',
              rejected: 'sum(rate(gavel_traces_rejected_total[5m]))',
            },
          ),
          lines(
            {
              title: 'Traces that wait',
              says: 'For how long the oldest published case has waited for the collector to accept its trace. No verdict waits for it.',
              unit: 's',
              w: 12,
              runbooks: ['GavelTracesHeld'],
            },
            { '{{instance}}': 'gavel_traces_waiting_seconds' },
          ),
        ],
      },
    ],
  )
