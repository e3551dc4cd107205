/** The words of golden items. */
export const GOLDEN_TEXTS = {
  title: 'Make a golden item',
  says: 'Others answer it without seeing what was decided, as they give a second opinion. Quality shows how often they agree with this label. It lasts as long as this verdict.',
  make: 'Hold this label to be right',
  made: 'You hold this label to be right: it is a golden item, as long as this verdict is current.',
  why: 'Key of a golden item.',
  notNow: 'Only a current verdict of a person, on images that they saw, can be a golden item.',
} as const
