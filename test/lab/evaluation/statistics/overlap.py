"""Makes overlap.json: values of sacrebleu, rouge-score and NLTK for pairs of sentences drawn by seed.

    pip install sacrebleu==2.6.0 rouge-score==0.1.2 nltk==3.10.4
    python overlap.py > overlap.json
"""

import json
import random

from nltk.stem.porter import PorterStemmer
from nltk.translate import meteor_score
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

random.seed(11)
WORDS = (
    "nobody nobody's people person personally hope hopes hoping hoped group groups grouping claim claims claimed relate related "
    "relational national nationality fairly fair unfair generous generalization 1,000 3.5 2024-11 10% U.S. e.g. state-of-the-art "
    "don't I'm \"quoted\" (aside) neighbours neighbour &amp; A/B they THEY They live lives living die dies dying happy happily "
    "whose is are was we ~ [x] café 세상 모두 why? why! because, so; then: well... #tag @name under_score re-think"
).split()


def sentence():
    return " ".join(random.choice(WORDS) for _ in range(random.choice([1, 2, 3, 5, 8, 13, 21, 34])))


def changed(text):
    """Words left out, put in, in another form or elsewhere; or another sentence."""
    kind = random.random()
    if kind < 0.1:
        return sentence()
    if kind < 0.15:
        return text
    words = [one for one in text.split() if random.random() < 0.75] or ["so;"]
    for _ in range(random.randrange(4)):
        words.insert(random.randrange(len(words) + 1), random.choice(WORDS))
    if random.random() < 0.4:
        at = random.randrange(len(words))
        words = words[at:] + words[:at]
    return " ".join(words)


def without_synonyms(hypothesis, reference):
    return [], hypothesis, reference


meteor_score._enum_wordnetsyn_match = lambda hypothesis, reference, wordnet: without_synonyms(hypothesis, reference)
stems = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
tokens = Tokenizer13a()
bleus = [BLEU(max_ngram_order=order, effective_order=True) for order in (1, 2, 3, 4)]
rouge = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"])


def values(reply, reference):
    scores = rouge.score(reference, reply)
    return [
        *(bleu.sentence_score(reply, [reference]).score / 100 for bleu in bleus),
        *(scores[name].fmeasure for name in ("rouge1", "rouge2", "rougeL")),
        meteor_score.single_meteor_score(tokens(reference).split(), tokens(reply).split(), stemmer=stems),
    ]


pairs = []
for _ in range(500):
    reference = sentence()
    reply = changed(reference)
    pairs.append([reply, reference, *(round(one, 9) for one in values(reply, reference))])
print("[\n" + ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in pairs) + "\n]")
