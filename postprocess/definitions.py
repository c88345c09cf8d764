"""One line for every number that a table or a figure shows, and how each is printed. Said once, used everywhere."""

import math

from .law import capacity_text

# key of a row -> (heading, definition)
NAMES = {
    "variant": ("variant", "one input interface (or other setting): the members whose decks differ only in their seed"),
    "member": ("member", "one training run of the sweep"),
    "status": ("status", "finished; running or stopped means that training has not reached its last step"),
}
LOSS = {
    "seeds": ("seeds", "number of training runs, one for each seed"),
    "loss": ("loss", "mean negative log-likelihood of the validation targets, nats per token, at the last validation that "
             "all seeds have made; over several seeds: their mean"),
    "loss_sd": ("sd", "sample standard deviation of the loss over the seeds, nats per token (also the relative one of "
                "perplexity)"),
    "perplexity": ("perplexity", "exp(loss): per token of this tokenizer; over several seeds the geometric mean"),
    "bits_per_byte": ("bits/byte", "loss / (UTF-8 bytes per validation token) / ln 2"),
    "nats_per_byte": ("nats/byte", "loss / (UTF-8 bytes per validation token)"),
    "word_perplexity": ("per word", "perplexity per word: exp(loss / (words per validation token)), whitespace-separated "
                        "words"),
    "tokens": ("tokens", "tokens trained on when this validation was made"),
    "step": ("step", "training step of this validation"),
    "targets": ("targets", "number of validation tokens that the loss is the mean over"),
    "unigram_nats": ("unigram entropy", "cross-entropy of the validation ids under their training frequencies, nats per "
                     "token"),
}
DIFFERENCE = {
    "pairs": ("pairs", "seeds that the variant and the reference share: differences are taken seed by seed"),
    "difference_nats": ("difference", "d = loss minus the reference's with the same seed, nats per token, at the last "
                        "validation that both have made, mean over the pairs; negative is better than the reference"),
    "difference_half": ("+- (95 %)", "half the width of the 95 % Student-t interval of d over the pairs, nats per token; "
                        "N/A for one pair"),
    "difference_sd": ("sd of d", "sample standard deviation of the paired differences, nats per token"),
    "difference_low": ("d from", "lower end of that interval"),
    "difference_high": ("d to", "upper end of that interval"),
    "change_of_reference": ("exp(d)-1", "perplexity change as a share of the reference's perplexity"),
    "change_of_reference_interval": ("exp(d)-1, 95 %", "the same at the ends of the 95 % interval of d"),
    "change_of_member": ("1-exp(-d)", "the same perplexity change as a share of the variant's own perplexity"),
    "change_of_member_interval": ("1-exp(-d), 95 %", "the same at the ends of the 95 % interval of d"),
    "compared_at_tokens": ("compared at", "training tokens at which the difference was taken"),
}
COST = {
    "trainable": ("trainable", "trainable parameters of the whole model, shared ones counted once"),
    "fixed": ("fixed", "stored parameters that are never trained"),
    "shared": ("shared", "parameters used in two places (a tied table), counted once in trainable"),
    "input_trainable": ("input", "trainable parameters of the input interface alone"),
    "tokens_per_second": ("tokens/s", "training speed: median over the logged steps, first step excluded; over several "
                          "seeds: their mean"),
    "tokens_per_second_sd": ("sd of it", "sample standard deviation of tokens/s over the seeds"),
    "gemm_share": ("of GEMM rate", "FLOPs per token x tokens/s / matrix-product rate measured in the same process"),
}
FREQUENCY = {
    "bin": ("bin", "relative frequency f of the target's id in the training data: lower edge <= f < upper edge"),
    "lower": ("from", "lower edge of the bin"),
    "upper": ("to", "upper edge of the bin"),
    "ids": ("ids", "vocabulary ids whose training frequency falls in the bin"),
    "share": ("of targets", "share of all validation targets"),
}
EFFICIENCY = {
    "level": ("level", "the target's last validation loss, nats per token; over several seeds: their mean"),
    "reached_of": ("reached", "seeds whose curve reaches the target's last validation loss, of those paired with the "
                   "target's; means are over these alone, so they flatter a variant that some seeds do not reach"),
    "reached": ("reached", "seeds whose curve reaches the level"),
    "tokens_needed": ("tokens needed", "training tokens at which the curve first reaches the level; never extrapolated"),
    "tokens_needed_sd": ("sd of tokens", "sample standard deviation of the tokens needed, over the seeds"),
    "ratio": ("ratio", "tokens at which the target's own curve first reaches the level / tokens needed: 2.1 is 2.1 times "
              "fewer"),
    "ratio_sd": ("sd of ratio", "sample standard deviation of the ratio over the seeds"),
    "each": ("ratio of each seed", "the ratio seed by seed; before first validation: below the level "
             "at its first validation"),
}
GEOMETRY = {
    "rows": ("rows", "which rows of the matrix: all (zero rows dropped), or those seen in training; centred: mean row "
             "removed"),
    "count": ("number", "rows used"),
    "zero_rows": ("zero rows", "rows of norm zero, dropped"),
    "mean": ("mu", "mean cosine over all pairs of rows i < j"),
    "deviation": ("sigma", "standard deviation of these cosines"),
    "epsilon": ("epsilon", "mu + 2 sigma"),
    "epsilon_sd": ("sd of it", "sample standard deviation of epsilon over the seeds; the other columns are means"),
    "epsilon_centred": ("centred", "epsilon of the rows less their mean row"),
    "relative": ("eps sqrt(D)/2", "epsilon against that of random directions, 2/sqrt(D): 1 is random-like"),
    "relative_sd": ("sd of it", "sample standard deviation of eps sqrt(D)/2 over the seeds; the other columns are means "
                    "over the seeds"),
    "effective_rank": ("effective rank", "exp of the entropy of the singular values of the unit rows over their sum (Roy and "
                       "Vetterli, 2007)"),
    "effective_rank_sd": ("sd of rank", "sample standard deviation of the effective rank over the seeds"),
}
CAPACITY = {
    "matrix": ("matrix", "one embedding matrix, named after its file or the folder of it; output: the head's"),
    "file": ("file", "the file as the deck names it"),
    "side": ("side", "input or output matrix of the model"),
    "vocabulary": ("V", "rows of the matrix"),
    "width": ("D", "columns of the matrix"),
    "element": ("type", "of its numbers in the file; all sums are made in wider ones"),
    "padding": ("padding", "rows past the tokenizer's size, left out"),
    "untrained": ("untrained", "rows whose token does not occur in the training tokens; irregular (N/A: none known)"),
    "outliers": ("outliers", "other rows whose ln norm is far from the median (capacity.outlier_z); irregular"),
    "token_cosine": ("in.out", "mean cosine of a token's input with its output vector, where the two matrices differ"),
    "token_cosine_sd": ("sd of it", "standard deviation of that cosine over the tokens"),
    "row_set": ("rows", "all: zero and padding rows left out; regular: untrained and outlier rows left out too; "
                "centred, reg. centred: the same, mean row removed"),
    "capacity_class": ("class", "1: epsilon > 0.2; 2: epsilon < 0.1; -: between. Not neutral to the width: random "
                       "directions have 2/sqrt(D), above 0.1 for D < 400"),
    "log10_k_jl_textbook": ("k textbook", "directions that fit at this epsilon by Johnson and Lindenstrauss, exp(D "
                            "eps^2 / C), C = 8 (CSV: log10 of it, as of all k)"),
    "log10_k_jl_random": ("k random", "the same with C = 3.029, fitted to random packings"),
    "log10_k_adjusted": ("k adjusted", "D exp(D eps^2 / C), C = 1.2934, fitted to optimised packings"),
    "log10_k_fitted": ("k four-par.", "(D exp((eps^2 D^c / C)^(1/b)))^(1/a), fitted to optimised packings, rounded up; "
                       "the published capacity, which the paper gives for epsilon < 0.1 alone"),
    "participation": ("participation", "participation ratio: (sum of the eigenvalues of U^T U)^2 / sum of their squares, U "
                      "the unit rows"),
    "skewness": ("skewness", "of the cosines of all pairs"),
    "smallest": ("smallest", "smallest cosine of a pair"),
    "largest": ("largest", "largest cosine of a pair"),
}
PACKING = {
    "source": ("source", "measured: cells of the folder; published: arXiv:2606.02765"),
    "kind": ("kind", "optimised: vectors moved apart by Adam; random: best of many draws"),
    "d": ("d", "dimensions"),
    "k": ("k", "vectors"),
    "p": ("p", "exponent of the loss, sum of |cosine|^p over all pairs"),
    "repeats": ("steps", "steps of the optimiser, or draws"),
    "coherence": ("epsilon", "largest |cosine| of two of the k vectors, at the last step or of the best draw"),
    "published": ("published", "the published epsilon of this cell"),
    "to_published": ("ratio", "epsilon / published epsilon"),
    "welch": ("Welch bound", "sqrt((k - d) / (d (k - 1))): no k vectors have a smaller epsilon"),
    "seconds": ("seconds", "time that the cell took"),
    "learning_rate": ("learning rate", "of Adam, constant"),
    "seed": ("seed", "of the first vectors"),
    "data": ("data", "whose cells the law was fitted to"),
    "form": ("law", "JL: eps = sqrt(C ln(k) / d); adjusted: sqrt(C ln(k/d) / d); four-parameter: sqrt(C ln(k^a/d)^b / "
             "d^c). Least squares on eps, every cell with the same weight; the last two are 0 where k <= d"),
    "cells": ("cells", "fitted, and measured by R2 and MAPE, on all cells or on those with k > d alone"),
    "number": ("n", "number of these cells"),
    "C": ("C", "constant of the law"),
    "a": ("a", "power of k"),
    "b": ("b", "power of the logarithm"),
    "c": ("c", "power of d"),
    "r2": ("R2", "1 - sum of squared errors of eps / sum of its squared deviations from the mean"),
    "mape": ("MAPE", "mean of |error of eps| / eps; where k <= d, eps is about 1e-4 and rules the mean"),
}
TASKS = {
    "task": ("task", "an evaluation task"),
    "metric": ("metric", "acc: share of documents whose right choice is the likeliest (first of equal ones), or whose last "
               "word is greedily right; acc_norm, acc_bytes: the same, log-likelihoods divided by the choice's length in "
               "code points, in UTF-8 bytes; perplexity: exp of minus the mean log-likelihood, per word; word_perplexity, "
               "byte_perplexity: exp of the nats per word, per byte of the original page; bits_per_byte"),
    "documents": ("documents", "questions or pages"),
    "value": ("value", "over several seeds their mean, of perplexities the geometric one"),
    "stderr": ("stderr", "standard error of the value over the documents: sample standard deviation / sqrt(n); of "
               "perplexities to first order"),
    "value_sd": ("sd", "sample standard deviation of the value over the seeds"),
    "task_difference": ("difference", "value minus the reference's with the same seed, mean over the pairs; of perplexities "
                        "the difference of their natural logarithms"),
    "document_half": ("+- (docs)", "1.96 standard errors of the difference over the documents, each paired with itself: "
                      "what other documents would change"),
    "seed_half": ("+- (seeds)", "half the width of the 95 % Student-t interval of the difference over the pairs of seeds: "
                  "what other seeds would change; N/A for one pair"),
    "chance": ("chance", "accuracy of a blind choice"),
}
ALL = {**PACKING, **TASKS, **CAPACITY, **NAMES, **GEOMETRY, **EFFICIENCY, **FREQUENCY, **COST, **DIFFERENCE, **LOSS}
# Columns that say something only where there are several seeds.
OVER_SEEDS = {"seeds", "loss_sd", "pairs", "difference_half", "difference_sd", "change_of_reference_interval",
              "change_of_member_interval", "tokens_per_second_sd", "reached_of", "tokens_needed_sd", "ratio_sd", "each",
              "relative_sd", "effective_rank_sd", "epsilon_sd", "value_sd", "seed_half"}

_COUNTS = {"step", "tokens", "targets", "compared_at_tokens", "trainable", "fixed", "shared", "input_trainable",
           "count", "zero_rows", "tokens_per_second", "tokens_per_second_sd", "seeds", "pairs", "ids", "reached",
           "tokens_needed", "tokens_needed_sd", "vocabulary", "width", "padding", "untrained", "outliers", "d", "k", "p",
           "repeats", "number", "documents"}
_CAPACITIES = {"log10_k_jl_textbook", "log10_k_jl_random", "log10_k_adjusted", "log10_k_fitted"}
_PERCENT = {"change_of_reference": "+.2f", "change_of_member": "+.2f", "change_of_reference_interval": "+.2f",
            "change_of_member_interval": "+.2f", "gemm_share": ".1f", "share": ".2f", "mape": ".2f"}
_DECIMALS = {"difference_nats": "+.4f", "difference_low": "+.4f", "difference_high": "+.4f", "perplexity": ".3f",
             "word_perplexity": ".1f", "mean": "+.4f", "relative": ".2f", "relative_sd": ".2f", "effective_rank": ".1f",
             "effective_rank_sd": ".1f", "ratio": ".2f", "ratio_sd": ".2f", "lower": "g", "upper": "g",
             "coherence": ".6f", "published": ".6f", "welch": ".6f", "seconds": ".1f", "learning_rate": "g", "seed": ".0f",
             "C": ".5f", "a": ".5f", "b": ".5f", "c": ".5f", "r2": ".5f", 
             "participation": ".1f", "skewness": "+.2f", "smallest": "+.4f",
             "largest": "+.4f", "token_cosine": "+.4f", "task_difference": "+.4f"}


def shown(key: str, value: object) -> str:
    """A value as tables print it, an interval (low, high) included; N/A for what is not available."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        low, high = (shown(key, end) for end in value)
        return "N/A" if "N/A" in (low, high) else f"{low.removesuffix(' %')} to {high}"
    if key in _CAPACITIES:
        return capacity_text(value, up=key == "log10_k_fitted")
    if not math.isfinite(value):
        return "infinite" if math.isinf(value) else "N/A"
    if key in _COUNTS:
        return f"{value:,.0f}"
    if key in _PERCENT:
        return f"{100.0 * value:{_PERCENT[key]}} %"
    return f"{value:{_DECIMALS.get(key, '.4f')}}"


def chosen(keys: list[str], several: bool) -> list[str]:
    """`keys`, without the columns over seeds where no variant has several."""
    return [key for key in keys if several or key not in OVER_SEEDS]


def definition_lines(keys) -> list[str]:
    """`heading: definition` for each key, each once."""
    return [f"{ALL[key][0]}: {ALL[key][1]}" for key in dict.fromkeys(keys)]
