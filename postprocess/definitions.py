"""One line for every number that a table or a figure shows, and how each is printed. Said once, used everywhere."""

import math

# key of comparison.Row -> (heading, definition)
QUALITY = {
    "member": ("member", "the sweep member: one training run under one input interface"),
    "loss": ("validation loss", "mean negative log-likelihood of the last validation, nats per token"),
    "perplexity": ("perplexity", "exp(validation loss): per token of this tokenizer"),
    "difference_nats": ("difference", "d = validation loss minus the reference's, nats per token, at the last "
                        "validation that both have made; negative is better than the reference"),
    "change_of_reference": ("exp(d)-1", "perplexity change as a share of the reference's perplexity"),
    "change_of_member": ("1-exp(-d)", "the same perplexity change as a share of the member's own perplexity"),
    "bits_per_byte": ("bits/byte", "validation loss / (UTF-8 bytes per validation token) / ln 2"),
    "tokens": ("training tokens", "tokens trained on when the last validation was made"),
    "status": ("status", "finished; running or stopped means that training has not reached its last step"),
}
COST = {
    "member": QUALITY["member"],
    "trainable": ("trainable", "trainable parameters of the whole model, shared ones counted once"),
    "fixed": ("fixed", "stored parameters that are never trained"),
    "shared": ("shared", "parameters used in two places (a tied table), counted once in trainable"),
    "input_trainable": ("input interface", "trainable parameters of the input interface alone"),
    "tokens_per_second": ("tokens/s", "training speed: median over the logged steps, first step excluded"),
    "gemm_share": ("share of GEMM rate", "FLOPs per token x tokens/s / matrix-product rate measured in the same process"),
}
# Only in --csv and --markdown, where there is room.
MORE = {
    "step": ("step", "training step of the last validation"),
    "targets": ("targets", "number of validation tokens that the loss is the mean over"),
    "nats_per_byte": ("nats/byte", "validation loss / (UTF-8 bytes per validation token)"),
    "word_perplexity": ("word perplexity", "exp(validation loss / (words per validation token)), whitespace-separated "
                        "words"),
    "unigram_nats": ("unigram entropy", "cross-entropy of the validation ids under their training frequencies, nats per "
                     "token"),
    "compared_at_tokens": ("compared at", "training tokens at which the difference was taken"),
}
GEOMETRY = {
    "member": QUALITY["member"],
    "rows": ("rows", "which rows of the matrix: all (zero rows dropped), or those seen in training; centred: mean row "
             "removed"),
    "count": ("number", "rows used"),
    "zero_rows": ("zero rows", "rows of norm zero, dropped"),
    "mean": ("mu", "mean cosine over all pairs of rows i < j"),
    "deviation": ("sigma", "standard deviation of these cosines"),
    "epsilon": ("epsilon", "mu + 2 sigma"),
    "relative": ("eps sqrt(D)/2", "epsilon against that of random directions, 2/sqrt(D): 1 is random-like"),
    "effective_rank": ("effective rank", "exp of the entropy of the singular values, normalised to sum 1"),
}
ALL = {**GEOMETRY, **MORE, **COST, **QUALITY}

_COUNTS = {"step", "tokens", "targets", "compared_at_tokens", "trainable", "fixed", "shared", "input_trainable",
           "count", "zero_rows", "tokens_per_second"}
_PERCENT = {"change_of_reference": "+.2f", "change_of_member": "+.2f", "gemm_share": ".1f"}
_DECIMALS = {"loss": ".4f", "unigram_nats": ".4f", "difference_nats": "+.4f", "perplexity": ".3f",
             "word_perplexity": ".1f", "bits_per_byte": ".4f", "nats_per_byte": ".4f", "mean": "+.4f",
             "deviation": ".4f", "epsilon": ".4f", "relative": ".2f", "effective_rank": ".1f"}


def shown(key: str, value: object) -> str:
    """A value as tables print it; N/A for what is not available."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "infinite" if math.isinf(value) else "N/A"
    if key in _COUNTS:
        return f"{value:,.0f}"
    if key in _PERCENT:
        return f"{100.0 * value:{_PERCENT[key]}} %"
    return f"{value:{_DECIMALS[key]}}"


def definition_lines(keys) -> list[str]:
    """`heading: definition` for each key."""
    return [f"{ALL[key][0]}: {ALL[key][1]}" for key in keys]
