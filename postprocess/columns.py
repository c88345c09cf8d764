"""Which columns each table has: keys of `definitions.ALL`, in blocks that a terminal shows below one another."""

TABLE = [
    ["variant", "seeds", "loss", "loss_sd", "perplexity", "bits_per_byte", "tokens", "status"],
    ["variant", "pairs", "difference_nats", "difference_half", "change_of_reference", "change_of_member"],
    ["variant", "trainable", "fixed", "shared", "input_trainable"],
    ["variant", "tokens_per_second", "tokens_per_second_sd", "gemm_share"],
]
PERPLEXITY = [
    ["variant", "seeds", "loss", "loss_sd", "perplexity", "nats_per_byte", "bits_per_byte", "word_perplexity"],
    ["variant", "pairs", "difference_nats", "difference_half", "change_of_reference", "change_of_reference_interval"],
    ["variant", "change_of_member", "change_of_member_interval", "compared_at_tokens", "tokens"],
]
FREQUENCY = ["variant", "seeds", "loss", "loss_sd", "difference_nats", "difference_half", "change_of_reference",
             "change_of_member"]
EFFICIENCY = [["variant", "reached_of", "level", "tokens_needed", "tokens_needed_sd", "ratio", "ratio_sd"],
              ["variant", "each"]]
GEOMETRY = [["variant", "rows", "count", "zero_rows", "mean", "deviation", "epsilon"],
            ["variant", "rows", "relative", "relative_sd", "effective_rank", "effective_rank_sd"]]
TASKS = ["task", "metric", "variant", "seeds", "value", "stderr", "value_sd", "task_difference", "document_half", "pairs",
         "seed_half"]
EPSILON = ["variant", "matrix", "seeds", "tokens", "epsilon", "epsilon_sd", "epsilon_centred", "relative"]
CAPACITY_FACTS = ["matrix", "vocabulary", "width", "element", "zero_rows", "padding", "untrained", "outliers"]
CAPACITY = [["matrix", "row_set", "mean", "deviation", "epsilon", "capacity_class", "relative"],
            ["matrix", "row_set", "log10_k_jl_textbook", "log10_k_jl_random", "log10_k_adjusted", "log10_k_fitted"],
            ["matrix", "row_set", "effective_rank", "participation"],
            ["matrix", "row_set", "count", "skewness", "smallest", "largest"]]
PACKING = ["kind", "d", "k", "p", "repeats", "coherence", "published", "to_published", "welch"]
FITS = ["data", "form", "cells", "number", "C", "r2", "mape"]
FITS_FOUR = ["data", "cells", "C", "a", "b", "c"]

# Every column, for --csv and --markdown, where there is room.
_DIFFERENCE = ["pairs", "difference_nats", "difference_sd", "difference_low", "difference_high", "change_of_reference",
               "change_of_member"]
TABLE_FULL = ["variant", "seeds", "loss", "loss_sd", "perplexity", *_DIFFERENCE, "bits_per_byte", "tokens", "status",
              "trainable", "fixed", "shared", "input_trainable", "tokens_per_second", "tokens_per_second_sd", "gemm_share",
              "step", "targets", "nats_per_byte", "word_perplexity", "unigram_nats", "compared_at_tokens"]
PERPLEXITY_FULL = ["variant", "seeds", "tokens", "targets", "loss", "loss_sd", "perplexity", "nats_per_byte",
                   "bits_per_byte", "word_perplexity", *_DIFFERENCE, "change_of_reference_interval",
                   "change_of_member_interval", "compared_at_tokens"]
FREQUENCY_FULL = ["bin", "lower", "upper", "ids", "targets", "share", "variant", "seeds", "loss", "loss_sd", "perplexity",
                  *_DIFFERENCE]
EFFICIENCY_FULL = ["variant", "pairs", "reached", "level", "tokens_needed", "tokens_needed_sd", "ratio", "ratio_sd", "each",
                   "tokens"]
TASKS_FULL = [*TASKS[:4], "documents", *TASKS[4:], "chance"]
CAPACITY_FULL = ["matrix", "file", "side", "vocabulary", "width", "row_set", "count", *CAPACITY[0][2:],
                 *CAPACITY[1][2:], *CAPACITY[2][2:], *CAPACITY[3][3:]]
PACKING_FULL = ["source", *PACKING, "seconds", "learning_rate", "seed"]
FITS_FULL = ["data", "form", "cells", "number", "C", "a", "b", "c", "r2", "mape"]


def of_members(keys: list[str]) -> list[str]:
    """The columns of a table of single runs."""
    return ["member" if key == "variant" else key for key in keys]


def flat(blocks: list[list[str]]) -> list[str]:
    """All columns of a table's blocks, each once."""
    return list(dict.fromkeys(key for block in blocks for key in block))
