/** The words of notes on posts, and of lists that a person names. */
export const DESK_TEXTS = {
  notes: 'Notes',
  notesSay:
    'For people who review this post: they change nothing, and go with the post. Others see them, not who gives a second opinion.',
  note: 'Your note',
  addNote: 'Add note',
  notNoted: 'Not noted',
  tooLong: (most: number) => `A note has 1 to ${most} characters.`,
  tooMany: 'This post has as many notes as one may have, or it is gone.',
  views: 'Your lists',
  viewName: 'Name this list',
  saveView: 'Save',
  copyView: (name: string) => `Copy the address of ${name}`,
  copied: 'Copied',
  noView: 'There is no such list any more.',
  dropView: (name: string) => `Forget ${name}`,
  dropForGood: 'Yes, forget it: its address leads nowhere then',
  notSaved: 'Not saved',
  tooManyViews: (most: number) => `A list needs a name, and one person has at most ${most}. Forget one of yours first.`,
  back: 'Back',
} as const
