import { z } from 'zod'

// The form in which the European Commission's Transparency Database takes statements of reasons. These are its own rules, restated
// from github.com/digital-services-act/transparency-database at commit 69e80a0bc8eb3cbfbe8246e898194c3bdf490a4b, its store request;
// and, of its documentation, that no restriction ends before it begins.

/** What was done, by the field that it stands in. */
export const DSA_DECISIONS = {
  visibility: [
    'DECISION_VISIBILITY_CONTENT_REMOVED',
    'DECISION_VISIBILITY_CONTENT_DISABLED',
    'DECISION_VISIBILITY_CONTENT_DEMOTED',
    'DECISION_VISIBILITY_CONTENT_AGE_RESTRICTED',
    'DECISION_VISIBILITY_CONTENT_INTERACTION_RESTRICTED',
    'DECISION_VISIBILITY_CONTENT_LABELLED',
  ],
  monetary: ['DECISION_MONETARY_SUSPENSION', 'DECISION_MONETARY_TERMINATION'],
  provision: [
    'DECISION_PROVISION_PARTIAL_SUSPENSION',
    'DECISION_PROVISION_TOTAL_SUSPENSION',
    'DECISION_PROVISION_PARTIAL_TERMINATION',
    'DECISION_PROVISION_TOTAL_TERMINATION',
  ],
  account: ['DECISION_ACCOUNT_SUSPENDED', 'DECISION_ACCOUNT_TERMINATED'],
} as const
export type RestrictionKind = keyof typeof DSA_DECISIONS

export const DSA_GROUNDS = ['DECISION_GROUND_ILLEGAL_CONTENT', 'DECISION_GROUND_INCOMPATIBLE_CONTENT'] as const
export const DSA_SOURCES = [
  'SOURCE_ARTICLE_16',
  'SOURCE_TRUSTED_FLAGGER',
  'SOURCE_TYPE_OTHER_NOTIFICATION',
  'SOURCE_VOLUNTARY',
] as const
export const DSA_CATEGORIES = [
  'ANIMAL_WELFARE',
  'CONSUMER_INFORMATION',
  'CYBER_VIOLENCE',
  'CYBER_VIOLENCE_AGAINST_WOMEN',
  'DATA_PROTECTION_AND_PRIVACY_VIOLATIONS',
  'ILLEGAL_OR_HARMFUL_SPEECH',
  'INTELLECTUAL_PROPERTY_INFRINGEMENTS',
  'NEGATIVE_EFFECTS_ON_CIVIC_DISCOURSE_OR_ELECTIONS',
  'NOT_SPECIFIED_NOTICE',
  'OTHER_VIOLATION_TC',
  'PROTECTION_OF_MINORS',
  'RISK_FOR_PUBLIC_SECURITY',
  'SCAMS_AND_FRAUD',
  'SELF_HARM',
  'UNSAFE_AND_PROHIBITED_PRODUCTS',
  'VIOLENCE',
].map((name) => `STATEMENT_CATEGORY_${name}`)
export const DSA_CONTENT_TYPES = [
  'CONTENT_TYPE_TEXT',
  'CONTENT_TYPE_IMAGE',
  'CONTENT_TYPE_VIDEO',
  'CONTENT_TYPE_AUDIO',
] as const
export const DSA_AUTOMATED = [
  'AUTOMATED_DECISION_FULLY',
  'AUTOMATED_DECISION_PARTIALLY',
  'AUTOMATED_DECISION_NOT_AUTOMATED',
] as const
/** The countries that a statement may name: those of the European Economic Area. */
export const DSA_COUNTRIES: readonly string[] =
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' ')
export const DSA_LANGUAGES: ReadonlySet<string> = new Set(
  `AA AB AE AF AK AM AN AR AS AV AY AZ BA BE BG BH BI BM BN BO BR BS CA CE CH CO CR CS CU CV CY DA DE DV DZ EE EL EN EO ES ET EU FA FF
  FI FJ FO FR FY GA GD GL GN GU GV HA HE HI HO HR HT HU HY HZ IA ID IE IG II IK IO IS IT IU JA JV KA KG KI KJ KK KL KM KN KO KR KS KU
  KV KW KY LA LB LG LI LN LO LT LU LV MG MH MI MK ML MN MR MS MT MY NA NB ND NE NG NL NN NO NR NV NY OC OJ OM OR OS PA PI PL PS PT QU
  RM RN RO RU RW SA SC SD SE SG SI SK SL SM SN SO SQ SR SS ST SU SV SW TA TE TG TH TI TK TL TN TO TR TS TT TW TY UG UK UR UZ VE VI VO
  WA WO XH YI YO ZA ZH ZU`.split(/\s+/),
)

/** Most statements in one call. */
export const MOST_IN_CALL = 100

const day = (least: string) =>
  z.iso.date().refine((text) => text >= least && text <= '2038-01-01', `is before ${least}, or after 2038`)
const until = day('').optional()
const short = z.string().min(1).max(500)
const explanation = z.string().min(1).max(2_000)

const END_DATES = [
  'end_date_visibility_restriction',
  'end_date_monetary_restriction',
  'end_date_service_restriction',
  'end_date_account_restriction',
] as const

/** What every statement has. */
const common = {
  category: z.enum(DSA_CATEGORIES),
  content_type: z.array(z.enum(DSA_CONTENT_TYPES)).min(1),
  content_date: day('2000-01-01'),
  content_language: z
    .string()
    .refine((code) => DSA_LANGUAGES.has(code), 'is no language there')
    .optional(),
  application_date: day('2020-01-01'),
  territorial_scope: z.array(z.enum(DSA_COUNTRIES)).min(1),
  end_date_visibility_restriction: until,
  end_date_monetary_restriction: until,
  end_date_service_restriction: until,
  end_date_account_restriction: until,
  decision_facts: z.string().min(1).max(5_000),
  source_type: z.enum(DSA_SOURCES),
  automated_detection: z.enum(['Yes', 'No']),
  automated_decision: z.enum(DSA_AUTOMATED),
  puid: z
    .string()
    .max(500)
    .regex(/^[a-zA-Z0-9-_]+$/),
  decision_visibility: z.array(z.enum(DSA_DECISIONS.visibility)).min(1).optional(),
  decision_monetary: z.enum(DSA_DECISIONS.monetary).optional(),
  decision_provision: z.enum(DSA_DECISIONS.provision).optional(),
  decision_account: z.enum(DSA_DECISIONS.account).optional(),
}

/** A statement by these rules, as far as Gavel fills it: of what it leaves out nothing is required. */
export const dsaStatement = z
  .discriminatedUnion('decision_ground', [
    z.strictObject({
      ...common,
      decision_ground: z.literal(DSA_GROUNDS[0]),
      illegal_content_legal_ground: short,
      illegal_content_explanation: explanation,
    }),
    z.strictObject({
      ...common,
      decision_ground: z.literal(DSA_GROUNDS[1]),
      incompatible_content_ground: short,
      incompatible_content_explanation: explanation,
    }),
  ])
  .refine(
    (given) =>
      (given.decision_visibility ?? given.decision_monetary ?? given.decision_provision ?? given.decision_account) !==
      undefined,
    'says nothing of what was done: one of the four decisions is needed',
  )
  .superRefine((given, context) => {
    for (const name of END_DATES)
      if ((given[name] ?? given.application_date) < given.application_date)
        context.addIssue({ code: 'custom', path: [name], message: 'is before its application_date' })
  })
export type DsaStatement = z.infer<typeof dsaStatement>
