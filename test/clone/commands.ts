import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'

/**
 * Who runs a command: test/clone/readme.test.ts (`test`), a proof that checks that it ran each of its own, or another file
 * (`at`); or the reason for which nobody does.
 */
export type RunBy = 'test' | 'proof: readme' | 'proof: pages' | `at: ${string}` | `not: ${string}`

const CURL = `curl --json '{"post": {"text": "The bridge is closed, they say."}, "protocols": ["hate"]}' http://127.0.0.1:8420/v1/judge`

const SMALL_MODEL = 'not: it downloads a model'
const INTERNET =
  'not: it reads Bluesky, and there may be no internet; test/e2e/jetstream.test.ts has a relay of its own'
const MUTATION =
  'not: a whole run takes half an hour of one core; test/proofs/named-mutants.proof.ts has the mutants that matter most'
const DRILL = 'not: each drill takes 5 to 17 minutes, and installs Prometheus and Alertmanager'

const ACTIONS = 'at: test/e2e/actions.test.ts'
const APPEALS = 'at: test/e2e/appeals.test.ts'
const OWN_SERVERS = 'not: it names servers that nobody here has; test/proofs/own-stream.proof.ts has its own'
const OWN_STREAM = 'at: test/proofs/own-stream.proof.ts'

/** Each command in the fenced blocks of every page. */
export const COMMANDS: Readonly<Record<string, RunBy>> = {
  'npx gavel stack --env stack.env': OWN_STREAM,
  'set -a; . ./stack.env; set +a': OWN_STREAM,
  'npx gavel act 3lbw2k4 --id act-1 --verdict hate~3lbw2k4~r1 --what remove --ground terms --clause H2 --source own-initiative --automated --by rules':
    ACTIONS,
  'npx gavel act 3lbw2k4 --id act-1 --withdraw --by ann': ACTIONS,
  'npx gavel act p1 --id act-1 --verdict hate~p1~r1 --what remove --clause H2 --source own-initiative --automated --by rules':
    ACTIONS,
  'npx gavel report --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z': ACTIONS,
  'npx gavel appeal e1 --verdict rumor~p1~r1 --by author --text "It is true" --contact "case 4711"': APPEALS,
  'npx gavel appeal e1 --verdict rumor~3lbw2k4~r2 --by author --text "The city has confirmed it" --contact "case 4711"':
    APPEALS,
  'npx gavel review decide rumor~3lbw2k4~r2 --label non-rumor --by ben --appeal e1 --code context --why "Confirmed by the city, ticket 88"':
    APPEALS,
  "cat > samples.jsonl <<'END'": OWN_STREAM,
  'export KAFKA_BROKERS=kafka.example:9092 REDIS_URL=redis://redis.example:6379': OWN_SERVERS,
  'export OPENAI_BASE_URL=https://models.example/v1 OPENAI_API_KEY=…': OWN_SERVERS,
  'export GAVEL_FENCES_KEY=$(openssl rand -hex 32)': OWN_SERVERS,
  'npx gavel top': 'not: a screen that is looked at; test/app/commands/top.test.ts has it',
  'npx gavel reasons act-1': ACTIONS,
  'npx gavel reasons act-1 --lang de': ACTIONS,
  'npx gavel reasons act-1 --format dsa': ACTIONS,
  'npx gavel reasons appeal e1 --lang de': ACTIONS,
  'npx gavel reasons send --sent sent.txt --dry-run': ACTIONS,
  'npx gavel reasons send --sent sent.txt --url https://…/api/v1/statements --token-file token': ACTIONS,
  'npx gavel report --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z > report.csv': ACTIONS,
  'npx gavel report --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z --rows > rows.csv': ACTIONS,
  'npx gavel report reconcile --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z --sent sent.txt': ACTIONS,
  'npx gavel map try samples.jsonl --config own.yaml': 'at: test/app/commands/map-try.test.ts',
  "npx gavel produce samples.jsonl --topic forum.events --key '$.id' --config own.yaml": OWN_STREAM,
  'npx gavel doctor --config own.yaml': OWN_STREAM,
  'npx gavel verdicts --config own.yaml --follow': OWN_STREAM,
  'npx gavel show 7 --config own.yaml': OWN_STREAM,
  'npx gavel dead-letters list --config own.yaml': OWN_STREAM,
  'npx gavel map try --topic forum.threads --take 100 --config own.yaml': 'at: test/app/commands/map-try.test.ts',
  'npx gavel map try verdicts.jsonl --sink forum.flags --config own.yaml': 'at: test/app/commands/map-try.test.ts',
  'npx gavel topics plan --for rpk': 'at: test/app/commands/map-try.test.ts',
  'npx gavel run --config own.yaml': 'at: test/e2e/sources.test.ts',
  'npm ci': 'proof: readme',
  'npm run demo': 'proof: readme',
  'npx gavel judge posts.jsonl': 'test',
  'npx gavel judge posts.txt --text': 'test',
  'npx gavel serve --embedded': 'test',
  [CURL]: 'test',
  'npx gavel stack --env .env.local': 'proof: readme',
  'set -a; . ./.env.local; set +a': 'proof: readme',
  'npx gavel doctor': 'proof: readme',
  'npx gavel run': 'proof: readme',
  'npx gavel reload --json': 'at: test/e2e/signals.test.ts',
  'KAFKA_BROKERS=… REDIS_URL=… OPENAI_API_KEY=… GAVEL_FENCES_KEY=… npx gavel run':
    'not: the same as gavel run on a local stack, with servers that nobody here has',
  'npx gavel doctor --config gavel.yaml': INTERNET,
  'npx gavel run --config gavel.yaml --roles jetstream,intake,judge,publish': INTERNET,
  'npx gavel verdicts --config gavel.yaml --follow': INTERNET,
  'npm run check': 'proof: readme',
  'npm run counts': 'proof: readme',
  'npm run test:fast': 'proof: readme',
  'npm test': 'not: it would run itself',
  'npm run proof -- attacks': 'not: it is a proof of its own',
  'npm run proof -- cost-by-cause': 'not: it is a proof of its own',
  'npm run chaos -- --seeds 1-20': 'not: it is the one seed below, twenty times',
  'npm test -- test/protocols/safety.test.ts': 'test',
  "npm test -- test/protocols/safety.test.ts -t 'of the arbiter'": 'test',
  'npm run chaos -- --seed 7 --posts 40': 'proof: readme',
  'npx gavel judge config/demo/event.jsonl --protocol rumor --transcript': 'test',
  'set -a; . ./.env.local; set +a; npx gavel run': 'proof: readme',
  'set -a; . ./.env.local; set +a; npx gavel produce config/demo/event.jsonl; npx gavel show calvera-p1 --transcript':
    'proof: readme',
  'npx gavel judge config/demo/event.jsonl --protocol rumor --json --out .gavel/event > before.jsonl': 'test',
  'npx gavel judge config/demo/event.jsonl --protocol rumor --json --out .gavel/event > after.jsonl': 'test',
  "gavel bench --json | jq '{share: (.verdictsPerSecond / .baselinePerSecond), cpuMsPerVerdict, overheadMs, parts}'":
    'proof: pages',
  "gavel bench --gateway --rate 200 --seconds 20 | jq '{plain: .plain.overheadMs, gateway: .gateway.overheadMs}'":
    'proof: pages',
  "gavel bench --gateway --faults --seconds 10 | jq '.rows[] | select(.share == 0.05) | {fault, ratio}'":
    'proof: pages',
  "gavel bench --fail-rate 0.3 --subjects 100 | jq '{lost, duplicates, calls, tokens, orphans}'": 'proof: pages',
  'gavel bench --savings': 'proof: pages',
  "gavel bench --savings --data threads.jsonl --format rumoureval2017 | jq '.none, .all'":
    'not: RumourEval 2017 is not ours to ship; the line before runs the same on the sample event',
  'gavel bench --recovery --kills 5': 'proof: pages',
  'gavel bench --soak --minutes 10': 'proof: pages',
  'gavel bench --latencies 3000,10000 --slots 256': 'proof: pages',
  'gavel bench --idle --processes 3 --seconds 30': 'proof: pages',
  'gavel bench --start': 'proof: pages',
  'gavel bench --door --flood 100000': 'proof: pages',
  'gavel bench --waiting --slots 64': 'proof: pages',
  'GAVEL_PROOF_COMMENTS=1000000 npm run proof -- flood': 'at: test/proofs/flood.proof.ts',
  'npx gavel calibrate --aspect relevance --ratings config/demo/ratings.jsonl': 'proof: pages',
  'npx gavel calibrate --aspect relevance --ratings config/demo/ratings.jsonl --out .gavel/relevance --yes':
    'proof: pages',
  'npx gavel capacity --posts-per-second 5 --comments-per-post 20 --latency 2s': 'proof: pages',
  'npm run chaos -- --seed 7': 'not: CONTRIBUTING has the same seed with fewer posts',
  'npm pack': 'at: test/proofs/installed.proof.ts',
  'ssh-keygen -Y verify -f allowed_signers -I releases@gavel -n gavel-release -s SHA256SUMS.sig < SHA256SUMS':
    'at: test/package/tarball.test.ts',
  'sha256sum --check SHA256SUMS': 'at: test/package/tarball.test.ts',
  'npm run release -- release ~/.ssh/gavel-release': 'at: test/package/tarball.test.ts',
  'npm install ../gavel/gavel-debate-0.2.0.tgz': 'at: test/proofs/installed.proof.ts',
  'npx gavel run --roles judge,publish': 'proof: pages',
  'npx gavel serve': 'proof: pages',
  'npx gavel keys create --tenant acme --scopes send': 'proof: pages',
  'npx gavel produce config/demo/event.jsonl --speed 200': 'proof: pages',
  'npx gavel verdicts --follow --json | jq .label': 'proof: pages',
  'npx gavel show p1 --transcript': 'proof: pages',
  'npx gavel decide p1 --protocol rumor --label non-rumor --by ann --why "ticket 88"': 'proof: pages',
  'npx gavel cases list --state deferred': 'proof: pages',
  'npx gavel review reserve --by ann': 'proof: pages',
  'npx gavel console --as anna': 'proof: pages',
  'npx gavel verdicts --record --search "dam broken"': 'proof: pages',
  'npx gavel top --json | jq .stages': 'proof: pages',
  'npx gavel judge config/demo/event.jsonl': 'proof: pages',
  'npx gavel scores labelled.csv --old-field perspective': 'proof: pages',
  'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --out .gavel/eval-rumor': 'proof: pages',
  'npx gavel eval --config table.yaml --protocol hate --data texts.parquet --models gpt-6-luna --models local/qwen3 --with thrifty --with "Own policy=own.yaml" --predictions "Guard=guard.csv" --repeat 5 --max-cost 20 --out .gavel/hate-table --debates 50':
    'at: test/app/commands/eval-researcher.test.ts',
  'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --replay .gavel/eval-rumor --report .gavel/eval-rumor --debates 5':
    'proof: pages',
  'npx gavel erase --author did:plc:3f --by ann': 'at: test/e2e/authors.test.ts',
  'curl -X DELETE https://gavel.example/v1/authors/did%3Aplc%3A3f -H "Authorization: Bearer $KEY"':
    'at: test/door/authors.test.ts',
  'npx gavel lane fit --protocol hate --data labelled.jsonl --model gpt-6-luna --keep .gavel/decider --max-cost 1 --out lane.json':
    'at: test/app/commands/lane-fit-asked.test.ts',
  'npx gavel lane fit --protocol hate --data labelled.jsonl --answers decider.jsonl --out lane.json':
    'at: test/app/commands/lane-fit.test.ts',
  'npx gavel prove --budget 20': 'at: test/app/commands/prove.test.ts',
  'npx gavel policy check policies/hate.md': 'at: test/app/commands/policy-check.test.ts',
  'npx gavel decide 3lbw2k4 --protocol hate --label hate --clause H2 --clause "H1=they are vermin" --by ann --why "Ticket 91"':
    'at: test/e2e/decide.test.ts',
  'npx gavel eval --steer --protocol hate --data cases.jsonl --format hatecheck --size 20':
    'at: test/lab/evaluation/steering.test.ts',
  'npx gavel variant shadow stricter --protocol hate --settings stricter.yaml --share 10% --budget 5':
    'at: test/e2e/shadow.test.ts',
  'npx gavel variant compare stricter --most-flips 5% --people': 'at: test/e2e/shadow.test.ts',
  'npx gavel variant compare stricter --most-flips 5%': 'at: test/e2e/shadow.test.ts',
  'npx gavel variant list --config gavel.yaml': 'at: test/app/commands/variant-ramp.test.ts',
  'npx gavel variant ramp stricter 10% --config gavel.yaml --by ann': 'at: test/app/commands/variant-ramp.test.ts',
  'npx gavel variant live stricter --config gavel.yaml --by ann': 'at: test/e2e/ramp.test.ts',
  'npx gavel variant back stricter --config gavel.yaml --by ann': 'at: test/e2e/ramp.test.ts',
  'npx gavel policy check next/hate.md': 'at: test/app/commands/policy-check.test.ts',
  'npx gavel what-if --config gavel.yaml --policy next/hate.md --protocol hate --since 1d':
    'at: test/e2e/what-if.test.ts',
  'npx gavel what-if --config gavel.yaml --policy next/hate.md --protocol hate --since 1d --budget 2':
    'at: test/e2e/what-if.test.ts',
  'echo \'{"id": "try-1", "text": "The coach is a clown.", "author": "me", "lang": "en"}\' > try.jsonl':
    'not: it writes the file of the next line',
  'npx gavel produce try.jsonl --config gavel.yaml': 'at: test/e2e/ramp.test.ts',
  'npx gavel show try-1 --config gavel.yaml': 'at: test/e2e/show.test.ts',
  'npx gavel variant live next --config gavel.yaml --by anna': 'at: test/e2e/ramp.test.ts',
  'npx gavel variant back next --config gavel.yaml --by anna': 'at: test/e2e/ramp.test.ts',
  'npx gavel run --config gavel.yaml --roles intake,judge,publish,record --watch': 'at: test/e2e/watch.test.ts',
  'npx gavel console --config gavel.yaml --as anna':
    'not: the same as gavel console --as anna, over the settings of the page',
  'npx gavel policy publish policies/house.md --protocol hate --config gavel.yaml --by ann --skip-steer':
    'at: test/lab/commands/policy-publish.test.ts',
  'npx gavel policy publish policies/house.md --protocol hate --config gavel.yaml --by ann --data cases.jsonl':
    'at: test/lab/commands/policy-publish.test.ts',
  'npx gavel policy publish policies/house.md --protocol hate --config gavel.yaml --by ann --data cases.jsonl --budget 2':
    'at: test/lab/commands/policy-publish.test.ts',
  'npx gavel variant back house-4 --config gavel.yaml --by ann': 'at: test/e2e/whole-way.test.ts',
  'npx gavel what-if --policy policies/hate.md --protocol hate': 'at: test/e2e/what-if.test.ts',
  'gavel what-if --policy policies/ --protocol hate --since 30d': 'at: test/e2e/what-if.test.ts',
  'gavel what-if --policy policies/ --protocol hate --since 30d --budget 20': 'at: test/e2e/what-if.test.ts',
  'npx gavel library import config/demo/shelves/kold.jsonl --shelf kold': 'proof: pages',
  'npx gavel library search "drive them out" --shelf kold': 'proof: pages',
  'npx gavel library touched 3f1c9a0b2d4e6f80 --json': 'proof: pages',
  'npx gavel learn --topic': 'proof: pages',
  'npx gavel learn labels cases.json --format airbench-text --judged judged.jsonl --all':
    'at: test/app/commands/learn-labels.test.ts',
  'npx gavel learn list --state waiting': 'proof: pages',
  'npx gavel protocols pause safety': 'proof: pages',
  'npx gavel veto check picture.jpg': 'at: test/app/commands/veto.test.ts',
  'npx gavel webhooks list': 'proof: pages',
  'npx gavel dead-letters list --json': 'proof: pages',
  'npx gavel dead-letters replay --reason future --dry-run': 'proof: pages',
  'npx gavel recover --dry-run': 'proof: pages',
  'npx gavel judge-again --fault model --dry-run': 'proof: pages',
  'npx gavel capacity --posts-per-second 5 --latency 2s': 'proof: pages',
  'npx gavel capacity --posts-per-second 20 --comments-per-post 20 --latency 2s --usd 2000 --within 90s':
    'at: test/kit/bench/capacity.test.ts',
  'GAVEL_NAME=g0 GAVEL_KAFKA_TOPIC_PREFIX=g0. GAVEL_KAFKA_GROUP=g0 GAVEL_REDIS_PREFIX=g0 GAVEL_HTTP_PORT=9464 npx gavel run':
    'at: test/e2e/divided.test.ts',
  'GAVEL_NAME=g1 GAVEL_KAFKA_TOPIC_PREFIX=g1. GAVEL_KAFKA_GROUP=g1 GAVEL_REDIS_PREFIX=g1 GAVEL_HTTP_PORT=9465 npx gavel run':
    'at: test/e2e/divided.test.ts',
  'GAVEL_KAFKA_TOPIC_PREFIX=g0. npx gavel produce part-0.jsonl': 'at: test/e2e/divided.test.ts',
  'GAVEL_KAFKA_TOPIC_PREFIX=g1. npx gavel produce part-1.jsonl': 'at: test/e2e/divided.test.ts',
  "GAVEL_ROUTES='hate: [{subjects: [post, comment]}]' npx gavel capacity --posts-per-second 5 --comments-per-post 20 --latency 2s":
    'at: test/kit/bench/capacity.test.ts',
  'npx gavel bench --json > bench.json': 'proof: pages',
  'npx gavel stack --kafka memory --latency 500 --fail-rate 0.3': 'proof: pages',
  'npx gavel health': 'proof: pages',
  'source <(gavel completion bash)': 'proof: pages',
  'npm run demo -- --stay': 'at: test/proofs/console.proof.ts',
  'export KAFKA_BROKERS=kafka-1:9092,kafka-2:9092 REDIS_URL=redis://redis:6379': 'not: example addresses',
  'gavel doctor': 'proof: pages',
  'export KAFKA_BROKERS=kafka-1:9094 GAVEL_KAFKA_TLS_ENABLED=true GAVEL_KAFKA_TLS_CA=/etc/gavel/kafka-ca.pem':
    'at: test/e2e/secured.test.ts',
  'export GAVEL_KAFKA_SASL_MECHANISM=scram-sha-512 GAVEL_KAFKA_SASL_USERNAME=gavel GAVEL_KAFKA_SASL_PASSWORD=…':
    'at: test/e2e/secured.test.ts',
  "export REDIS_URL='rediss://gavel:PASSWORD@redis.example:6380/0' GAVEL_REDIS_TLS_CA=/etc/gavel/redis-ca.pem":
    'at: test/e2e/secured.test.ts',
  'ACL SETUSER gavel on >PASSWORD ~{gavel}:* &{gavel}:* +@all -@admin -@dangerous +info':
    'at: test/store/redis/checks.test.ts',
  'npx gavel run --roles intake,judge,publish,record': 'proof: pages',
  'kcat -b localhost:9092 -t gavel.audit -o -1 -e': 'not: kcat is no part of Gavel, and not every machine has it',
  'npx gavel bench --prompts': 'proof: pages',
  'npx gavel eval --protocol hate --data yours.jsonl --rows thrifty --size 400 --balanced --out .gavel/thrifty --max-cost 5':
    "not: it needs labels of yours and a model that costs money; `gavel eval` runs on the demo's",
  "cat > posts.jsonl <<'END'": 'proof: pages',
  'gavel learn --topic': 'proof: pages',
  'GAVEL_PROTOCOLS_SAFETY_RETRIEVAL=false gavel judge cases.json --format airbench-text --protocol safety --json --transcript > judged.jsonl':
    'at: test/app/commands/learn-labels.test.ts',
  'gavel learn labels cases.json --format airbench-text --judged judged.jsonl --all':
    'at: test/app/commands/learn-labels.test.ts',
  'gavel learn list --state waiting': 'proof: pages',
  'gavel learn show ID': 'proof: pages',
  'gavel learn approve ID ID --by you': 'proof: pages',
  'gavel learn approve --all': 'proof: pages',
  'gavel learn reject ID': 'proof: pages',
  'gavel learn history': 'proof: pages',
  'gavel learn rollback CHANGE': 'proof: pages',
  'gavel learn show PRECEDENT': 'proof: pages',
  'gavel library touched ID': 'proof: pages',
  'gavel library take-back ID --by you': 'proof: pages',
  'npm run pictures -- --prometheus http://127.0.0.1:9090 --minutes 30 --out .gavel/pictures':
    'not: it needs a Prometheus that has watched Gavel; test/pictures.test.ts draws the same pictures',
  'npm run drill -- --only no-model --pictures .gavel/pictures': DRILL,
  'npx gavel dead-letters list --reason future,invalid --since 2026-05-01': 'proof: pages',
  'npx gavel dead-letters replay --reason future': 'proof: pages',
  'npx gavel decide 3lbw2k4 --protocol rumor --label non-rumor --by ann --why "Confirmed by the city, ticket 88"':
    'proof: pages',
  'npx gavel decide 3lbw2k4 --protocol rumor --withdraw --by ben --why "Ticket 88 is about another bridge"':
    'proof: pages',
  'npx gavel keys create --tenant acme --scopes send,judge': 'proof: pages',
  'curl --json \'{"type": "post", "id": "p1", "text": "The bridge is closed.", "createdAt": "2026-01-01T10:00:00Z"}\' -H "authorization: Bearer $KEY" http://127.0.0.1:8420/v1/messages':
    'proof: pages',
  'curl --json \'{"post": {"text": "They should all be sent home."}, "protocols": ["hate"], "wait": 30}\' -H "authorization: Bearer $KEY" http://127.0.0.1:8420/v1/judge':
    'proof: pages',
  'npm run drill -- --only broker-dead,redis-dead': DRILL,
  'npm run drill -- --worlds 3 --json --pictures .gavel/drills': DRILL,
  'npx gavel eval --protocol rumor --data config/demo/labelled.jsonl --replay .gavel/eval-rumor --against .gavel/eval-rumor/report.json':
    'proof: pages',
  'docker build --tag gavel --build-arg VERSION=0.2.0 --build-arg COMMIT=$(git rev-parse HEAD) .':
    'at: test/proofs/image.proof.ts',
  'docker run --rm gavel --help': 'at: test/proofs/image.proof.ts',
  'docker run --rm --read-only --tmpfs /tmp --volume gavel-data:/var/lib/gavel --env-file gavel.env gavel run --roles intake,judge,publish --wait-for-dependencies':
    'at: test/proofs/image.proof.ts',
  'gavel judge-again --dry-run': 'proof: pages',
  'gavel judge-again --since 2026-01-31T12:00:00Z --fault model --rate 20': 'proof: pages',
  'gavel judge-again --listed --dry-run': 'at: test/e2e/listed.test.ts',
  'gavel judge-again --listed --since 2026-01-31T00:00:00Z': 'at: test/e2e/listed.test.ts',
  'mkdir my-overlay && cp deploy/kubernetes/base/gavel.yaml my-overlay/': 'at: test/kubernetes/manifests.test.ts',
  'cp deploy/kubernetes/secrets.example.yaml my-overlay/secrets.yaml': 'at: test/kubernetes/manifests.test.ts',
  'kubectl apply -k my-overlay': 'at: test/kubernetes/manifests.test.ts',
  'npx gavel run --roles door': 'proof: pages',
  'curl --json \'{"comment": {"text": "What a stupid idea."}, "requestedAttributes": {"TOXICITY": {}}, "languages": ["en"]}\' "http://127.0.0.1:8420/v1alpha1/comments:analyze?key=$KEY"':
    'proof: pages',
  'cat labelled.csv': 'proof: pages',
  'npx gavel scores labelled.csv --old-field perspective --at 0.8,0.7 --out .gavel/scores': 'proof: pages',
  'npx gavel library import my-labels.csv --shelf kodoli --text-field comment --label-field label': 'proof: pages',
  'npx gavel library search "they all should go home" --shelf kodoli -k 5': 'proof: pages',
  'npm run readers -- DATA .gavel/readers 1': 'not: test/readers/items.test.ts draws the same items',
  'npm run readers -- DATA .gavel/readers 3': 'not: test/readers/items.test.ts draws the same items',
  'npx gavel eval --config test/readers/settings.yaml --protocol rumor --data .gavel/readers/rumor.jsonl --unverified unverified --rows gates --replay test/readers/answers/rumor':
    'at: test/readers/table.test.ts',
  'npm run mutate': MUTATION,
  'npm run mutate -- src/protocols/hate': MUTATION,
  'npm run mutate -- --mutate src/models/memo.ts': MUTATION,
  'npm run mutate -- --incremental src/judging/engine': MUTATION,
  'npx gavel eval --preset predict-table-2 --data comments.jsonl --format kodoli --models mine --only "Rounds 1 & 2"':
    'at: test/proofs/presets.proof.ts',
  'export GAVEL_RECORD_STORE=postgres GAVEL_RECORD_POSTGRES_URL=postgresql://gavel@db:5432/gavel':
    'at: test/e2e/record.test.ts',
  'export GAVEL_RECORD_POSTGRES_PASSWORD_FILE=/run/secrets/postgres': 'at: test/e2e/record.test.ts',
  'npx gavel judge config/demo/event.jsonl --protocol rumor --json --out .gavel/event > verdicts.jsonl': 'proof: pages',
  'gavel recover --dry-run': 'proof: pages',
  'gavel recover': 'proof: pages',
  'npx gavel show calvera-p4': 'proof: pages',
  'npx gavel show calvera-p4 --transcript': 'proof: pages',
  'npx gavel show calvera-p4 --record': 'proof: pages',
  'npx gavel decide calvera-p4 --protocol rumor --label non-rumor --by ann --why "Confirmed by the city, ticket 88"':
    'proof: pages',
  'npx gavel review list --for ann': 'proof: pages',
  'npx gavel review decide rumor~3lbw2k4~r2 --label non-rumor --by ann --why "Confirmed by the city, ticket 88"':
    'proof: pages',
  'npx gavel review release rumor~3lbw2k4~r2 --by ann': 'proof: pages',
  'npx gavel review quality --since 7d': 'proof: pages',
  'npx gavel review stats --protocol hate': 'proof: pages',
  'OPENAI_BASE_URL=… OPENAI_API_KEY=… GAVEL_MODELS_ROLES_DEFAULT=MODEL npm run proof -- batch-agreement':
    'not: it needs a model that costs money',
  'gavel stack --dialect vllm': 'proof: pages',
  'gavel show 3lbw2k4': 'proof: pages',
  'gavel show 3lbw2k4 --transcript': 'proof: pages',
  'gavel show 3lbw2k4 --offsets': 'proof: pages',
  'gavel show r17 --kind reply': 'proof: pages',
  'gavel show c81 --post 3lbw2k4': 'at: test/e2e/comments.test.ts',
  'gavel show 3lbw2k4 --tenant acme': 'proof: pages',
  'gavel show 3lbw2k4 --json | jq .standing': 'proof: pages',
  'gavel cases list': 'proof: pages',
  'gavel cases list --state deferred --tenant acme': 'proof: pages',
  "gavel cases retry 'rumor~3lbw2k4~r1'": 'proof: pages',
  'gavel cases give-up \'rumor~3lbw2k4~r1\' --why "the model is gone for good"': 'proof: pages',
  'mkdir -p .gavel/small-model && python3 -m venv .gavel/small-model/venv': SMALL_MODEL,
  "cat > .gavel/small-model/serve.py <<'END'": SMALL_MODEL,
  "cat > .gavel/small-model/small.yaml <<'END'": SMALL_MODEL,
  'export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none': SMALL_MODEL,
  'SMALL_MODEL=qwen.gguf SMALL_MODEL_PYTHON=venv/bin/python npm run proof -- proofs/small-model':
    'not: it is a proof of its own',
  'OTEL_EXPORTER_OTLP_ENDPOINT=http://otel-collector:4318 gavel run': 'proof: pages',
}

export const PAGES = ['.', 'docs', 'docs/runbooks'].flatMap((folder) =>
  readdirSync(join(PROJECT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

/** The commands that one runner has to run. */
export const runBy = (runner: RunBy): string[] =>
  Object.entries(COMMANDS)
    .flatMap(([command, by]) => (by === runner ? [command] : []))
    .sort()

/** Whether the file that runs a command exists. */
export function isThere(by: RunBy): boolean {
  const [, kind, name = ''] = /^(at|proof): (.*)$/.exec(by) ?? []
  return kind === undefined || existsSync(join(PROJECT, kind === 'at' ? name : `test/proofs/${name}.proof.ts`))
}

/**
 * The commands of a page: the lines of its blocks that are of a shell or name no language. Where lines begin with `$`, the
 * others are output. A block with a here-document, or within a list, is one script, named after its first line.
 */
export function commandsIn(page: string): { name: string; script: string }[] {
  const text = readFileSync(join(PROJECT, page), 'utf8')
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , language = '']) => ['', 'sh', 'bash', 'console'].includes(language))
    .flatMap(([, indent = '', , block = '']) => {
      const joined = block.replaceAll(new RegExp(`^${indent}`, 'gm'), '').replaceAll(/ *\\\n\s*/g, ' ')
      const lines = joined.split('\n').filter((line) => line.trim() !== '')
      if (indent !== '' || joined.includes('<<')) return [{ name: lines[0] ?? '', script: joined }]
      const typed = lines.some((line) => line.startsWith('$ ')) ? lines.filter((line) => line.startsWith('$ ')) : lines
      return typed.map((line) => asCommand(line.replace(/^\$ /, '').replace(/\s+#\s.*$/, '')))
    })
    .concat(examplesIn(text))
}

/** The last cells of a table whose last column is headed "example". */
function examplesIn(text: string): { name: string; script: string }[] {
  const [, rows = ''] = /\| example \|\n\|[ |-]*\|\n((?:\|.*\n)+)/.exec(text) ?? []
  return [...rows.matchAll(/\| `([^`]+)` \|$/gm)].map(([, example = '']) => asCommand(example.replaceAll('\\|', '|')))
}

const asCommand = (line: string) => ({ name: line.trim(), script: line.trim() })
