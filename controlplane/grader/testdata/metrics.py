"""Makes metrics.json again: pip install sacrebleu==2.6.0 rouge-score==0.1.2 nltk==3.10.4 rapidfuzz==3.14.6, then python metrics.py."""

import importlib.metadata
import json
import pathlib
import sys
import types

# NLTK loads WordNet lazily; METEOR here has no synonyms and no stems.
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.gleu_score import sentence_gleu
from nltk.translate.meteor_score import meteor_score
from rapidfuzz import fuzz
from rouge_score import rouge_scorer
import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

PAIRS = [
    ("the cat sat on the mat", ["the cat sat on the mat"]),
    ("The quick brown dog jumps on the log.", ["The quick brown fox jumps over the lazy dog"]),
    ("the cat sat on a mat", ["a cat on the mat"]),
    ("kitten", ["sitting"]),
    ("a", ["a"]),
    ("two words", ["two words"]),
    ("completely different text", ["nothing in common here at all"]),
    ("Hello, world! It's 3.5% (of 1,000) - a well-known fact.", ["Hello world: it is 3.5 % of 1,000 -- a well known fact."]),
    ("&quot;Tom&quot; &amp; Jerry's e-mail: tom@example.com", ['"Tom" and Jerry have the e-mail tom@example.com']),
    ("the the the the the the the", ["the cat is on the mat", "there is a cat on the mat"]),
    ("b a d c", ["a b c d"]),
    ("Paris is the capital of France and its largest city", ["The capital of France is Paris", "Paris, France's capital, is its largest city"]),
    ("naïve café – déjà vu", ["naive cafe - deja vu"]),
    ("line one\nline two\nline three", ["line one line two line three"]),
    ("x" * 70 + "y" * 3 + "z" * 60, ["x" * 65 + "q" + "z" * 64]),
    ("It is a guide to action which ensures that the military always obeys the commands of the party",
     ["It is a guide to action that ensures that the military will forever heed Party commands",
      "It is the guiding principle which guarantees the military forces always being under the command of the Party",
      "It is the practical guide for the army always to heed the directions of the party"]),
]


class NoStem:
    def stem(self, word):
        return word


no_synonyms = types.SimpleNamespace(synsets=lambda word: [])
tokenize = Tokenizer13a()
rouges = ["rouge1", "rouge2", "rouge3", "rouge4", "rouge5", "rougeL"]
scorer = rouge_scorer.RougeScorer(rouges, use_stemmer=False)
cases = []
for output, references in PAIRS:
    words, others = tokenize(output).split(), [tokenize(r).split() for r in references]
    scores = {
        "bleu": sacrebleu.sentence_bleu(output, references, use_effective_order=True).score / 100,
        "gleu": sentence_gleu(others, words),
        "meteor": meteor_score(others, words, stemmer=NoStem(), wordnet=no_synonyms),
        "fuzzy_match": max(fuzz.ratio(output, r) for r in references) / 100,
    }
    if output.isascii():  # rouge-score drops other characters
        best = scorer.score_multi(references, output)
        for name in rouges:
            scores["rouge_" + name[5:].lower()] = best[name].fmeasure
    cases.append({"output": output, "references": references, "scores": {k: round(v, 10) for k, v in scores.items()}})

guide = PAIRS[-1]
published = sentence_bleu([r.split() for r in guide[1]], guide[0].split())  # 0.5046 in NLTK's documentation
versions = {name: importlib.metadata.version(name) for name in ("sacrebleu", "rouge-score", "nltk", "rapidfuzz")}
document = {"made_with": versions, "nltk_bleu_of_last": round(published, 10), "cases": cases}
pathlib.Path(sys.argv[0]).with_name("metrics.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
