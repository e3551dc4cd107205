const counted = (posts: number) => (posts === 0 ? 'no post' : posts === 1 ? 'one post' : `${posts} posts`)

/** Every word of the pages of stories. */
export const STORIES_TEXTS = {
  title: 'Stories',
  about:
    'Posts in the same words with the same pictures are one story; a post that no other repeats stands alone. Each verdict rests on its own post’s comments.',
  one: 'Story',
  query: 'Words, or parts of words, in post, comments or reasons',
  go: 'Show',
  /** A post may be judged long after it was written. */
  from: 'Judged from',
  to: 'until',
  tenant: 'Tenant',
  lang: 'Language',
  onlyOpposed: 'Only what comments dispute',
  onlyDiffering: 'Only where verdicts contradict one another',
  byTime: 'In the order in which they were written',
  found: (stories: number, posts: number) =>
    `${stories === 1 ? 'One story' : `${stories} stories`} in ${posts === 1 ? 'one post' : `${posts} posts`}.`,
  contested: (opposed: number, differing: number) =>
    `${opposed === 0 ? 'Comments dispute none' : `Comments dispute ${opposed}`}; verdicts contradict one another in ${differing === 0 ? 'none' : differing}.`,
  cut: 'The newest verdicts that fit are shown: ask for words or a time to see others.',
  none: 'No verdict fits. Every word that is asked for has to be there; days are those of verdicts, not of posts.',
  json: 'As JSON',
  csv: 'As CSV',
  csvNote: 'CSV has words and authors: a saved file outlives a deletion.',
  posts: (count: number) => (count === 1 ? 'One post' : `${count} posts`),
  /** Beside one post, where the record knows more of its story. */
  open: 'The whole story',
  reach: (people: number) => `reached ${people.toLocaleString('en')}`,
  first: 'First written',
  by: 'by',
  languages: 'Languages',
  labels: 'Labels now',
  noLabel: 'no label',
  differs: (protocol: string) => `Verdicts of ${protocol} contradict one another since`,
  opposed: (posts: number, of: number) =>
    `${of === 1 ? 'Its comments dispute it' : `Comments dispute ${posts === 1 ? 'one' : posts} of its posts`} since`,
  sides: (support: number, oppose: number) => `${oppose} against, ${support} for it`,
  size: 'Posts',
  decided: 'A person decided',
  undecided: 'No decision of a person is in force.',
  withdrawn: 'Withdrawn',
  withdrawnBy: 'withdrawn by',
  members: 'Its posts',
  arguments: 'Arguments and comments are on the page of each verdict: its label leads there.',
  membersCut: (shown: number) => `The newest ${shown} are shown.`,
  overTime: 'By quarter of an hour',
  overTimeSays:
    'Verdicts that came in each, by label, and what the comments of all posts said by its end, as machines read them.',
  quarter: 'From',
  decide: 'Decide together',
  decideOn: (protocol: string) => `Your label, by ${protocol}`,
  ticked: 'It counts for each post that is ticked, against its own revision.',
  tickedCut: (shown: number, of: number) => `${shown} of ${of} are here.`,
  others: 'And for all others in the same words that nobody has decided, up to 200 at a time.',
  byPerson: 'by a person',
  notHere: 'It is not there any more, or not for you to decide.',
  notAll: 'Not all posts were decided',
  done: (count: number) => (count === 1 ? 'One post was decided.' : `${count} posts were decided.`),
  waits: (count: number) =>
    `${count} more can be decided so: send the form again. One person decides 5 a second, and 200 at once.`,
  /** On the page of a verdict. */
  says: (members: number) => `${members} posts say the same.`,
  current: 'A person decided on another post in the same words',
  near: 'Perhaps the same, in other words',
  lookNear: 'Look for posts that perhaps say the same',
  nearSays:
    'The nearest of the newest posts, by a model of meaning. It does not see what a number or a negation changes, so it decides nothing: you do. What you say is kept as an example, until one of the two posts is deleted.',
  nearNone: 'None of the newest posts is near.',
  nearNot: 'The posts could not be compared now. Try again later.',
  nearWeak: 'Weak here:',
  nearWeakOthers: (count: number, of: number) =>
    `Weak for ${count} of the ${of} posts that were compared, so one of these may say the same and not be shown.`,
  same: 'Says the same',
  notSame: 'Says something else',
  said: {
    same: 'People said: the same. Who says otherwise now takes their own answer back.',
    'not-same': 'People said: something else. Who says otherwise now takes their own answer back.',
    both: 'People said both.',
  },
  answered: (same: number, others: number) =>
    `People said of ${counted(same)} in other words that it says the same, and of ${counted(others)} that it says something else.`,
  unsaid: 'It was not noted',
  unsaidWhy: 'It could not be written down, or one of the two posts is not for you to decide. Nothing was changed.',
  gone: 'There is no such story',
  goneSays: 'Its posts were deleted, or the record does not go so far back.',
  all: 'All stories',
  address: 'This address stays the same: it can be cited.',
} as const
