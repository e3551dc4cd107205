declare module 'snappyjs' {
  const snappy: {
    compress(data: Buffer): Buffer
    uncompress(data: Buffer, maxLength?: number): Buffer
  }
  export default snappy
}
