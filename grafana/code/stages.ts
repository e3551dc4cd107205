import { dashboardOf, PROTOCOL, STAGE } from './dashboard.ts'
import { lines, stat, table } from './panels.ts'

/** Which stage waits, for what, and how much more there is room for. */
export const stages = () =>
  dashboardOf(
    {
      uid: 'gavel-stages',
      title: 'Stages',
      says: 'Which stage waits, why, and how much more load there is room for. The top line of the table is the bottleneck.',
    },
    [PROTOCOL, STAGE],
    [
      {
        asks: 'Which stage waits?',
        panels: [
          table(
            {
              title: 'Stages at a glance',
              says: 'One line for each stage queue, the longest waiting first, as it is now; the percentiles are of 5 minutes. The top line is the bottleneck: if as many are in work as its limit allows, raise stages.*.concurrency and models.slots or add replicas with --roles judge; if none are, no worker takes it. Nothing waits and verdicts are late all the same: see "Inside an attempt". The stage "case" is the case\'s own steps between the rounds. "waiting" and "waiting-case" are the asks and cases of all stages for which somebody waits on HTTP.',
              unit: 'short',
              runbooks: ['GavelStageStuck'],
            },
            { protocol: 'Protocol', stage: 'Stage' },
            [
              {
                name: 'Oldest waiting',
                expr: 'max by (protocol, stage) (gavel_stage_oldest_waiting_seconds{protocol=~"$protocol|all", stage=~"$stage"})',
                unit: 's',
                decimals: 1,
                colours: { orange: 60, red: 120 },
              },
              {
                name: 'Waiting',
                expr: 'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="waiting"})',
                decimals: 0,
              },
              {
                name: 'In work',
                expr: 'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="active"})',
                decimals: 0,
              },
              {
                name: 'Deferred',
                expr: 'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="delayed"})',
                decimals: 0,
              },
              {
                name: 'Wait p95',
                expr: 'histogram_quantile(0.95, sum by (protocol, stage, le) (rate(gavel_stage_wait_seconds_bucket{protocol=~"$protocol|all", stage=~"$stage"}[5m])))',
                unit: 's',
                decimals: 1,
                colours: { orange: 10, red: 60 },
              },
              {
                name: 'Run p95',
                expr: 'histogram_quantile(0.95, sum by (protocol, stage, le) (rate(gavel_stage_run_seconds_bucket{protocol=~"$protocol|all", stage=~"$stage"}[5m])))',
                unit: 's',
                decimals: 1,
              },
            ],
            'Oldest waiting',
          ),
          lines(
            {
              title: 'Oldest waiting by stage',
              says: `Age of the job that has waited longest; it grows second by second while a stage is stuck, also when no job ends. Over the red line (120 s) an alert goes out: see the stage's line in "Stages at a glance".`,
              unit: 's',
              w: 12,
              h: 9,
              runbooks: ['GavelStageStuck'],
            },
            {
              '{{protocol}} {{stage}}':
                'max by (protocol, stage) (gavel_stage_oldest_waiting_seconds{protocol=~"$protocol|all", stage=~"$stage"})',
            },
            { alertAt: 120, values: true },
          ),
          lines(
            {
              title: 'Wait by stage, p95',
              says: 'Time that asks spent in their queue before a worker took them. The stage with the highest line makes verdicts late: widen it, or give its protocol fewer cases at once.',
              unit: 's',
            },
            {
              '{{protocol}} {{stage}}':
                'histogram_quantile(0.95, sum by (protocol, stage, le) (rate(gavel_stage_wait_seconds_bucket{protocol=~"$protocol|all", stage=~"$stage"}[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Wait by class, p95',
              says: 'Time that asks spent in a queue before a worker took them. waiting: somebody waits on HTTP. If its line rises with that of rest, questions alone ask for more than their part (shares.waiting): add replicas with --roles judge.',
              unit: 's',
            },
            {
              '{{class}}':
                'histogram_quantile(0.95, sum by (class, le) (rate(gavel_class_wait_seconds_bucket[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Jobs waiting by stage',
              says: 'Asks in each stage queue that no worker has taken yet. A hill that shrinks again is a burst; one that only grows means too little capacity at that stage.',
              unit: 'short',
              decimals: 0,
            },
            {
              '{{protocol}} {{stage}}':
                'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="waiting"})',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Jobs in work and deferred by stage',
              says: 'In work: bounded by stages.*.concurrency and models.slots on each replica. Deferred (delayed): they wait for a Retry-After or a back-off. Many deferred: the endpoint throttles or fails.',
              unit: 'short',
              decimals: 0,
            },
            {
              '{{protocol}} {{stage}} in work':
                'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="active"})',
              '{{protocol}} {{stage}} deferred':
                'max by (protocol, stage) (gavel_stage_jobs{protocol=~"$protocol|all", stage=~"$stage", state="delayed"})',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Run time by stage, p95',
              says: 'Time that a worker spent on one attempt at an ask, the wait for a free model slot included. High while "Call duration" is not: see "Inside an attempt".',
              unit: 's',
            },
            {
              '{{protocol}} {{stage}}':
                'histogram_quantile(0.95, sum by (protocol, stage, le) (rate(gavel_stage_run_seconds_bucket{protocol=~"$protocol|all", stage=~"$stage"}[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Inside an attempt',
              says: 'Mean time of an attempt in two parts, all stages: the call itself, and the wait for a free model slot with what little else there is. A large wait: models.slots is the bottleneck, though no stage queue shows a job waiting; raise it, or add replicas with --roles judge.',
              unit: 's',
            },
            {
              call: 'sum(rate(gen_ai_client_operation_duration_seconds_sum{gen_ai_operation_name="chat"}[$__rate_interval])) / sum(rate(gavel_stage_run_seconds_count[$__rate_interval]))',
              'waiting for a slot':
                'clamp_min(sum(rate(gavel_stage_run_seconds_sum[$__rate_interval])) - sum(rate(gen_ai_client_operation_duration_seconds_sum{gen_ai_operation_name="chat"}[$__rate_interval])), 0) / sum(rate(gavel_stage_run_seconds_count[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Attempts by outcome',
              says: 'answered; failed (given up, the verdict says so); retry (will be tried again); stale (thrown away, the case had moved on). Failed or retry rising: see "Calls by outcome". Stale rising: workers lose their jobs.',
              unit: 'suffix:/s',
            },
            {
              '{{stage}} {{outcome}}':
                'sum by (stage, outcome) (rate(gavel_stage_run_seconds_count{protocol=~"$protocol|all", stage=~"$stage"}[$__rate_interval]))',
            },
            { stacked: true },
          ),
        ],
      },
      {
        asks: 'How much room is left?',
        panels: [
          lines(
            {
              title: 'Model slots',
              says: 'Asks that hold a model slot, asks that wait for one, and all slots of all replicas. Waiting while all are busy: raise models.slots, or add replicas with --roles judge.',
              unit: 'short',
              w: 6,
            },
            { '{{state}}': 'sum by (state) (gavel_model_slots)' },
          ),
          lines(
            {
              title: 'Slots in use',
              says: 'Busy slots divided by all slots. Near 1 for minutes: calls wait for slots, and Gavel is as fast as models.slots lets it be.',
              unit: 'percentunit',
              w: 6,
            },
            { 'in use': 'sum(gavel_model_slots{state="busy"}) / sum(gavel_model_slots{state="all"})' },
            { max: 1 },
          ),
          lines(
            {
              title: 'Adaptive limit',
              says: 'Calls to each model that all replicas together may have in flight, by what the model was seen to bear. Below the slots: the model has become slower, or turns calls away.',
              unit: 'short',
              w: 6,
            },
            { '{{model}}': 'sum by (model) (gavel_model_adaptive_limit)' },
          ),
          lines(
            {
              title: 'Open cases and their limit',
              says: 'Cases that are judged now. At cases.maxOpen new ones wait as due threads: "Backlog" on the overview has them.',
              unit: 'short',
              w: 6,
              runbooks: ['GavelCasesStuck'],
            },
            { 'open cases': 'max(gavel_backlog{what="open-cases"})' },
          ),
          stat(
            {
              title: 'Backlog is drained in',
              says: 'Open cases divided by the cases concluded a second over 5 minutes: how long it would take if nothing more came.',
              unit: 's',
              w: 6,
              runbooks: ['GavelCasesStuck'],
            },
            { orange: 60, red: 600, time: 'pace of 5 min' },
            {
              'open cases':
                'max(gavel_backlog{what="open-cases"}) / (sum(rate(gavel_cases_total{event="concluded"}[5m])) > 0)',
            },
          ),
          stat(
            {
              title: 'Kafka is caught up in',
              says: 'Messages not yet read divided by those read a second over 5 minutes, if nothing more came.',
              unit: 's',
              w: 6,
              runbooks: ['GavelKafkaLag'],
            },
            { orange: 60, red: 600, time: 'pace of 5 min' },
            {
              messages:
                'sum(max by (topic, partition) (gavel_kafka_lag_messages)) / (sum(rate(gavel_messages_total[5m])) > 0)',
            },
          ),
          stat(
            {
              title: 'Replicas for twice the load, by slots',
              says: 'Twice the slots that are busy or waited for, divided by the slots of one replica, rounded up.',
              unit: 'short',
              w: 6,
            },
            { from: 'blue' },
            {
              replicas:
                'ceil(2 * sum(avg_over_time(gavel_model_slots{state=~"busy|waiting"}[5m])) / avg(gavel_model_slots{state="all"}))',
            },
          ),
          stat(
            {
              title: 'Replicas for twice the load, by CPU',
              says: 'Twice the cores in use, at 0.8 of a core for each replica, rounded up: a Node process has one core for its own code.',
              unit: 'short',
              w: 6,
            },
            { from: 'blue' },
            { replicas: 'ceil(2 * sum(rate(process_cpu_seconds_total{job="gavel"}[5m])) / 0.8)' },
          ),
        ],
      },
      {
        asks: 'Do cases move?',
        panels: [
          lines(
            {
              title: 'Cases opened and concluded',
              says: 'Cases a second. Opened above concluded for long: capacity is short, and open cases pile up to cases.maxOpen.',
              unit: 'suffix:/s',
              w: 12,
            },
            {
              '{{event}}':
                'sum by (event) (rate(gavel_cases_total{protocol=~"$protocol", event=~"opened|concluded"}[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Cases fenced and revived',
              says: `Fenced: a worker's result came after another had taken its case over, and was thrown away. Revived: an open case had lost its job. A few after a crash are healing; a steady stream means that workers die or stall.`,
              unit: 'short',
              w: 12,
              runbooks: ['GavelWorkersDying'],
            },
            {
              '{{event}}':
                'sum by (event) (increase(gavel_cases_total{protocol=~"$protocol", event=~"fenced|revived"}[$__rate_interval]))',
            },
            { bars: true },
          ),
          lines(
            {
              title: 'Stalled jobs',
              says: 'Jobs taken from a worker that sent no heartbeat, by queue. A few after a kill; a steady stream: replicas are starved (event loop, CPU) or Redis is slow.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelWorkersDying'],
            },
            { '{{queue}}': 'sum by (queue) (increase(gavel_stalled_jobs_total[1m]))' },
          ),
          lines(
            {
              title: 'Lapsed locks',
              says: 'Jobs whose lock their worker could not renew in time, by queue: another may have run them as well. Steady: replicas or Redis stand still for seconds.',
              unit: 'short',
              w: 12,
              runbooks: ['GavelLocksLapse'],
            },
            { '{{queue}}': 'sum by (queue) (increase(gavel_lapsed_locks_total[1m]))' },
            { bars: true },
          ),
          lines(
            {
              title: 'Slots that are taken',
              says: 'The part of its slots that each replica takes. Below 1 its event loop lags, and it takes fewer, so that locks are renewed in time: lower models.slots or stages.*.concurrency, or add replicas.',
              unit: 'percentunit',
              w: 12,
              runbooks: ['GavelLocksLapse'],
            },
            { '{{instance}}': 'min by (instance) (gavel_slots_share)' },
          ),
        ],
      },
    ],
  )
