/** The words of a verdict's pages, and of a file that is saved. */
export const VERDICT_TEXTS = {
  decidedBy: {
    consensus: (rounds: number) =>
      rounds === 0 ? 'All agreed from the start.' : `Both sides agreed after ${inRounds(rounds)}.`,
    judge: (rounds: number) =>
      rounds === 0 ? 'A judge decided.' : `A judge decided after ${inRounds(rounds)} of debate.`,
    arbiter: (rounds: number) =>
      rounds === 0 ? 'The arbiter ruled alone.' : `The arbiter ruled after ${inRounds(rounds)} of debate.`,
    majority: () => 'More than half of the perspectives agreed.',
    scores: () => 'It was scored, aspect by aspect.',
    single: () => 'One opinion was asked for, without a debate.',
    none: () => 'Nothing could be decided.',
    deleted: () => 'The subject was deleted.',
    lane: () => 'A first model was sure of it: it was not debated.',
    veto: () => 'It is on a list of what no model is asked about: of it hashes alone are kept.',
    human: () => 'Decided',
  } as Readonly<Record<string, (rounds: number) => string>>,
  stance: {
    title: 'Stance over time',
    says: 'Each circle is a comment’s score, from −1 (opposes) to +1 (supports); the line is their mean so far, by the scores that count now. A dashed line is a revision, with its number, at its last comment. Times are in UTC.',
    later: 'What was decided long after the last comment stands at the edge; the table has its time.',
    unscored: (count: number, of: number) => `${count} of the ${of} comments have no score and are not in it.`,
    described: (comments: number, mean: string, revisions: number) =>
      `The scores of ${comments} comments over time, with a mean of ${mean} at the end, and ${inRevisions(revisions)}. As a table below.`,
    table: 'As a table',
    heads: ['Revision', 'Opened', 'Label', 'Comments', 'Supporting', 'Opposing'],
  },
  /** Of a label that rests on the comments' scores alone. */
  unasked: 'Nobody was asked for an opinion.',
  verdict: {
    title: 'Verdict',
    by: (protocol: string) => `protocol ${protocol}`,
    revision: (number: number) => `revision ${number}`,
    forNow: 'for now',
    final: 'final',
    finalMeans: 'No further revision is planned. An edit, late comments or a person may still change it.',
    forNowMeans: 'It is judged again when more comments have come.',
    at: 'decided',
    tenant: (tenant: string) => `tenant ${tenant}`,
    ofRevisions: (number: number, last: number) => `revision ${number} of ${last}`,
    notStanding: 'A later revision is current.',
    openStanding: 'Open it',
    contested: 'A narrow result: the sides did not agree.',
    opposed: 'Its comments dispute it since',
    conflicting: 'Another message has this id and other content.',
    erased:
      'A comment that this rested on was deleted. Its words, and the texts about them, are gone. Label and numbers stay.',
    deleted: 'The subject was deleted. Ids and times are all that is kept.',
    noTranscript:
      'The argument of this revision is not in the record: it was dropped for space, was erased, or has not come yet.',
    unreadable: 'The argument was written by another version and can’t be shown.',
    cut: 'To fit into a message the argument was shortened:',
    claim: 'The post',
    reply: 'The reply',
    comment: 'The comment',
    under: 'It stands under',
    answers: 'It answers',
    noImage: 'nobody described it',
    video: 'Video',
    audio: 'Audio',
    noWords: 'nobody wrote down what is said in it',
    why: 'Why',
    whyHuman: 'The person’s reason',
    clauses: 'Clauses of the policy',
    whyModels: 'In their own words',
    ruleSays: (rule: string, means: string) => `Rule ${rule}: ${means}`,
    carried: (revision: number) =>
      `Little has changed since revision ${revision}: its argument still holds, and is shown here.`,
    overruled: (revision: number) => `A person decided. What follows is of the machines’ revision ${revision}.`,
    withdrew: (name: string) => `Published again, because ${name} withdrew a human verdict:`,
    byHand: (all: boolean) =>
      `${all ? 'What is said here' : 'Part of what is said here'} was recorded by hand: no language model answered.`,
    together: (copies: number) =>
      `You decided ${copies === 1 ? 'a copy' : `${copies} copies`} together with it. Withdrawing one leaves the others; u takes back all of your last decision:`,
    unseenDecision:
      'Something of the post was not shown to who decided, as it was judged or at all: this is no example for anybody.',
    disputed: 'Disputed: a third person is asked, since a second opinion says',
    byPolicy: 'It was judged by the policy',
    /** In the place of a model's name. */
    wordLists: 'word lists, no model',
    byUnderstudy: (all: boolean) =>
      `${all ? 'What is said here' : 'Part of what is said here'} comes from word lists: no language model answered.`,
    argument: 'The argument',
    argumentCovered: (why: string) => `The argument. ${why}`,
    reasonsCovered: (why: string) => `The reasons. ${why}`,
    round: (round: number) => (round === 0 ? 'First views' : `Round ${round}`),
    failed: (code: string) => `No answer (${code})`,
    shown: 'was shown',
    quotes: 'quotes',
    legend:
      'The bar beside a comment: how far it supports the post’s claim (right, up to +1) or opposes it (left, down to −1). A model scored it, and may be wrong.',
    bench: 'The decision',
    overruledBench: 'What the machines decided',
    rule: 'Rule that was applied',
    perspectives: 'Perspectives',
    scores: 'Scores',
    rest: 'Before the argument',
    comments: (count: number) => (count === 1 ? '1 comment' : `${count} comments`),
    counted: 'Named as evidence',
    readByDebaters: 'Read by the debaters',
    supporting: (count: number, all: number) =>
      `${shareOf(count, all)} that ${count === 1 ? 'supports' : 'support'} it`,
    opposing: (count: number, all: number) => `${shareOf(count, all)} that ${count === 1 ? 'opposes' : 'oppose'} it`,
    byAuthors: (count: number) => (count === 1 ? 'by one author' : `by ${count} authors`),
    strongest: ['Scored highest for it:', 'Scored highest against it:'],
    was: (saying: string, revision: number) => `It was ${saying} up to revision ${revision}.`,
    others: (count: number) => `${count} more`,
    unread: (count: number) => `${count} more, not read by the debaters`,
    answering: 'in answer to',
    score: 'score',
    supports: 'supports',
    opposes: 'opposes',
    neither: 'neither',
    notScored: 'not scored',
    fullThread: 'The whole thread',
    since: 'Since the revision before',
    came: 'New as evidence',
    went: 'No longer evidence',
    sameEvidence: 'The same evidence.',
    samePrompts: 'Same prompts and settings.',
    otherPrompts: 'Prompts or settings have changed.',
    timeline: 'What happened',
    judged: 'Judged',
    calls: 'Calls and cost',
    callsSum: (calls: number, hits: number) =>
      calls + hits === 0
        ? 'no new call to a model'
        : `${calls === 1 ? '1 call' : `${calls} calls`} to models, ${hits} answered from memory`,
    modelSeconds: (seconds: string) => `${seconds} s in models`,
    callHeads: ['Stage', 'Who', 'Model', 'Seconds', 'US dollars', 'Note'],
    fromMemory: 'from memory',
    took: {
      received: 'Message that opened it',
      opened: 'Opened',
      decided: 'Decided',
      inModels: 'In models',
      beside: 'Outside models',
      models: 'Models',
      debate: 'Debate',
      variant: 'Variant',
      debated: ({ held, why, without }: { held: boolean; why: string; without?: string | null | undefined }) =>
        `${held ? 'held' : 'none'} (${why})${without === undefined ? '' : `; without it: ${without ?? 'no label'}`}`,
      unverified: 'Unverified because',
      confidence: 'Confidence',
      sure: ({ value, how }: { value: number | null; how: string | null }) =>
        value === null ? 'not known' : `${Math.round(value * 100) / 100}${how === null ? '' : ` (${how})`}`,
      language: 'Language',
      gavel: 'Gavel',
      script: 'Script',
      prompts: 'Hash of prompts',
      settings: 'Hash of settings',
    },
    seconds: (seconds: string) => `${seconds} s`,
    copy: 'Copy link',
    copied: 'Copied',
    print: 'Print',
    save: 'Save as a file',
    saveNote: 'It contains all texts, every decision and the messages themselves. A saved file outlives a deletion.',
    byOthers: 'Other verdicts on it',
    proposal: 'A machine now says',
    proposalSame: 'and agrees',
    proposalCame: 'A proposal came:',
    somethingCame: 'Something new came:',
    joined: 'account since',
    author: 'author',
    unknown: 'unknown',
    id: 'Id',
  },
  counts: {
    cap: (n: number) => `${n}, since there are more than are judged`,
    late: (n: number) => `${n} that came too late`,
    folded: (n: number) => `${n} in the same words as another, which counts once`,
    author: (n: number) => `${n} beyond what one author may contribute`,
    unscored: (n: number) => `${n} without a readable score`,
    load: (n: number) => `${n} not asked about, because the service was overloaded`,
  },
  missing: {
    title: 'Was anything left out?',
    nothing: (accepted: number) =>
      accepted === 0
        ? 'Every question had an answer.'
        : `All ${accepted} comments were judged, and every question had an answer.`,
    no: 'No.',
    unread: (read: number, all: number) =>
      `The debaters read ${read} of the ${all} comments that take a side, the strongest of each. The others were only counted.`,
    comments: (judged: number, accepted: number) => `${judged} of ${accepted} comments were judged. Left out:`,
    less: 'It was judged with less than usual, so check it carefully:',
    faults: {
      ours: 'This service fell short: of time, money, room or a library.',
      model: 'A model failed, refused, or could not be read.',
      evidence: 'The post, its comments or the examples lack something, or hold more than is judged.',
    } as Readonly<Record<string, string>>,
    detail: 'In detail, as it was noted:',
  },
  filtered: (model: string, stage: string, calls: number, found: string) =>
    `A filter of ${model} refused ${calls === 1 ? 'one question' : `${calls} questions`} of ${stage}${found === '' ? '' : ` (${found})`}.`,
  timeline: {
    posted: 'Posted by',
    first: 'First judged:',
    again: 'Judged again:',
    still: 'Judged again, and still',
    before: 'before',
    by: (accepted: number, before: number) => {
      if (accepted === 0) return ''
      const more = accepted - before
      const by = accepted === 1 ? '1 comment had come' : `${accepted} comments had come`
      return before > 0 && more > 0 ? `${by}, ${more} more than before.` : `${by}.`
    },
    human: 'decided:',
    withdrew: 'withdrew the decision of a person. Published again:',
    decided: 'sent a decision:',
    withdraws: 'asked to withdraw the decision of a person',
    opinion: 'gave a second opinion:',
    unmade: (revision: number) => `Made on revision ${revision}; no verdict has come of it so far.`,
    outcomes: { stands: 'That decision was carried out.', withdrawn: 'That decision was withdrawn.' } as Readonly<
      Record<string, string>
    >,
    proposal: 'A machine judged again and would say',
    humanStands: 'the decision of the person is still current',
    look: 'People are asked to look again:',
    assigned: 'assigned it to',
    unassigned: 'assigned it to nobody any more.',
    same: 'said that another post says the same, in other words.',
    notSame: 'said that another post says something else.',
    withdrewAction: 'withdrew what was done:',
    feedback: 'sent feedback:',
    appeal: { author: 'The author appealed', notifier: 'The person who reported it appealed' } as Readonly<
      Record<string, string>
    >,
    became: {
      upheld: 'A person answered: the verdict stays as it was.',
      reversed: 'A person answered: the verdict was changed.',
      lessened: 'A person answered: the verdict stays, and less is to be done about it.',
      lifted: 'A person answered: the verdict stays, and what was done is to be taken back.',
      withdrawn: 'It was taken back.',
      deleted: 'It has no answer, since the post was deleted.',
      superseded: 'It has no answer, since another label had already taken the place of what it was against.',
      repeated: 'It has no answer of its own: the same party had asked before.',
      'too-many': 'It was not taken: too many had come.',
    } as Readonly<Record<string, string>>,
    noAnswer: 'It has no answer:',
    waits: 'It waits for an answer.',
    inTheirWords: 'In their words:',
    why: 'Why:',
    final: 'No further revision is planned.',
  },
  actions: {
    title: 'What was done about the post',
    did: 'did something about it:',
    byRule: '(a rule, no person)',
    nothing: 'did nothing about it',
    statement: 'Statement of reasons',
    inForce: 'In force.',
    over: 'Taken back',
    ended: 'It ended',
    asked: {
      reversal: 'It is to be taken back: asked for',
      lift: 'It is to be taken back, by the answer to an appeal: asked for',
      lessen: 'Something less is to take its place, by the answer to an appeal: asked for',
    } as Readonly<Record<string, string>>,
    reversal:
      'What was done rests on a verdict in whose place another label stands now. Only your platform can take it back (gavel act, with --withdraw): this waits until it has, and no decision here ends it.',
    measure:
      'Only your platform can change it (gavel act, with --withdraw, and again with what takes its place): this waits until it has, and no decision here ends it.',
  },
  statement: {
    title: 'Statement of reasons',
    none: 'The record has no such action.',
    withdrawn: 'This action was withdrawn.',
    replaced: 'The verdict that this rests on has been replaced since by one with another label.',
    inForce: 'See what is in force.',
    lacks: 'There is no statement. What is missing:',
    languages: { en: 'English', de: 'Deutsch' },
  },
  answer: {
    title: 'Answer to an appeal',
    none: 'The record has no such appeal.',
    withdrawn: 'The decision was withdrawn.',
    lacks: 'There is no answer in words. What is missing:',
    show: 'The answer in words',
  },
  evidence: {
    title: 'Record of a verdict',
    intro:
      'Saved from Gavel’s console. It is a copy of what the record held then: the verdict, the argument that it rests on, and what people decided.',
    saved: 'Saved',
    by: 'Saved by',
    from: 'Saved from',
    verdict: 'Verdict',
    subject: 'Subject',
    protocol: 'Protocol',
    revision: 'Revision',
    label: 'Label',
    standing: 'Current when saved',
    decided: 'Decided',
    how: 'Decided by',
    models: 'Models',
    rests: 'Rests on the argument of',
    chain: 'Every revision',
    chainFacts: {
      how: 'Decided by',
      at: 'Decided',
      supersedes: 'Replaces',
      person: 'Person',
      of: 'Place of the decision on its topic',
      why: 'Why',
      sha256: 'SHA-256 of its message',
    },
    fileTitle: (id: string, day: string) => `Record of verdict ${id}, saved ${day}`,
    people: 'Every decision, proposal and request',
    noPeople:
      'When this was saved, the record held no decision, opinion or feedback of a person, and no request for one. gavel.audit lists who looked at it, if the console keeps an audit.',
    turns: 'Every question that a model was asked for this revision',
    scoredEarlier: (earlier: number, all: number) =>
      `${earlier} of ${all} scores of comments were asked for in earlier revisions: their questions stand in the files of those.`,
    turn: (nth: number, stage: string, role: string) => `${nth}. ${stage}: ${role}`,
    turnFacts: {
      model: 'Answering model, by its own name',
      asked: 'Model that was asked',
      began: 'Asked',
      took: 'Seconds',
      cost: 'US dollars',
      calls: 'Calls',
    },
    asked: 'What it was asked',
    sameAs: (turn: number, message: number) => `the same as message ${message + 1} of question ${turn + 1}`,
    answered: 'What it answered',
    read: 'How it was read',
    thread: (count: number) => `The thread as it was judged, with all ${count} comments`,
    commentHeads: ['Comment', 'Author', 'When', 'In answer to', 'Score', 'Words'],
    messages: 'The messages themselves',
    messagesHow:
      'Each message as the record had it, in Base64. The SHA-256 of the decoded message is beside it, and is the same as that of an unchanged message on its topic.',
    ofVerdict: 'Verdict',
    ofTranscript: 'Transcript',
    none: 'not in the record',
    checks:
      'The topic gavel.audit holds the SHA-256 of this file, beside who saved it and when, if the console keeps an audit: sha256sum FILE shows whether it is unchanged.',
  },
} as const

function shareOf(count: number, all: number): string {
  return all > count ? `${count} of ${all}` : String(count)
}

function inRevisions(count: number): string {
  return count === 1 ? 'one revision' : `${count} revisions`
}

function inRounds(rounds: number): string {
  return rounds === 1 ? 'one round' : `${rounds} rounds`
}
