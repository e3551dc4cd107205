/** The id of the note that has an appeal's words. */
export function appealNoteId(tenant: string, id: string): string {
  return `appeal ${tenant}/${id}`
}
