import { dashboardOf, PROTOCOL, STAGE } from './dashboard.ts'
import { lines, table } from './panels.ts'

/** What models do, what they cost, and what holds calls back. */
export const models = () =>
  dashboardOf(
    {
      uid: 'gavel-models',
      title: 'Models and money',
      says: 'Do the models answer, how fast, at what price, and what holds calls back: limits, budgets, breakers.',
    },
    [PROTOCOL, STAGE],
    [
      {
        asks: 'Do the models answer?',
        panels: [
          lines(
            {
              title: 'Calls by outcome',
              says: 'Calls a second by how they ended. unavailable, timeout: the endpoint. rate-limited: quota; lower models.slots. rejected: key or model name. unreadable, refused: the model does not keep to the form; undo the last change of prompt or model.',
              unit: 'suffix:/s',
            },
            { '{{outcome}}': 'sum by (outcome) (rate(gavel_llm_calls_total{stage=~"$stage"}[$__rate_interval]))' },
            { stacked: true },
          ),
          lines(
            {
              title: 'Errors by model',
              says: `Share of each model's calls without a usable answer, but for what was refused for its content; the red line is the alert's 20 %. One model bad: put another first in models.roles. All bad: the endpoint or the network.`,
              unit: 'percentunit',
              runbooks: ['GavelModelCallsFailing'],
            },
            {
              '{{model}}':
                '(sum by (model) (rate(gavel_llm_calls_total{stage=~"$stage", outcome!~"answered|aborted|content-filter|refused"}[$__rate_interval])) or 0 * sum by (model) (rate(gavel_llm_calls_total{stage=~"$stage"}[$__rate_interval]))) / sum by (model) (rate(gavel_llm_calls_total{stage=~"$stage"}[$__rate_interval]))',
            },
            { alertAt: 0.2, max: 1 },
          ),
          lines(
            {
              title: 'Call duration',
              says: 'Quantiles of calls by model. Rising with the load: the endpoint is saturated, lower models.slots. Flat at models.callTimeout: it hangs; put another model first.',
              unit: 's',
            },
            {
              '{{gen_ai_request_model}} p50':
                'histogram_quantile(0.5, sum by (gen_ai_request_model, le) (rate(gen_ai_client_operation_duration_seconds_bucket[$__rate_interval])))',
              '{{gen_ai_request_model}} p95':
                'histogram_quantile(0.95, sum by (gen_ai_request_model, le) (rate(gen_ai_client_operation_duration_seconds_bucket[$__rate_interval])))',
            },
          ),
          lines(
            {
              title: 'Calls by stage',
              says: 'Calls a second by the stage that made them. A stage that makes far more than its attempts: answers have to be asked for twice.',
              unit: 'suffix:/s',
            },
            { '{{stage}}': 'sum by (stage) (rate(gavel_llm_calls_total{stage=~"$stage"}[$__rate_interval]))' },
            { stacked: true },
          ),
          lines(
            {
              title: 'Models kept away from',
              says: '0: called, 1: tried again, 2: left alone, by model and replica. The next model of the chain is asked meanwhile.',
              unit: 'short',
              runbooks: ['GavelNoModel', 'GavelModelKeptAway'],
            },
            { '{{model}} {{instance}}': 'max by (model, instance) (gavel_breaker_state)' },
          ),
          lines(
            {
              title: 'Refused by filters',
              says: "Calls a second that an endpoint's filter refused for what they hold, by category. Evidence about posts, not a fault: the verdict names it, and has no benign label. Sudden and of every kind: the endpoint's filter was changed.",
              unit: 'suffix:/s',
            },
            {
              '{{protocol}} {{category}}':
                'sum by (protocol, category) (rate(gavel_filtered_total[$__rate_interval])) or on () label_replace(label_replace(vector(0), "protocol", "none", "", ""), "category", "refused", "", "")',
            },
            { stacked: true },
          ),
          table(
            {
              title: 'Chains',
              says: 'The models of each chain of models.roles, and whether they are called now (0), tried (1) or left alone (2) by the replica that sees them worst.',
              unit: 'short',
              w: 12,
              h: 8,
              runbooks: ['GavelNoModel'],
            },
            { role: 'Role', model: 'Model' },
            [
              {
                name: 'Breaker',
                expr: 'max by (role, model) (gavel_role_model * on (gavel, instance, model) group_left () gavel_breaker_state)',
                colours: { orange: 1, red: 2 },
              },
            ],
            'Breaker',
          ),
          table(
            {
              title: 'What refusals have shown',
              says: 'By model what it was found not to take (images, a tier, the parameter for a temperature, …), and how many times a running process found that out. It is asked otherwise from then on, and gavel doctor says how; models.dialects can say so from the start.',
              unit: 'short',
              w: 12,
              h: 8,
            },
            { model: 'Model', parameter: 'What' },
            [
              {
                name: 'Times',
                expr: 'sum by (model, parameter) (gavel_dialect_lessons_total) or on () label_replace(label_replace(vector(0), "model", "none", "", ""), "parameter", "nothing", "", "")',
                colours: { orange: 1 },
              },
            ],
            'Times',
          ),
        ],
      },
      {
        asks: 'What do they cost?',
        panels: [
          lines(
            {
              title: 'Calls per verdict',
              says: 'Calls for each published verdict, all protocols. Rising: more rounds, larger threads, or retries; compare "Debate rounds" and "Attempts by outcome".',
              unit: 'short',
              decimals: 1,
              w: 6,
            },
            {
              'calls per verdict':
                'sum(rate(gavel_llm_calls_total[$__rate_interval])) / sum(rate(gavel_verdict_latency_seconds_count[$__rate_interval]))',
            },
          ),
          lines(
            {
              title: 'Tokens per second',
              says: 'Tokens in and out by model. Input that jumps: longer threads or a changed prompt. It is what the bill follows.',
              unit: 'suffix:/s',
              w: 6,
            },
            {
              '{{gen_ai_request_model}} {{gen_ai_token_type}}':
                'sum by (gen_ai_request_model, gen_ai_token_type) (rate(gen_ai_client_token_usage_sum[$__rate_interval]))',
            },
            { stacked: true },
          ),
          lines(
            {
              title: 'Cost per hour',
              says: 'US dollars an hour at the present rate, by the prices in models.prices; a model without a price counts as free. Too high: fewer checkpoints, a smaller model for debaters, or a protocol paused.',
              unit: 'currencyUSD',
              w: 6,
            },
            { '{{model}}': 'sum by (model) (rate(gavel_llm_cost_usd_total[$__rate_interval])) * 3600' },
            { stacked: true },
          ),
          lines(
            {
              title: 'Questions answered from memory',
              says: 'Questions, or pieces of one, a second that no model was asked: retries, revisions, duplicate posts, copied comments. What it saves stands in gavel_memo_saved_tokens_total.',
              unit: 'ops',
              w: 6,
            },
            { '{{protocol}}': 'sum by (protocol) (rate(gavel_memo_hits_total{protocol=~"$protocol"}[1m]))' },
          ),
          lines(
            {
              title: 'Tokens saved by the memo',
              says: 'Tokens a second that were not paid for again, by protocol: answers that somebody had paid for before.',
              unit: 'suffix:/s',
            },
            { '{{protocol}}': 'sum by (protocol) (rate(gavel_memo_saved_tokens_total{protocol=~"$protocol"}[1m]))' },
            { stacked: true },
          ),
          lines(
            {
              title: 'Cost of a verdict',
              says: 'US dollars for each published verdict, all protocols, over 5 minutes. Rising: more rounds, larger threads, or retries; see "Calls per verdict".',
              unit: 'currencyUSD',
            },
            {
              'a verdict':
                'sum(rate(gavel_llm_cost_usd_total[5m])) / sum(rate(gavel_verdict_latency_seconds_count[5m]))',
            },
          ),
          lines(
            {
              title: 'Answers whose cost is an estimate',
              says: 'Answers a second, by model, whose endpoint reported no usage (missing), or more than can be (beyond): budgets book the most that the call can use, and verdicts an estimate. Have the server, or the gateway before it, pass on "usage".',
              unit: 'suffix:/s',
            },
            { '{{model}} {{why}}': 'sum by (model, why) (rate(gavel_llm_unmetered_calls_total[$__rate_interval]))' },
            { stacked: true },
          ),
        ],
      },
      {
        asks: 'What holds calls back?',
        panels: [
          lines(
            {
              title: 'Calls that wait for a limit',
              says: `Times a second that a call came before its limit had room, by whose limit it is. It waits at no attempt's cost; verdicts get late. Raise limits.models or limits.tenants, or ask less (routes).`,
              off: 'not set up',
              unit: 'ops',
              w: 6,
            },
            { '{{scope}}': 'sum by (scope) (rate(gavel_calls_limited_total[1m]))' },
          ),
          lines(
            {
              title: 'Budgets without room',
              says: 'Refusals a second by budget. in-flight passes by itself; spent waits for its renewal (budgets.whenSpent) or leaves verdicts degraded.',
              off: 'not set up',
              unit: 'ops',
              w: 6,
              runbooks: ['GavelBudgetSpent'],
            },
            { '{{scope}}, {{why}}': 'sum by (scope, why) (rate(gavel_budget_refusals_total[1m]))' },
          ),
          lines(
            {
              title: 'Limits used',
              says: 'Share of each limit of a model or a tenant that the last minute used; of the tenants the ten fullest. At 1 calls wait.',
              off: 'not set up',
              unit: 'percentunit',
              w: 6,
            },
            { '{{scope}} {{name}} {{unit}}': 'max by (scope, name, unit) (gavel_limit_used_ratio)' },
            { max: 1 },
          ),
          lines(
            {
              title: 'Budgets used',
              says: 'Share of each budget that is used in its period; of the tenants the ten fullest. At 1 calls wait for its renewal, or verdicts go without (budgets.whenSpent).',
              off: 'not set up',
              unit: 'percentunit',
              w: 6,
              runbooks: ['GavelBudgetSpent'],
            },
            {
              '{{scope}} {{name}} {{unit}}': 'max by (scope, name, unit) (gavel_budget_used_ratio{scope!="total"})',
              'total {{unit}}': 'max by (unit) (gavel_budget_used_ratio{scope="total"})',
            },
            { max: 1 },
          ),
        ],
      },
    ],
  )
