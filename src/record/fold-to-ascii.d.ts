/** The part of fold-to-ascii that Gavel uses; the package brings no types. */
declare module 'fold-to-ascii' {
  const tables: {
    /** The text with each character that Lucene's ASCIIFoldingFilter knows as its ASCII letters, and all others as they are. */
    foldMaintaining(text: string): string
  }
  export default tables
}
