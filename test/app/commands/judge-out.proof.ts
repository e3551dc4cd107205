import './judge-out.test.ts'
