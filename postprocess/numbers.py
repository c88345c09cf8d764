"""One line for every number that a table or a figure shows: heading, definition, and how it is printed. Said once.

A key with a slash, such as `history/gradient_norm`, is a column of the run's own file (group/name): its heading,
unit and definition stand in the file, and no line here is needed.
"""

import math
from dataclasses import dataclass

from postprocess.guard.failure import FILES, Failure

NOT_AVAILABLE = "N/A"
FILE_FORM = ".4g"  # of a column of the run's files


@dataclass(frozen=True)
class Number:
    """`form`: a format; with " %" behind it the value is a share; "capacity": log10 of a number of vectors. `over_seeds`:
    says something only where there are several seeds."""

    heading: str
    definition: str
    form: str = ".4f"
    over_seeds: bool = False


NUMBERS = {
    # names
    "variant": Number("variant", "one input interface (or other setting): the members whose decks differ only in "
        "their seed"),
    "member": Number("member", "one training run of the sweep"),
    "status": Number("status", "finished; running or stopped means that training has not reached its last step"),
    # loss
    "seeds": Number("seeds", "number of training runs, one for each seed", form=",.0f", over_seeds=True),
    "loss": Number("loss", "mean negative log-likelihood of the validation targets, nats per token, at the last "
        "validation that all seeds have made; over several seeds: their mean"),
    "loss_sd": Number("sd", "sample standard deviation of the loss over the seeds, nats per token (also the relative "
        "one of perplexity)", over_seeds=True),
    "perplexity": Number("perplexity", "exp(loss): per token of this tokenizer; over several seeds the geometric mean",
        form=".3f"),
    "bits_per_byte": Number("bits/byte", "loss / (UTF-8 bytes per validation token) / ln 2"),
    "nats_per_byte": Number("nats/byte", "loss / (UTF-8 bytes per validation token)"),
    "word_perplexity": Number("per word", "perplexity per word: exp(loss / (words per validation token)), "
        "whitespace-separated words", form=".1f"),
    "tokens": Number("tokens", "tokens trained on when this validation was made", form=",.0f"),
    "step": Number("step", "training step of this validation", form=",.0f"),
    "targets": Number("targets", "number of validation tokens that the loss is the mean over", form=",.0f"),
    "unigram_nats": Number("unigram entropy", "cross-entropy of the validation ids under their training frequencies, "
        "nats per token"),
    # differences to the reference
    "pairs": Number("pairs", "seeds that the variant and the reference share: differences are taken seed by seed",
        form=",.0f", over_seeds=True),
    "difference_nats": Number("difference", "d = loss minus the reference's with the same seed, nats per token, at "
        "the last validation that both have made, mean over the pairs; negative is better than the reference",
        form="+.4f"),
    "difference_half": Number("+- (95 %)", "half the width of the 95 % Student-t interval of d over the pairs, nats "
        "per token; N/A for one pair", over_seeds=True),
    "difference_sd": Number("sd of d", "sample standard deviation of the paired differences, nats per token",
        over_seeds=True),
    "difference_low": Number("d from", "lower end of that interval", form="+.4f"),
    "difference_high": Number("d to", "upper end of that interval", form="+.4f"),
    "change_of_reference": Number("exp(d)-1", "perplexity change as a share of the reference's perplexity",
        form="+.2f %"),
    "change_of_reference_interval": Number("exp(d)-1, 95 %", "the same at the ends of the 95 % interval of d",
        form="+.2f %", over_seeds=True),
    "change_of_member": Number("1-exp(-d)", "the same perplexity change as a share of the variant's own perplexity",
        form="+.2f %"),
    "change_of_member_interval": Number("1-exp(-d), 95 %", "the same at the ends of the 95 % interval of d",
        form="+.2f %", over_seeds=True),
    "compared_at_tokens": Number("compared at", "training tokens at which the difference was taken", form=",.0f"),
    # size and speed
    "trainable": Number("trainable", "trainable parameters of the whole model, shared ones counted once", form=",.0f"),
    "fixed": Number("fixed", "stored parameters that are never trained", form=",.0f"),
    "shared": Number("shared", "parameters used in two places (a tied table), counted once in trainable", form=",.0f"),
    "input_trainable": Number("input", "trainable parameters of the input interface only", form=",.0f"),
    "tokens_per_second": Number("tokens/s", "training speed: median over the logged steps, first step excluded; over "
        "several seeds: their mean", form=",.0f"),
    "tokens_per_second_sd": Number("sd of it", "sample standard deviation of tokens/s over the seeds",
        form=",.0f", over_seeds=True),
    "gemm_share": Number("of GEMM rate", "FLOPs per token x tokens/s / matrix-product rate measured in the same "
        "process", form=".1f %"),
    # token frequency
    "bin": Number("bin", "relative frequency f of the target's id in the training data: lower edge <= f < upper edge"),
    "lower": Number("from", "lower edge of the bin", form="g"),
    "upper": Number("to", "upper edge of the bin", form="g"),
    "ids": Number("ids", "vocabulary ids whose training frequency falls in the bin", form=",.0f"),
    "share": Number("of targets", "share of all validation targets", form=".2f %"),
    # sample efficiency
    "level": Number("level", "the target's last validation loss, nats per token; over several seeds: their mean"),
    "reached_of": Number("reached", "seeds whose curve reaches the target's last validation loss, of those paired "
        "with the target's; means are over these only, so they flatter a variant that some seeds do not reach",
        over_seeds=True),
    "reached": Number("reached", "seeds whose curve reaches the level", form=",.0f"),
    "tokens_needed": Number("tokens needed", "training tokens at which the curve first reaches the level; never "
        "extrapolated", form=",.0f"),
    "tokens_needed_sd": Number("sd of tokens", "sample standard deviation of the tokens needed, over the seeds",
        form=",.0f", over_seeds=True),
    "ratio": Number("ratio", "tokens at which the target's own curve first reaches the level / tokens needed: 2.1 is "
        "2.1 times fewer", form=".2f"),
    "ratio_sd": Number("sd of ratio", "sample standard deviation of the ratio over the seeds",
        form=".2f", over_seeds=True),
    "each": Number("ratio of each seed", "the ratio seed by seed; before first validation: below the level at its "
        "first validation", over_seeds=True),
    # cosines of embedding rows
    "rows": Number("rows", "all: zero and padding rows left out; regular: rows of tokens without training, and "
        "outliers of norm, left out too; centred, reg. centred: the same, mean row removed"),
    "count": Number("number", "rows used", form=",.0f"),
    "zero_rows": Number("zero rows", "rows of norm zero, dropped", form=",.0f"),
    "mean": Number("mu", "mean cosine over all pairs of rows i < j", form="+.4f"),
    "deviation": Number("sigma", "standard deviation of these cosines"),
    "epsilon": Number("epsilon", "mu + 2 sigma"),
    "epsilon_sd": Number("sd of it", "sample standard deviation of epsilon over the seeds; the other columns are "
        "means", over_seeds=True),
    "epsilon_centred": Number("centred", "epsilon of the rows less their mean row"),
    "relative": Number("eps sqrt(D)/2", "epsilon against that of random directions, 2/sqrt(D): 1 is random-like",
        form=".2f"),
    "relative_sd": Number("sd of it", "sample standard deviation of eps sqrt(D)/2 over the seeds; the other columns "
        "are means over the seeds", form=".2f", over_seeds=True),
    "effective_rank": Number("effective rank", "exp of the entropy of the singular values of the unit rows over their "
        "sum (Roy and Vetterli, 2007)", form=".1f"),
    "effective_rank_sd": Number("sd of rank", "sample standard deviation of the effective rank over the seeds",
        form=".1f", over_seeds=True),
    # capacity
    "matrix": Number("matrix", "one embedding matrix, named after its file or the folder of it; output: the head's"),
    "file": Number("file", "the file as the deck names it"),
    "side": Number("side", "input or output matrix of the model"),
    "vocabulary": Number("V", "rows of the matrix", form=",.0f"),
    "width": Number("D", "columns of the matrix", form=",.0f"),
    "element": Number("type", "of its numbers in the file; all sums are made in wider ones"),
    "padding": Number("padding", "rows past the tokenizer's size, left out", form=",.0f"),
    "untrained": Number("untrained", "rows whose token does not occur in the training tokens; irregular (N/A: none "
        "known)", form=",.0f"),
    "outliers": Number("outliers", "other rows whose ln norm is far from the median (capacity.outlier_z); irregular",
        form=",.0f"),
    "token_cosine": Number("in.out", "mean cosine of a token's input with its output vector, where the two matrices "
        "differ", form="+.4f"),
    "token_cosine_sd": Number("sd of it", "standard deviation of that cosine over the tokens"),
    "row_set": Number("rows", "all: zero and padding rows left out; regular: untrained and outlier rows left out too; "
        "centred, reg. centred: the same, mean row removed"),
    "capacity_class": Number("class", "1: epsilon > 0.2; 2: epsilon < 0.1; -: between. Not neutral to the width: "
        "random directions have 2/sqrt(D), above 0.1 for D < 400"),
    "log10_k_jl_textbook": Number("k textbook", "directions that fit at this epsilon by Johnson and Lindenstrauss, "
        "exp(D eps^2 / C), C = 8 (CSV: log10 of it, as of all k)", form="capacity"),
    "log10_k_jl_random": Number("k random", "the same with C = 3.029, fitted to random packings", form="capacity"),
    "log10_k_adjusted": Number("k adjusted", "D exp(D eps^2 / C), C = 1.2934, fitted to optimised packings",
        form="capacity"),
    "log10_k_fitted": Number("k four-par.", "(D exp((eps^2 D^c / C)^(1/b)))^(1/a), fitted to optimised packings, "
        "rounded up; the published capacity, which the paper gives for epsilon < 0.1 only", form="capacity up"),
    "participation": Number("participation", "participation ratio: (sum of the eigenvalues of U^T U)^2 / sum of their "
        "squares, U the unit rows", form=".1f"),
    "skewness": Number("skewness", "of the cosines of all pairs", form="+.2f"),
    "smallest": Number("smallest", "smallest cosine of a pair", form="+.4f"),
    "largest": Number("largest", "largest cosine of a pair", form="+.4f"),
    # packing and its laws
    "source": Number("source", "measured: cells of the folder; published: arXiv:2606.02765"),
    "kind": Number("kind", "optimised: vectors moved apart by Adam; random: best of many draws"),
    "d": Number("d", "dimensions", form=",.0f"),
    "k": Number("k", "vectors", form=",.0f"),
    "p": Number("p", "exponent of the loss, sum of |cosine|^p over all pairs", form=",.0f"),
    "repeats": Number("steps", "steps of the optimiser, or draws", form=",.0f"),
    "coherence": Number("epsilon", "largest |cosine| of two of the k vectors, at the last step or of the best draw",
        form=".6f"),
    "published": Number("published", "the published epsilon of this cell", form=".6f"),
    "to_published": Number("ratio", "epsilon / published epsilon"),
    "welch": Number("Welch bound", "sqrt((k - d) / (d (k - 1))): no k vectors have a smaller epsilon", form=".6f"),
    "seconds": Number("seconds", "time that the cell took", form=".1f"),
    "learning_rate": Number("learning rate", "of Adam, constant", form="g"),
    "seed": Number("seed", "of the first vectors", form=".0f"),
    "data": Number("data", "whose cells the law was fitted to"),
    "form": Number("law", "JL: eps = sqrt(C ln(k) / d); adjusted: sqrt(C ln(k/d) / d); four-parameter: sqrt(C "
        "ln(k^a/d)^b / d^c). Least squares on eps, every cell with the same weight; the last two are 0 where k <= d"),
    "cells": Number("cells", "fitted, and measured by R2 and MAPE, on all cells or only on those with k > d"),
    "number": Number("n", "number of these cells", form=",.0f"),
    "C": Number("C", "constant of the law", form=".5f"),
    "a": Number("a", "power of k", form=".5f"),
    "b": Number("b", "power of the logarithm", form=".5f"),
    "c": Number("c", "power of d", form=".5f"),
    "r2": Number("R2", "1 - sum of squared errors of eps / sum of its squared deviations from the mean", form=".5f"),
    "mape": Number("MAPE", "mean of |error of eps| / eps; where k <= d, eps is about 1e-4 and rules the mean",
        form=".2f %"),
    # evaluation tasks
    "task": Number("task", "an evaluation task"),
    "metric": Number("metric", "acc: share of documents whose right choice is the likeliest (first of equal ones), or "
        "whose last word is greedily right; acc_norm, acc_bytes: the same, log-likelihoods divided by the choice's "
        "length in code points, in UTF-8 bytes; perplexity: exp of minus the mean log-likelihood, per word; "
        "word_perplexity, byte_perplexity: exp of the nats per word, per byte of the original page; bits_per_byte"),
    "documents": Number("documents", "questions or pages", form=",.0f"),
    "value": Number("value", "over several seeds their mean, of perplexities the geometric one"),
    "stderr": Number("stderr", "standard error of the value over the documents: sample standard deviation / sqrt(n); "
        "of perplexities to first order"),
    "value_sd": Number("sd", "sample standard deviation of the value over the seeds", over_seeds=True),
    "task_difference": Number("difference", "value minus the reference's with the same seed, mean over the pairs; of "
        "perplexities the difference of their natural logarithms", form="+.4f"),
    "document_half": Number("+- (docs)", "1.96 standard errors of the difference over the documents, each paired with "
        "itself: what other documents would change"),
    "seed_half": Number("+- (seeds)", "half the width of the 95 % Student-t interval of the difference over the pairs "
        "of seeds: what other seeds would change; N/A for one pair", over_seeds=True),
    "chance": Number("chance", "accuracy of a blind choice"),
}


def of(key: str, rows: list) -> Number:
    """The number `key` of these rows. A Failure where no row's file has such a column."""
    if key in NUMBERS or not rows:
        return NUMBERS.get(key, Number(key, ""))
    found = next(filter(None, (row.described(key) for row in rows)), None)
    if found is None:
        raise Failure(FILES, f"no column {key} in /history or /validation of any member")
    return found


def value(row: object, key: str) -> object:
    """What a row has under `key`: its member of that name, or a column of its run's files."""
    return getattr(row, key) if key in NUMBERS else row.column(key)


def cell(row: object, key: str) -> str:
    """The value as tables print it."""
    return shown(NUMBERS[key].form if key in NUMBERS else FILE_FORM, value(row, key))


def shown(form: str, number: object) -> str:
    """An interval (low, high) included; N/A for what is not available."""
    if isinstance(number, str):
        return number
    if isinstance(number, tuple):
        low, high = (shown(form, end) for end in number)
        return NOT_AVAILABLE if NOT_AVAILABLE in (low, high) else f"{low.removesuffix(' %')} to {high}"
    if form.startswith("capacity"):
        return capacity_text(number, up=form.endswith("up"))
    if not math.isfinite(number):
        return NOT_AVAILABLE if math.isnan(number) else "infinite" if number > 0.0 else "-infinite"
    if form.endswith(" %"):
        return f"{100.0 * number:{form.removesuffix(' %')}} %"
    return f"{number:{form}}"


def capacity_text(log10_k: float, up: bool = False) -> str:
    """A number of vectors as the executable prints it: 277, 3.99e+07, 10^1234.57. A bound is rounded down, or `up`."""
    if not math.isfinite(log10_k):
        return NOT_AVAILABLE if math.isnan(log10_k) else "infinite" if log10_k > 0.0 else "0"
    if log10_k >= 300.0:
        return f"10^{log10_k:.2f}"
    k = 10.0 ** log10_k
    if log10_k < 6.0:  # a number that is whole but for rounding must not become the next one
        return f"{math.ceil(k * (1.0 - 1e-12)) if up else math.floor(k * (1.0 + 1e-12)):.0f}"
    return f"{k:.2e}"


def chosen(keys: list[str], several: bool) -> list[str]:
    """`keys`, without the columns over seeds where no variant has several."""
    return [key for key in keys if several or not (key in NUMBERS and NUMBERS[key].over_seeds)]


def definitions(keys, rows: list) -> list[tuple[str, str]]:
    """(heading, definition) for each key, each once."""
    return [(number.heading, number.definition) for number in (of(key, rows) for key in dict.fromkeys(keys))]


def of_members(keys: list[str]) -> list[str]:
    """The columns of a table of single runs."""
    return ["member" if key == "variant" else key for key in keys]


def with_all(keys: list[str], blocks: list[list[str]]) -> list[str]:
    """`keys`, and behind them the columns of `blocks` that are not among them."""
    return list(dict.fromkeys([*keys, *flat(blocks)]))


def flat(blocks: list[list[str]]) -> list[str]:
    """All columns of a table's blocks, each once."""
    return list(dict.fromkeys(key for block in blocks for key in block))
